"""The page's own arithmetic, run in the browser that will run it."""

import json

import pytest

from playground import config_io
from playground.rewards import trying
from playground.ui import own_files, reward_form


@pytest.fixture
def call(site, make_page):
    """Import a module of the page and evaluate an expression of `m` in it."""
    page = make_page()
    page.goto(site.url + own_files.address("core/dom.js"))

    def evaluate(module, expression):
        return page.evaluate(f"import('/{own_files.address(module + '.js')}').then((m) => {expression})")

    return evaluate


def test_word_difference_marks_only_what_changed(call):
    left, right = call(
        "core/worddiff", "m.wordDifference(' dull and slow. I would not go.', ' lovely and slow. I would go.')"
    )
    assert [part["text"] for part in left if part["changed"]] == [" dull", " not"]
    assert [part["text"] for part in right if part["changed"]] == [" lovely"]
    assert "".join(part["text"] for part in left) == " dull and slow. I would not go."


def test_word_difference_holds_empty_and_very_long_texts(call):
    assert call("core/worddiff", "m.wordDifference('', 'a b')") == [[], [{"text": "a b", "changed": True}]]
    assert call("core/worddiff", "m.wordDifference('a '.repeat(3000), 'a '.repeat(3000))[0].length") == 1


def test_smoothing_is_debiased_and_skips_gaps(call):
    assert call("charts/arithmetic", "Array.from(m.smooth(Float64Array.of(2, 2, 2), 0.9))") == pytest.approx([2, 2, 2])
    assert call("charts/arithmetic", "Array.from(m.smooth(Float64Array.of(0, 1), 0.5))") == pytest.approx([0, 2 / 3])
    values = call(
        "charts/arithmetic", "Array.from(m.smooth(Float64Array.of(1, NaN, 1), 0.5), (v) => Number.isNaN(v) ? null : v)"
    )
    assert values == [1, None, 1]


def test_a_range_that_still_fits_is_kept(call):
    assert call("charts/arithmetic", "m.niceRange([0.1, 0.9], [0, 1])") == [0, 1]
    low, high = call("charts/arithmetic", "m.niceRange([0.1, 1.4], [0, 1])")
    assert low <= 0.1 and high >= 1.4


def test_the_nearest_point_is_found(call):
    assert call("charts/arithmetic", "[m.nearest([1, 2, 5], 3.4), m.nearest([1, 2, 5], 9), m.nearest([], 1)]") == [
        1,
        2,
        -1,
    ]


def test_a_logarithmic_knob_reaches_exactly_zero_and_its_ends(call):
    scale = "m.makeScale({slider: [0, 5, 0], log: true})"
    assert call("core/knob", f"[{scale}.toValue(0), {scale}.toValue({scale}.steps)]") == [0, 5]
    assert call(
        "core/knob", f"[0, 0.05, 0.1, 0.3, 1, 5].map((v) => {scale}.toValue(Math.round({scale}.toStep(v))))"
    ) == (pytest.approx([0, 0.05, 0.1, 0.3, 1, 5], rel=0.03))


def test_what_is_typed_is_read_as_number_nothing_or_text(call):
    assert call("core/knob", "['3e-4', '0,5', '', 'off', 'abc', ' 7 '].map(m.read)") == [0.0003, 0.5, "", "", "abc", 7]
    assert call("core/knob", "[0.0003, 40, 0, '', 0.25].map(m.write)") == ["3e-4", "40", "0", "", "0.25"]


def test_numbers_are_told_with_three_digits_and_a_real_minus(call):
    assert call("core/format", "[1.234, -0.5, 12.34, 123.4, 12345, 0, -4, null].map(m.number)") == [
        "1.23", "−0.50", "12.3", "123", "12,300", "0", "−4", "–",
    ]  # fmt: skip
    assert call("core/format", "[m.signed(2.371), m.duration(31.4), m.duration(125), m.duration(3780)]") == [
        "+2.37", "31 s", "2 min 05 s", "1 h 03 min",
    ]  # fmt: skip


def test_only_as_many_points_are_drawn_as_can_be_seen_and_peaks_are_kept(call):
    drawn = call(
        "charts/arithmetic",
        "((v) => { v[777] = 9; v[1333] = -9; return m.drawnIndices(v, 0, 2000, 300); })(new Float64Array(2000))",
    )
    assert len(drawn) <= 302 and drawn == sorted(set(drawn)) and {0, 777, 1333, 1999} <= set(drawn)
    assert call("charts/arithmetic", "m.drawnIndices(new Float64Array(5), 1, 4, 300)") == [1, 2, 3]


def test_changes_become_numbered_marks_one_for_each_update(call):
    events = (
        "[{kind: 'edit', update: 9, message: 'c'}, {kind: 'edit', update: 4, message: 'a'}, "
        "{kind: 'checkpoint', update: 5, message: 'x'}, {kind: 'edit', update: 4, message: 'b'}]"
    )
    assert call("charts/arithmetic", f"m.marksOf({events})") == [
        {"number": 1, "update": 4, "label": "2 settings", "messages": ["a", "b"]},
        {"number": 2, "update": 9, "label": "c", "messages": ["c"]},
    ]
    assert call("charts/arithmetic", f"m.changesBefore([3, 4, 5, 9], m.marksOf({events}))") == [[], [], ["a", "b"], []]
    assert call("charts/arithmetic", "[m.whenChanged(0), m.whenChanged(12)]") == ["before update 1", "after update 12"]


