"""Votes of a class: who sees what, what is counted, and the pairs that are made of it."""

import json
from collections import Counter

import numpy as np
import pytest

from playground.data import preferences
from playground.setup import catalog
from playground.ui.classroom import ballots, judges
from playground.ui.classroom.records import PairVotes
from playground.ui.classroom.room import Answer, Step
from playground.ui.classroom.room_file import NoClass
from playground.ui.classroom.steps import DeskCommand

PEOPLE = [f"person {number}" for number in range(200)]


def step(count=40, **more):
    pairs = [{"prompt": f"prompt {at}", "first": f"first {at}", "second": f"second {at}"} for at in range(1, count + 1)]
    return Step(7, "vote", ballots.data_of("Which?", pairs, **more), "open", 1)


def vote_for(wanted, voted, person, number):
    """A vote for the `first` or `second` text as this person has to give it."""
    pair = next(pair for pair in ballots.pairs_of(person, voted) if pair.number == number)
    side = "left" if pair.left.startswith(wanted) else "right"
    return Answer(number, person, ballots.checked(person, voted, number, side))


def test_each_person_has_their_own_pairs_in_their_own_order_and_always_the_same():
    voted = step(each=20)
    orders, again = ([ballots.order_of(person, voted) for person in PEOPLE] for _ in range(2))
    assert orders == again
    assert {len(set(order)) for order in orders} == {20}
    assert len({*map(tuple, orders)}) == len(PEOPLE)
    of_pair = Counter(number for order in orders for number in order)
    assert of_pair.keys() == {*range(1, 41)}
    assert 60 < min(of_pair.values()) <= max(of_pair.values()) < 140


def test_the_sides_are_swapped_for_about_half_of_the_people_and_nothing_shown_says_which_text_is_which():
    voted = step(each=40)
    shown = [pair for person in PEOPLE for pair in ballots.pairs_of(person, voted)]
    swapped = sum(pair.left.startswith("second") for pair in shown) / len(shown)
    assert 0.47 < swapped < 0.53
    assert {pair.after for pair in shown} == {""}
    assert all(pair.left.split()[1] == pair.right.split()[1] == str(pair.number) for pair in shown)


def test_a_vote_counts_for_the_text_that_was_seen_on_that_side():
    voted = step(2, each=2)
    cast = [vote_for("second", voted, person, 1) for person in PEOPLE[:30]]
    cast += [vote_for("first", voted, person, 2) for person in PEOPLE[:9]] + [Answer(2, PEOPLE[9], "tie")]
    assert ballots.counted(voted, cast) == [PairVotes(1, 0, 30, 0), PairVotes(2, 9, 0, 1)]
    people = {person: number for number, person in enumerate(PEOPLE)}
    assert ballots.counted(voted, ballots.of_group(cast, people, 1)) == [PairVotes(1, 0, 15, 0), PairVotes(2, 5, 0, 0)]
    assert ballots.counted(voted, ballots.of_group(cast, people, 2)) == [PairVotes(1, 0, 15, 0), PairVotes(2, 4, 0, 1)]


def test_what_is_no_vote_or_on_a_pair_that_a_person_does_not_have_is_refused():
    voted = step(each=20)
    own, *_ = order = ballots.order_of("person", voted)
    other = ({*range(1, 41)} - {*order}).pop()
    cases = [(own, value) for value in ("first", "", None, 1, True, {"choice": "left"}, ["left"], "LEFT")]
    for number, value in [*cases, *((number, "left") for number in (other, 0, 41, -1))]:
        with pytest.raises(NoClass):
            ballots.checked("person", voted, number, value)


def test_agreement_is_how_often_two_voters_of_a_pair_said_the_same():
    # three pairs of voters: of the first pair of texts 1 of 3 agrees, of the second all; the third has one voter
    agreement = ballots.agreement([PairVotes(1, 2, 1, 0), PairVotes(2, 0, 3, 0), PairVotes(3, 1, 0, 0)])
    assert agreement is not None
    assert (agreement.share.units, agreement.luck) == (2, pytest.approx((2 / 6) ** 2 + (4 / 6) ** 2))
    assert agreement.share.mean == pytest.approx((1 / 3 + 1) / 2)
    tied = ballots.agreement([PairVotes(1, 1, 1, 2)])
    assert tied is not None
    assert tied.luck == pytest.approx(0.5**2 + 0.5**2 / 2)
    assert tied.share.mean == pytest.approx(1 / 6)
    assert ballots.agreement([PairVotes(1, 1, 0, 0)]) is None
    assert ballots.agreement([]) is None


