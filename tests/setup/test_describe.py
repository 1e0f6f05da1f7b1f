"""What a run is called, and how it differs from its preset, in words."""

from __future__ import annotations

from typing import Any

import pytest

from playground.config import RunConfig, yaml_io
from playground.setup import catalog, describe

BASE = catalog.preset("kinder-reviews")
CODE = "def reward(prompt, completion):\n    return len(completion)"


def changed(**data: Any) -> RunConfig:
    """The preset with other values in some of its parts."""
    given = BASE.model_dump(mode="json")
    parts = {name: {**given[name], **value} if isinstance(value, dict) else value for name, value in data.items()}
    return yaml_io.from_dict({**given, **parts})


def test_a_run_is_called_by_the_name_that_somebody_gave_it_and_else_by_its_preset_s_title() -> None:
    assert describe.title_of(BASE) == "Kinder reviews"
    assert describe.title_of(changed(kl={"coef": 1.5})) == "Kinder reviews"
    assert describe.title_of(changed(name="Third try")) == "Third try"
    bare = RunConfig(rewards=BASE.rewards)
    assert describe.title_of(bare) == "run"
    assert describe.title_of(changed(name="run", about={"title": "A study of mine"})) == "A study of mine"


def test_a_run_of_which_little_is_its_preset_is_called_by_what_it_is() -> None:
    length = [{"kind": "length", "target": 20}]
    typed = {"source": "typed", "typed": ["The film was", "My sister says"]}
    assert describe.title_of(changed(rewards=length)) == "Kinder reviews"  # told by what differs
    assert describe.title_of(changed(rewards=length, prompts=typed)) == "Length on typed prompts"
    mine = "/home/one/outputs/uploads/0123456789ab-mine.txt"
    everything = changed(rewards=length, prompts={"source": mine}, model={"source": "pocket-1m"})
    assert describe.title_of(everything) == "Length on mine.txt, pocket-1m"
    both = changed(rewards=[*length, {"kind": "grammar"}], model={"source": "pocket-1m"})
    assert describe.title_of(both) == "Length and Grammar on Reviews, pocket-1m"
    assert describe.title_of(yaml_io.overridden(everything.model_dump(mode="json"), ["name=Mine"], RunConfig)) == "Mine"
    words = changed(rewards=[{"kind": "model", "source": "x" * 90}], prompts=typed)
    assert len(describe.title_of(words)) <= describe.MOST_OF_TITLE


def test_what_was_changed_while_it_trained_is_told_with_its_time() -> None:
    edits = [(12, "kl.coef", 3.0), (20, "ppo.learning_rate", 1e-4)]
    assert describe.changed_on_the_way("Kinder reviews", BASE, []) == "Kinder reviews"
    assert describe.changed_on_the_way("Kinder reviews", BASE, edits) == (
        "Kinder reviews, changed while it trained: beta 3 after update 12 and learning rate 0.0001 after update 20"
    )
    assert describe.changed_on_the_way("", BASE, edits[:1]) == "Changed while it trained: beta 3 after update 12"


def test_of_many_changes_those_that_are_told_are_put_into_words_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(describe, "_phrase", lambda field, old, new: asked.append(field) or f"beta {old:g} to {new:g}")
    edits = [(update, "kl.coef", float(update)) for update in range(1, 1001)]
    told = describe.changed_on_the_way("", BASE, edits)
    first = f"beta {BASE.kl.coef:g} to 1 after update 1, beta 1 to 2 after update 2, beta 2 to 3 after update 3"
    assert told == f"Changed while it trained: {first} and 997 more" and len(asked) == 3


def test_a_preset_is_told_in_its_own_words_whatever_its_seed_name_and_device() -> None:
    for same in (
        BASE, changed(name="Third try"), changed(seed=5), changed(device="cpu"), changed(max_minutes=5),
        changed(judges=[{"kind": "grammar"}]), changed(evaluation={"num_prompts": 16}), changed(checkpoint={"keep": 1}),
        changed(dpo={"labels": "better"}), changed(kl={"target": 9.0}), changed(model={"adapter": {"r": 4}}),
    ):  # fmt: skip
        assert describe.of(same) == ("Kinder reviews", BASE.about.story, BASE.about.expect, "kinder-reviews")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kl": {"coef": 1.5}}, "beta 1.5"),
        ({"ppo": {"num_updates": 12}, "kl": {"coef": 1.5}}, "beta 1.5 and 12 updates"),
        ({"rewards": [{"kind": "python", "code": CODE}], "kl": {"coef": 1.5}},
         "beta 1.5 and a Python function as reward"),
        ({"rewards": [{"kind": "sentiment"}, {"kind": "length", "weight": 0.5, "target": 20}]},
         "rewards sentiment + 0.5 x Length (target 20)"),
        ({"rewards": [{"kind": "model", "source": "kind-judge"}]}, "reward model kind-judge"),
        ({"kl": {"controller": "adaptive", "target": 9.0}}, "adaptive beta and target KL 9"),
        ({"prompts": {"source": "typed", "typed": ["a", "b"]}}, "2 prompts of one's own"),
        ({"method": "rloo", "ppo": {"baseline": "leave_one_out", "samples_per_prompt": 8, "gae_lambda": 0.9}},
         "method RLOO"),
        ({"method": "rloo", "ppo": {"baseline": "leave_one_out", "samples_per_prompt": 4}},
         "method RLOO and samples per prompt 4"),
        ({"model": {"source": "pocket-1m"}, "score": {"clip": 2.0}, "sampling": {"temperature": 0.7}},
         "model pocket-1m, score clip 2 and temperature 0.7"),
        ({"kl": {"coef": 2.0}, "ppo": {"clip_range": 0.1, "num_epochs": 3, "learning_rate": 1e-3, "num_updates": 9}},
         "beta 2, 9 updates, PPO epochs 3 and 2 more"),
    ],
)  # fmt: skip
def test_what_differs_is_told_instead_of_the_story_and_the_promise(changes: dict[str, Any], words: str) -> None:
    assert describe.of(changed(**changes)) == (f"Kinder reviews, but {words}", "", "", "")