def test_a_mark_is_labelled_only_where_there_is_room(call):
    sides = (
        "m.labelSides([{at: 50, width: 80}, {at: 200, width: 80}, {at: 215, width: 80}, {at: 390, width: 80}], 40, 400)"
    )
    assert call("charts/arithmetic", sides) == ["right", "", "right", "left"]
    assert call("charts/arithmetic", "m.labelSides([{at: 60, width: 80}, {at: 100, width: 330}], 40, 400)") == ["", ""]


def test_the_address_keeps_what_is_overlaid_only_on_the_runs_page(call):
    assert call("core/nav", "(m.go({page: 'runs', overlay: ['a', 'b']}), [location.search, m.place().overlay])") == [
        "?tab=runs&overlay=a,b", ["a", "b"],
    ]  # fmt: skip
    assert call("core/nav", "(m.go({page: 'train'}), [location.search, m.place().overlay])") == ["", []]


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


FOUND = {
    "names": ["length", "sentiment", "truth"],
    "labels": ["Length", "Sentiment", "Truth"],
    "rewards": [
        {"kind": "length", "weight": 1, "normalise": False, "cap": "", "target": ""},
        {"kind": "sentiment", "weight": 1, "normalise": False, "cap": "", "judge": "pocket-lexicon"},
        {"kind": "truth", "weight": 1, "normalise": False, "cap": ""},
    ],
    "texts": {"length": [7.0, 2.0], "sentiment": [1.0, -3.0], "truth": [None, 1.0]},
    "reference": {
        "length": [3.0, 5.0, 9.0, 4.0, 4.0], "sentiment": [0.0, 2.0, None, -1.0, None],
        "truth": [1.0, None, -1.0, None, None],
    },
    "sides": [{"side": "A"}, {"side": "B"}],
    "samples": [{"prompt": "p", "completion": str(number)} for number in range(5)],
}  # fmt: skip


def test_the_workbench_weighs_as_the_trainer_does(call):
    treatments = [(2, True, 1.2), (-0.5, True, ""), (3, False, 0.7)]
    rewards = [
        {**reward, "weight": weight, "normalise": normalise, "cap": cap}
        for reward, (weight, normalise, cap) in zip(FOUND["rewards"], treatments, strict=True)
    ]
    found = call("rewards/weighing", f"m.analyse({json.dumps(FOUND)}, {json.dumps(rewards)})")
    specs = config_io.from_dict({"rewards": reward_form.reward_data(rewards)}).rewards
    weighed = trying.weigh(specs, FOUND)
    assert [text["score"] for text in found["texts"]] == pytest.approx(weighed.scores)
    assert [text["total"] for text in found["texts"]] == pytest.approx(weighed.totals)
    for row, text in enumerate(found["texts"]):
        assert text["adds"] == pytest.approx([weighed.adds[name][row] for name in FOUND["names"]])
    samples = trying.weigh(specs, {**FOUND, "texts": FOUND["reference"]})
    scores = [sample["score"] for sample in found["samples"]]
    assert scores == pytest.approx(samples.scores)
    ranked = sorted(range(5), key=lambda number: -scores[number])
    assert found["order"] == ranked and [found["samples"][number]["rank"] for number in ranked] == [1, 2, 3, 4, 5]


def test_a_reward_that_was_not_measured_is_told_and_left_out(call):
    rewards = [{**FOUND["rewards"][0], "weight": -1}, {**FOUND["rewards"][0], "target": 20}]
    found = call("rewards/weighing", f"m.analyse({json.dumps(FOUND)}, {json.dumps(rewards)})")
    assert [term["label"] for term in found["terms"]] == ["Length"] and found["missing"] == [rewards[1]]
    none = call("rewards/weighing", f"m.analyse({json.dumps(FOUND)}, [])")
    assert none["samples"] == [] and none["texts"] == []


def test_a_duel_names_the_winner_and_the_term_that_decides(call):
    texts = "[{score: 1, adds: [0.5, 0.5]}, {score: 2, adds: [2.5, -0.5]}]"
    terms = "[{label: 'Length'}, {label: 'Truth'}]"
    assert call("rewards/weighing", f"m.duel({texts}, {terms})") == {
        "winner": 1, "by": 1, "terms": [{"label": "Length", "by": 2}, {"label": "Truth", "by": -1}],
    }  # fmt: skip
    assert (
        call("rewards/weighing", f"m.duel([{{score: 1, adds: [1, 0]}}, {{score: 1, adds: [0, 1]}}], {terms})") is None
    )


def test_bins_hold_every_score_and_one_value_makes_one_bin(call):
    assert sum(item["count"] for item in call("rewards/weighing", "m.binsOf([0, 0.5, 1, 1], 4)")) == 4
    assert [item["count"] for item in call("rewards/weighing", "m.binsOf([2, 2, 2], 4)")] == [3]
    assert call("rewards/weighing", "[m.shareBelow([{score: 0}, {score: 1}, {score: 2}], 1), m.binsOf([])]") == [
        0.5,
        [],
    ]


def test_labels_at_the_ends_of_lines_keep_apart_and_inside(call):
    tops = call("charts/arithmetic", "m.spreadLabels([50, 52, 10, 99], 15, 0, 100)")
    assert tops == [50, 65, 10, 99]
    tops = call("charts/arithmetic", "m.spreadLabels([95, 96, 97], 15, 0, 100)")
    assert sorted(tops) == [70, 85, 100]
