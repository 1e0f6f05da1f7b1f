"""What the page's scripts need a browser or the trainer for; their own arithmetic is tested in tests/js."""

import pytest

from playground.ui import own_files


@pytest.fixture
def call(site, make_page):
    """Import a module of the page and evaluate an expression of `m` in it."""
    page = make_page()
    page.goto(site.url + own_files.address("core/dom.js"))

    def evaluate(module, expression):
        return page.evaluate(f"import('/{own_files.address(module + '.js')}').then((m) => {expression})")

    return evaluate


def test_parts_that_stay_are_the_same_elements_and_what_changed_is_renewed(call):
    shown = call(
        "core/dom",
        """(() => {
          const item = (key, text, kind) =>
            m.el("li", { "data-key": key, class: kind ?? null }, m.el("button", {}, "b"), " ", text);
          const box = m.el("ul", {}, item("one", "1", "x"), item("two", "2"), item("three", "3"));
          const [one, two] = box.children;
          const button = one.firstChild;
          m.showParts(box, [item("new", "0"), item("one", "<b>"), item("three", "3")]);
          return [box.children[1] === one, one.firstChild === button, one.className, two.isConnected, box.innerHTML];
        })()""",
    )
    items = {"new": "0", "one": "&lt;b&gt;", "three": "3"}
    markup = "".join(f'<li data-key="{key}"><button>b</button> {text}</li>' for key, text in items.items())
    assert shown == [True, True, "", False, markup]


def test_what_stands_between_backticks_is_code_and_one_backtick_is_a_character(call):
    shown = call(
        "core/dom",
        """(() => {
          const line = m.el("p", {});
          return ["Set `a` and `<b>`.", "Set `a` and `<b>`.", "a ` b", "`a` and ` b", ""].map((sentence) => {
            const before = line.firstChild;
            m.setWords(line, sentence);
            return [line.innerHTML, line.firstChild === before];
          });
        })()""",
    )
    twice = "Set <code>a</code> and <code>&lt;b&gt;</code>."
    assert shown == [[twice, False], [twice, True], ["a ` b", False], ["<code>a</code> and ` b", False], ["", False]]
