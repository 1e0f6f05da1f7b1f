"""The page's own arithmetic, run in the browser that will run it."""

import pytest


@pytest.fixture
def call(site, make_page):
    """Import a module of the page and evaluate an expression of `m` in it."""
    page = make_page()
    page.goto(site.url + "playground/static/dom.js")

    def evaluate(module, expression):
        return page.evaluate(f"import('/playground/static/{module}.js').then((m) => {expression})")

    return evaluate


def test_word_difference_marks_only_what_changed(call):
    left, right = call(
        "worddiff", "m.wordDifference(' dull and slow. I would not go.', ' lovely and slow. I would go.')"
    )
    assert [part["text"] for part in left if part["changed"]] == [" dull", " not"]
    assert [part["text"] for part in right if part["changed"]] == [" lovely"]
    assert "".join(part["text"] for part in left) == " dull and slow. I would not go."


def test_word_difference_holds_empty_and_very_long_texts(call):
    assert call("worddiff", "m.wordDifference('', 'a b')") == [[], [{"text": "a b", "changed": True}]]
    assert call("worddiff", "m.wordDifference('a '.repeat(3000), 'a '.repeat(3000))[0].length") == 1


def test_smoothing_is_debiased_and_skips_gaps(call):
    assert call("chart_data", "Array.from(m.smooth(Float64Array.of(2, 2, 2), 0.9))") == pytest.approx([2, 2, 2])
    assert call("chart_data", "Array.from(m.smooth(Float64Array.of(0, 1), 0.5))") == pytest.approx([0, 2 / 3])
    values = call(
        "chart_data", "Array.from(m.smooth(Float64Array.of(1, NaN, 1), 0.5), (v) => Number.isNaN(v) ? null : v)"
    )
    assert values == [1, None, 1]


def test_a_range_that_still_fits_is_kept(call):
    assert call("chart_data", "m.niceRange([0.1, 0.9], [0, 1])") == [0, 1]
    low, high = call("chart_data", "m.niceRange([0.1, 1.4], [0, 1])")
    assert low <= 0.1 and high >= 1.4


def test_the_nearest_point_is_found(call):
    assert call("chart_data", "[m.nearest([1, 2, 5], 3.4), m.nearest([1, 2, 5], 9), m.nearest([], 1)]") == [1, 2, -1]


def test_a_logarithmic_knob_reaches_exactly_zero_and_its_ends(call):
    scale = "m.makeScale({slider: [0, 5, 0], log: true})"
    assert call("knob", f"[{scale}.toValue(0), {scale}.toValue({scale}.steps)]") == [0, 5]
    assert call("knob", f"[0, 0.05, 0.1, 0.3, 1, 5].map((v) => {scale}.toValue(Math.round({scale}.toStep(v))))") == (
        pytest.approx([0, 0.05, 0.1, 0.3, 1, 5], rel=0.03)
    )


def test_what_is_typed_is_read_as_number_nothing_or_text(call):
    assert call("knob", "['3e-4', '0,5', '', 'off', 'abc', ' 7 '].map(m.read)") == [0.0003, 0.5, "", "", "abc", 7]
    assert call("knob", "[0.0003, 40, 0, '', 0.25].map(m.write)") == ["3e-4", "40", "0", "", "0.25"]


def test_numbers_are_told_with_three_digits_and_a_real_minus(call):
    assert call("format", "[1.234, -0.5, 12.34, 123.4, 12345, 0, -4, null].map(m.number)") == [
        "1.23", "−0.50", "12.3", "123", "12,300", "0", "−4", "–",
    ]  # fmt: skip
    assert call("format", "[m.signed(2.371), m.duration(31.4), m.duration(125), m.duration(3780)]") == [
        "+2.37", "31 s", "2 min 05 s", "1 h 03 min",
    ]  # fmt: skip


def test_only_as_many_points_are_drawn_as_can_be_seen_and_peaks_are_kept(call):
    drawn = call(
        "chart_data",
        "((v) => { v[777] = 9; v[1333] = -9; return m.drawnIndices(v, 0, 2000, 300); })(new Float64Array(2000))",
    )
    assert len(drawn) <= 302 and drawn == sorted(set(drawn)) and {0, 777, 1333, 1999} <= set(drawn)
    assert call("chart_data", "m.drawnIndices(new Float64Array(5), 1, 4, 300)") == [1, 2, 3]


def test_changes_become_numbered_marks_one_for_each_update(call):
    events = (
        "[{kind: 'edit', update: 9, message: 'c'}, {kind: 'edit', update: 4, message: 'a'}, "
        "{kind: 'checkpoint', update: 5, message: 'x'}, {kind: 'edit', update: 4, message: 'b'}]"
    )
    assert call("chart_data", f"m.marksOf({events})") == [
        {"number": 1, "update": 4, "label": "2 settings", "messages": ["a", "b"]},
        {"number": 2, "update": 9, "label": "c", "messages": ["c"]},
    ]
    assert call("chart_data", f"m.changesBefore([3, 4, 5, 9], m.marksOf({events}))") == [[], [], ["a", "b"], []]
    assert call("chart_data", "[m.whenChanged(0), m.whenChanged(12)]") == ["before update 1", "after update 12"]


def test_a_mark_is_labelled_only_where_there_is_room(call):
    sides = (
        "m.labelSides([{at: 50, width: 80}, {at: 200, width: 80}, {at: 215, width: 80}, {at: 390, width: 80}], 40, 400)"
    )
    assert call("chart_data", sides) == ["right", "", "right", "left"]
    assert call("chart_data", "m.labelSides([{at: 60, width: 80}, {at: 100, width: 330}], 40, 400)") == ["", ""]


def test_the_address_keeps_what_is_overlaid_only_on_the_runs_page(call):
    assert call("nav", "(m.go({page: 'runs', overlay: ['a', 'b']}), [location.search, m.place().overlay])") == [
        "?tab=runs&overlay=a,b", ["a", "b"],
    ]  # fmt: skip
    assert call("nav", "(m.go({page: 'train'}), [location.search, m.place().overlay])") == ["", []]