def test_people_are_divided_where_they_voted_for_different_texts_or_many_for_both_beside_others():
    divided, few_ties, all_ties = [(1, 3, 0), (4, 0, 2)], (4, 0, 1), (0, 0, 3)
    assert [PairVotes(1, *counts).is_divided for counts in divided] == [True, True]
    assert not any(PairVotes(1, *counts).is_divided for counts in (few_ties, all_ties, (3, 0, 0), (0, 1, 8), (0, 1, 0)))


def test_who_has_begun_is_not_done():
    voted = step(each=2)
    cast = [Answer(number, person, "tie") for person in "pqr" for number in range(1 if person == "q" else 2)]
    assert ballots.done(voted, cast) == (2, 1)
    assert ballots.done(voted, []) == (0, 0)


def cast(voted, votes_of_pairs):
    """Votes of so many people on each pair: of each, "first", "second" or "tie"."""
    return [
        Answer(number, person, "tie") if side == "tie" else vote_for(side, voted, person, number)
        for number, sides in enumerate(votes_of_pairs, 1)
        for person, side in zip(PEOPLE, sides, strict=False)
    ]


def test_the_win_rate_is_a_mean_over_pairs_with_half_a_win_for_a_tie():
    sides = [["second"] * 4, ["first", "second", "tie", "tie"], ["second"], ["first"] * 3 + ["second"]]
    voted = step(4, each=4)
    assert ballots.win_rate(voted, cast(voted, sides)).mean == pytest.approx((1 + 0.5 + 1 + 0.25) / 4)


def test_the_interval_of_the_win_rate_holds_what_other_voters_and_other_pairs_would_come_to():
    voted, generator, held = step(30, each=30), np.random.default_rng(0), 0
    both = [cast(voted, [[side] * 12] * 30) for side in ("first", "second")]  # of each pair, by each of twelve
    for _ in range(100):
        voters, pairs = generator.normal(size=12), generator.normal(size=30)
        chosen = generator.random((30, 12)) < 1 / (1 + np.exp(-voters - pairs[:, None]))
        given = [both[second][at] for at, second in enumerate(chosen.ravel().astype(int))]
        rate = ballots.win_rate(voted, given)
        held += rate.low <= 0.5 <= rate.high
    assert held >= 90


def test_votes_become_one_row_for_each_pair_by_its_majority_and_the_reader_of_pairs_takes_them(tmp_path):
    voted = step(12, each=12)
    counts = [PairVotes(1, 3, 1, 2), PairVotes(2, 1, 1, 5), *(PairVotes(number, 0, 1, 0) for number in range(3, 13))]
    rows = ballots.rows(voted, counts)
    texts = {"prompt": "prompt 1", "chosen": "first 1", "rejected": "second 1"}
    assert rows[0] == {**texts, "votes": 3, "against": 1, "ties": 2}
    assert [row["prompt"] for row in rows] == [f"prompt {number}" for number in (1, *range(3, 13))]
    file = tmp_path / "votes.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    pairs, read = preferences.read_file(str(file))
    assert (len(pairs), read.kept, pairs[1].chosen) == (11, 11, "second 3")


def test_there_are_two_groups_or_none_no_vote_without_pairs_and_twenty_pairs_where_the_host_says_no_number():
    assert step().data["briefs"] == step(briefs=["", " "]).data["briefs"] == []
    assert step(briefs=[" kind ", "strict"]).data["briefs"] == ["kind", "strict"]
    for pairs, briefs in ((0, []), *((1, wrong) for wrong in (["kind", ""], ["kind"], ["kind", "x" * 200], [*"abc"]))):
        with pytest.raises(NoClass):
            step(pairs, briefs=briefs)
    assert len(step(300).data["pairs"]) == 200
    # As the desk's menu has it (static/classroom/vote_desk.js).
    for sent in ({}, {"each": None}, {"each": True}, {"each": "40"}):
        assert step(each=DeskCommand(**sent).each).data["each"] == 20
    assert step(5, each=20).data["each"] == 5


def test_more_rows_take_no_more_steps_and_the_policy_is_the_presets_but_for_what_pays_it_and_how_long_it_learns():
    few, many = (judges.judge_settings("judge", "votes.jsonl", rows) for rows in (40, 180))
    assert (few.epochs, many.epochs * 180) == (judges.EPOCHS, few.epochs * judges.FULL_ROWS)
    preset = catalog.preset(judges.POLICY_PRESET)
    assert judges.policy_settings(preset, "class-3-group-2", 2)["about"]["title"] == "Paid by group 2"
    settings, before = judges.policy_settings(preset, "class-3"), preset.model_dump(mode="json")
    assert settings["rewards"] == [{"kind": "model", "source": "class-3"}]
    changed = {name for name in before if before[name] != settings[name]}
    assert changed == {"name", "preset", "rewards", "ppo", "evaluation", "about"}
