"""What is kept of the training texts of an update: which of them, and how one line is found among many."""

import gzip
import json
from collections import Counter

import pytest

from playground.runs.folder import rollouts
from playground.runs.folder.attempts import Resumption
from playground.runs.folder.records import to_json_line
from playground.runs.folder.rollout_records import Histogram, RolloutRecord, RolloutText, choose, histogram_of
from playground.runs.folder.rollouts import RolloutIndex
from playground.runs.folder.writer import RunWriter


def record(update, attempt=1, score=0.5):
    text = RolloutText(prompt="p", completion="c", score=score, chosen="best", bin=0)
    histogram = Histogram(low=score, high=score, counts=[1])
    return RolloutRecord(attempt=attempt, update=update, histogram=histogram, texts=[text])


def lines(*updates):
    return [to_json_line(record(update)) for update in updates]


def test_the_bins_are_equally_wide_and_the_highest_score_is_in_the_last():
    histogram, bins = histogram_of([0.0, 0.9, 1.0, 19.99, 20.0, 10.0])
    assert (histogram.low, histogram.high) == (0.0, 20.0)
    assert bins == [0, 0, 1, 19, 19, 10]
    assert histogram.counts == [2, 1, *[0] * 8, 1, *[0] * 8, 2]
    assert histogram_of([3.5] * 4) == (Histogram(low=3.5, high=3.5, counts=[4]), [0] * 4)
    tiny, bins = histogram_of([0.0, 5e-324])
    assert sum(tiny.counts) == 2
    assert set(bins) <= set(range(20))


def test_a_fifth_are_the_best_a_fifth_the_worst_and_by_chance_every_bin_is_seen_that_can_be():
    scores = [float(number % 19) + number / 1000 for number in range(190)]
    histogram, bins = histogram_of(scores)
    order = [*range(1, 190, 2), *range(0, 190, 2)]
    chosen = choose(scores, bins, 30, order)
    assert Counter(chosen.values()) == {"best": 6, "worst": 6, "random": 18}
    ranked = sorted(range(190), key=lambda row: -scores[row])
    assert [row for row, why in chosen.items() if why == "best"] == ranked[:6]
    assert [row for row, why in chosen.items() if why == "worst"] == ranked[-6:]
    assert list(chosen) == [row for row in ranked if row in chosen], "the highest score first"
    full = {number for number, count in enumerate(histogram.counts) if count}
    assert {bins[row] for row in chosen} == full
    assert len(full) > 15
    few = choose(scores, bins, 12, order)  # 2 best, 2 worst, 8 bins beside theirs
    assert len({bins[row] for row in few}) == 8 + len({bins[row] for row in (*ranked[:2], *ranked[-2:])})
    assert chosen == choose(scores, bins, 30, order) != choose(scores, bins, 30, order[::-1])


@pytest.mark.parametrize(("most", "rows"), [(0, []), (1, [2]), (2, [2, 1]), (3, [2, 0, 1]), (9, [2, 0, 3, 1])])
def test_of_a_few_texts_there_are_no_more_than_asked_for_or_than_there_are(most, rows):
    scores = [0.5, 0.0, 1.0, 0.25]
    assert list(choose(scores, histogram_of(scores)[1], most)) == rows


def test_fewer_texts_are_the_same_choice_among_those_that_are_there():
    texts = [RolloutText(prompt="p", completion=str(n), score=-n, chosen="random", bin=19 - n) for n in range(16)]
    whole = RolloutRecord(update=3, histogram=Histogram(low=0, high=1, counts=[1] * 20), texts=texts)
    less = whole.fewer(6)
    assert [text.chosen for text in less.texts] == ["best", *["random"] * 4, "worst"]
    assert (less.texts[0].completion, less.texts[-1].completion) == ("0", "15")
    assert less.histogram == whole.histogram
    assert [text.completion for text in whole.fewer(40).texts] == [text.completion for text in texts]


def test_the_line_of_an_update_is_found_while_others_are_written_and_after_the_run_was_taken_up(run):
    index, writer = RolloutIndex(run.rollouts_path), RunWriter(run, 9)
    assert index.updates([]) == run.rollouts() == []
    assert index.read(1, []) is None
    for update in (1, 2, 3):
        writer.rollout(record(update))
    assert (index.updates([]), index.read(2, [])) == ([1, 2, 3], record(2))
    with open(run.rollouts_path, "ab") as file:
        file.write(b'\nnonsense\n{"update": 7}\n[]\n{"attempt": 1, "update": 4, "histogr')  # torn: killed in the middle
    assert index.updates([]) == [1, 2, 3, 7]
    assert index.read(7, []) is index.read(4, []) is None
    assert run.rollouts() == [record(1), record(2), record(3)]
    again = RunWriter(run, 9, attempt=2)
    again.set_status(update=1)
    again.event("resumed")
    again.rollout(record(2, score=0.75))
    resumed = [Resumption(2, 1)]
    assert index.updates(resumed) == [1, 2], "what comes after the checkpoint is made again"
    assert index.read(2, resumed) == record(2, attempt=2, score=0.75)
    assert index.read(3, resumed) is None
    assert RolloutIndex(run.rollouts_path).updates(resumed) == [1, 2]
    assert run.rollouts() == [record(1), record(2, attempt=2, score=0.75)]


def test_a_file_in_the_place_of_another_and_one_that_is_packed_are_read(run):
    index = RolloutIndex(run.rollouts_path)
    run.rollouts_path.write_text("".join(lines(*range(1, 9))))
    assert index.updates([]) == list(range(1, 9))
    run.rollouts_path.write_text("".join(lines(5, 6)))
    assert (index.updates([]), index.read(6, [])) == ([5, 6], record(6))
    run.rollouts_path.unlink()
    run.rollouts_path.with_name("rollouts.jsonl.gz").write_bytes(gzip.compress("".join(lines(*range(1, 9))).encode()))
    packed = RolloutIndex(run.rollouts_path)
    assert packed.updates([]) == list(range(1, 9))
    assert packed.read(8, []) == record(8) == run.rollouts()[7]


def test_a_click_reads_one_line_of_ten_thousand(run, monkeypatch):
    other = '{"update": 10001, "attempt": 1, ' + to_json_line(record(1)).partition('"update": 1, ')[2]
    run.rollouts_path.write_text("".join(lines(*range(1, 10_001))) + other)
    index, parsed, places = RolloutIndex(run.rollouts_path), [], []
    assert index.updates([])[-1] == 10_001, "a line of another program is found too"
    whole, line_at = json.loads, rollouts.line_at
    monkeypatch.setattr(rollouts.json, "loads", lambda text: parsed.append(text) or whole(text))
    monkeypatch.setattr(rollouts, "line_at", lambda *place: places.append(place) or line_at(*place))
    assert index.read(9_000, []) == record(9_000)
    assert len(parsed) == 1
    assert [size for _, _, size in places] == [len(to_json_line(record(9_000)))]