def test_a_reward_whose_code_alone_has_changed_is_another_one() -> None:
    one, two = (changed(rewards=[{"kind": "python", "code": code}]) for code in (CODE, CODE + " / 2"))
    assert describe.differences_in_words(one, two) == ["other rewards"]


def test_a_configuration_of_somebody_s_own_is_told_in_its_own_words() -> None:
    about = {"title": "A study", "story": "What is it good for?", "expect": "Nothing."}
    assert describe.of(changed(about=about, kl={"coef": 1.5})) == (*about.values(), "")
    assert describe.of(RunConfig(rewards=BASE.rewards)) == ("", "", "", "")


def test_the_line_below_a_title_does_not_say_the_title_again() -> None:
    same, other = describe.of(BASE), describe.of(changed(kl={"coef": 1.5}))
    assert same.line("Kinder reviews") == BASE.about.story
    assert same.line("Third try") == f"Kinder reviews: {BASE.about.story}"
    assert other.line("Kinder reviews") == other.line("Third try") == "Kinder reviews, but beta 1.5."
    assert describe.Description("", "", "", "").line("run") == ""
    assert describe.Description("A study", "", "", "").line("A study") == ""


def test_a_preset_is_found_by_its_title_which_no_other_has() -> None:
    names = [*catalog.preset_names(), *catalog.model_preset_names()]
    for name in names:
        assert catalog.preset_titled(catalog.preset(name).about.title) == catalog.preset(name)
    assert catalog.preset_titled("Kinder revues") is None is catalog.preset_titled("")


def test_scores_are_one_measure_where_rewards_scale_and_reference_texts_are_the_same() -> None:
    same = [BASE, changed(seed=3, kl={"coef": 2.0}, ppo={"num_updates": 9}, model={"adapter": {"kind": "lora"}})]
    assert describe.scores_differ(same) == "" == describe.scores_differ([BASE])
    rewards, model = [{"kind": "length"}], {"source": "pocket-1m"}
    assert describe.scores_differ([BASE, changed(rewards=rewards)]) == (
        "Their rewards differ, so a score of one is not measured as a score of another."
    )
    three = [BASE, changed(model=model), changed(rewards=rewards, score={"normalise": "none"})]
    assert describe.scores_differ(three).startswith("Their rewards, scales of the score and models differ, so")
    points = {"normalise": "none"}
    assert describe.scores_differ([changed(score=points), changed(score=points, model=model)]) == "", (
        "points are points"
    )
    assert "prompts" in describe.scores_differ([BASE, changed(prompts={"source": "pocket/stories"})])
    assert "ways of sampling" in describe.scores_differ([BASE, changed(sampling={"temperature": 0.5})])


def test_phrases_are_listed_as_in_a_sentence() -> None:
    assert [describe.listed("abcde"[:count]) for count in (1, 2, 3, 4, 5)] == [
        "a", "a and b", "a, b and c", "a, b, c and 1 more", "a, b, c and 2 more",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (127.6, "130"),
        (99.6, "100"),
        (12_345.0, "12,000"),
        (9.34, "9.3"),
        (0.514, "0.51"),
        (0.0, "0"),
        (0.0012, "0.0012"),
    ],
)
def test_a_large_figure_is_told_without_a_power_of_ten(value: float, words: str) -> None:
    assert describe.two_digits(value) == words


def test_switches_are_on_or_off() -> None:
    assert [describe.in_words("sampling.train_on_cut", value) for value in (True, False)] == ["on", "off"]


def test_a_reward_is_told_with_weight_and_own_fields() -> None:
    assert describe.reward_in_words({"kind": "sentiment", "weight": 1.0, "judge": "pocket-lexicon"}) == "Sentiment"
    assert describe.reward_in_words({"kind": "length", "weight": 0.5, "target": 20}) == "0.5 x Length (target 20)"
    assert (
        describe.reward_in_words({"kind": "keyword", "weight": "x", "words": ["a", "b"]}) == "x x Keywords (words a, b)"
    )


def test_an_expression_is_told_in_short_and_code_not_at_all() -> None:
    long = {"kind": "expression", "weight": 1.0, "expression": "words(completion) + " * 20 + "1"}
    told = describe.reward_in_words(long)
    assert told.startswith("Expression (words(completion) + ") and told.endswith(" ...)") and len(told) < 60
    code = {"kind": "python", "weight": 2.0, "code": "def reward(prompt, completion): return 1", "time_limit": 2.0}
    assert describe.reward_in_words(code) == "2 x Python function"
