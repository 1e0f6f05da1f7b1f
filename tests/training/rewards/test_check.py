"""The self-test catches every planted fault of form on a trained pocket reward model, and passes the right form."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from playground.cli import main
from playground.config import ModelReward
from playground.setup import catalog
from playground.texts import preferences
from playground.texts.preferences import Pair
from playground.training.rewards import faults as reward_faults
from playground.training.rewards import findings
from playground.training.rewards import format_check as reward_check
from playground.training.rewards.examples import BUILT_IN, ExamplePairs, ReferenceSamples
from playground.training.rewards.faults import Variant
from playground.training.rewards.findings import RewardReport, Tried
from playground.training.rewards.formats import Encoded, Format
from playground.training.rewards.learned_rewards import RewardModel
from tests.support import PROJECT
from tests.thoroughness import cases
from tests.training.rewards import pocket_reward
from tests.training.rewards import reward_tokenizers as tokenizers
from tests.training.rewards.test_models import saved

CPU = torch.device("cpu")
PAIRS = ExamplePairs("pairs of the test", pocket_reward.pairs(96))
REFERENCES = ReferenceSamples(
    [pair.prompt for pair in PAIRS.pairs[:64]],
    [(pair.chosen, pair.rejected)[number % 2] for number, pair in enumerate(PAIRS.pairs[:64])],
)
TURNS = "{%% for m in messages %%}{{ '\n\n' + ('%s' if m['role'] == 'user' else '%s') + ': ' + m['content'] }}"
TURNS += "{%% endfor %%}{{ eos_token }}"
RIGHT = TURNS % ("Human", "Assistant")
CHATML = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}{{ eos_token }}"


def between(separator: str) -> str:
    """A chat template of one question and one answer with something else between them."""
    return "\n\nHuman: {{ messages[0]['content'] }}" + separator + "{{ messages[1]['content'] }}{{ eos_token }}"


def chat_template(text: str) -> Callable[[Path], dict[str, Any]]:
    """A plant: this chat template in the model's folder, as a hub model has one; nothing is set in the reward."""

    def plant(folder: Path) -> dict[str, Any]:
        (folder / "chat_template.jinja").write_text(text)
        return {}

    return plant


def no_end_token(folder: Path) -> dict[str, Any]:
    """A plant: a tokenizer that was saved without its end token."""
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text())
    del config["eos_token"]
    path.write_text(json.dumps(config))
    return {"template": "dialogue"}


TWICE = between("\n\nAssistant: {{ messages[0]['content'] }} ")
FAULTS: dict[str, tuple[Callable[[Path], dict[str, Any]], str]] = {
    "wrong separator": (chat_template(between(" ### ")), "better: template dialogue"),
    "missing separator": (chat_template(between(" ")), "better: template dialogue"),
    "missing end token": (no_end_token, "better: with end token"),
    "prompt twice": (chat_template(TWICE), "not usable"),
    "roles swapped": (chat_template(TURNS % ("Assistant", "Human")), "better: template dialogue"),
    "another model's template": (chat_template(CHATML), "better: template dialogue"),
    "a wrong setting": (lambda folder: {"template": "plain"}, "better: template dialogue"),
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pocket_reward.train(tmp_path_factory.mktemp("trained"))


def examined(folder: Path, **settings: Any) -> RewardReport:
    spec = ModelReward(source=str(folder), **settings)
    return reward_check.examine("rewards.0", spec, REFERENCES, PAIRS, CPU, None)


def named(report: RewardReport) -> dict[str, str]:
    return {finding.name: finding.level for finding in report.findings}


@pytest.mark.parametrize("fault", cases(FAULTS, always=["wrong separator", "missing end token", "prompt twice"]))
def test_a_planted_fault_fails(fault: str, trained: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(trained, tmp_path / "planted")
    plant, finding = FAULTS[fault]
    report = examined(folder, **plant(folder))
    assert report.verdict == "fail"
    assert named(report)[finding] == "fail", report.findings
    if fault == "prompt twice":
        assert "each once" in report.findings[0].text
    if fault == "missing end token":
        assert report.findings[0].name == fault and "names token 2 (<eos>) as its end" in report.findings[0].text


def test_the_right_form_passes_and_every_fault_is_ranked_behind_it(trained: Path, tmp_path: Path) -> None:
    report = examined(trained, template="dialogue")
    assert report.verdict == "ok", report.findings
    first, *others = report.formats
    assert first["in_force"] and first["accuracy"] > 0.9
    behind = {row["name"]: row for row in others}
    for name in (
        "wrong separator", "missing separator", "missing end token", "prompt twice", "roles swapped",
        "another model's template (ChatML)", "template plain",
    ):  # fmt: skip
        assert behind[name]["ahead"] < -2 * behind[name]["ahead_error"] < 0, name
    assert first["example"].startswith("<bos>\n\nHuman: Review of the") and first["example"].endswith("<eos>")
    assert report.good["score"] > report.bad["score"]
    assert report.example["tokens"][0] == "<bos>" and report.example["special"][-1]
    folder = shutil.copytree(trained, tmp_path / "hub")
    chat_template(RIGHT)(folder)
    assert examined(folder).verdict == "ok", "its own chat template, found by itself"
    (folder / "reward.json").write_text(json.dumps({"template": "dialogue"}))
    assert named(examined(folder, template="plain"))["another template than trained on"] == "fail"


def test_fewer_bits_are_reported_with_what_they_cost(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ModelReward(source=str(trained), template="dialogue", quantization="int8")
    few = PAIRS._replace(pairs=PAIRS.pairs[:12])
    cost = reward_check.examine("rewards.0", spec, REFERENCES, few, CPU, None).cost
    assert cost is not None and cost["bytes_held"] < 0.6 * cost["bytes_full"]
    assert cost["rank_correlation"] > 0.95 and cost["pair_agreement"] > 0.9
    monkeypatch.setattr(reward_check, "LOW_RANK_CORRELATION", 1.01)
    report = reward_check.examine("rewards.0", spec, REFERENCES, few, CPU, None)
    (text,) = [finding.text for finding in report.findings if finding.name == "quantization changes the order"]
    assert "order the completions differently" in text and f"correlation {cost['rank_correlation']:.3f}" in text


def test_no_spread_and_numbers_that_are_not_finite_fail(tmp_path: Path) -> None:
    folder = saved(tmp_path)
    report = examined(folder)
    assert named(report)["cannot tell good from bad"] == "fail", "a random head"
    for value, finding in ((0.0, "no spread"), (math.nan, "scores are not finite")):
        with_head(folder, value)
        report = examined(folder)
        assert (report.verdict, list(named(report))) == ("fail", [finding])


def with_head(folder: Path, value: float) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    weights["score.weight"].fill_(value)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def test_examples_that_are_cut_are_told_with_their_share(trained: Path) -> None:
    report = examined(trained, template="dialogue", max_length=30)
    assert named(report)["examples are cut"] == "warn" and report.lengths["longest"] == 30
    assert f"{report.lengths['cut_share']:.0%} of the examples are longer than 30 tokens" in report.findings[0].text


def test_pairs_whose_scores_are_not_finite_fail(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RewardModel, "of_pairs", lambda model, pairs: ([1.0, math.nan], [0.0, 0.0]))
    report = examined(trained, template="dialogue")
    assert named(report) == {"scores are not finite": "fail"} and report.formats == []
    assert report.findings[0].text == "Some scores of the pairs are infinite or not a number."


def test_reward_models_that_are_not_there_are_a_report_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reward_check.examples, "references", lambda config, device: REFERENCES)
    config = catalog.preset("kinder-reviews")
    learned = (ModelReward(source="nowhere"), ModelReward(source="nowhere"))
    found = list(reward_check.check(config.model_copy(update={"rewards": learned})))
    reports = [answer["report"] for answer in found if "report" in answer]
    assert [(report["name"], report["verdict"]) for report in reports] == [("rewards.0", "fail"), ("rewards.1", "fail")]
    assert reports[0]["findings"][0]["name"] == "no such model"


def test_a_model_that_cannot_score_is_a_report_and_no_crash() -> None:
    report = examined(catalog.model_folder("pocket-1m"))
    assert report.verdict == "fail" and "writes text" in report.findings[0].text
    assert "no reward model `nowhere`" in examined(Path("nowhere")).findings[0].text


@pytest.mark.parametrize(
    ("right", "wrong", "generic", "found"),
    [
        (52, 48, False, {"cannot tell good from bad": "fail"}),
        (30, 70, False, {"bad beats good": "fail"}),
        (6400, 3600, False, {"low accuracy": "warn"}),
        (95, 5, False, {}),
        (9, 7, True, {"low accuracy": "warn"}),
        (15, 1, True, {}),
        *((right, wrong, False, {"too few pairs": "warn"}) for right, wrong in ((4, 0), (6, 0), (9, 3), (22, 10))),
    ],
)
def test_accuracy_is_judged_against_luck(right: int, wrong: int, generic: bool, found: dict[str, str]) -> None:
    report = RewardReport("rewards.0", "it")
    findings.judge_accuracy(report, [1.0] * right + [0.0] * wrong, "pairs", generic=generic)
    assert named(report) == found
    if "too few pairs" in found:
        assert f"Right on {right / (right + wrong):.0%} of {right + wrong} pairs" in report.findings[0].text


def tried(name: str, margins: list[float], mend: str = "") -> Tried:
    return Tried(Variant(name, lambda *texts: Encoded([], [], 0), "", mend), np.array(margins))


def test_one_pair_is_no_sign_that_another_form_is_clearer() -> None:
    for count, found in ((1, {}), (20, {"clearer: other": "warn"})):
        report = RewardReport("rewards.0", "it")
        findings.judge_formats(report, tried("in force", [0.1] * count), [tried("other", [0.2] * count, "Set it.")])
        assert named(report) == found


def test_a_form_that_is_right_more_often_fails_if_it_can_be_set_and_warns_if_not() -> None:
    mine = tried("in force", [1.0] * 60 + [-1.0] * 40)
    chat, only = tried("template chat", [1.0] * 90 + [-1.0] * 10, "Set it."), tried("completion only", [1.0] * 100)
    report, other = RewardReport("rewards.0", "it"), RewardReport("rewards.0", "it")
    findings.judge_formats(report, mine, [chat, only])
    assert named(report) == {"better: template chat": "fail"}
    assert "right on 90% of the pairs, the form in force on 60%" in report.findings[0].text
    assert report.findings[0].text.endswith("Set it. Also better: completion only.")
    findings.judge_formats(other, mine, [only])
    assert named(other) == {"better: completion only": "warn"} and "not trained to read" in other.findings[0].text


def test_every_finding_is_one_that_the_documentation_explains() -> None:
    words = (PROJECT / "docs" / "rewards.md").read_text()
    for level, name, _ in findings.FINDINGS.values():
        explained = name.replace("{tried.form.name}", "another form")
        assert level == "ok" or name == "no such model" or f"| {explained} | " in words, name


def test_pairs_whose_completions_hold_the_prompt_are_told(trained: Path) -> None:
    whole = [Pair(pair.prompt, pair.prompt + pair.chosen, pair.prompt + pair.rejected) for pair in PAIRS.pairs[:24]]
    spec = ModelReward(source=str(trained), template="dialogue")
    report = reward_check.examine("rewards.0", spec, REFERENCES, ExamplePairs("whole texts", whole), CPU, None)
    assert named(report)["prompt twice"] == "fail"


def test_the_built_in_pairs_differ_and_never_say_the_same_twice() -> None:
    found, counts = preferences.read_file(str(BUILT_IN))
    assert len({pair.prompt for pair in found}) == len(found) == counts.rows >= 16


@pytest.mark.parametrize("make", [tokenizers.gpt2, tokenizers.llama, tokenizers.qwen, tokenizers.bert])
def test_every_form_has_its_faults(make: Callable[[], Any]) -> None:
    form = Format(make())
    prompt, completion = "What is good?", " A kind word."
    texts = {item.name: form.visible(item.encode(prompt, completion).ids) for item in reward_faults.variants(form)[1:]}
    whole = form.text(prompt, completion)
    assert whole not in texts.values() and len(set(texts.values())) == len(texts)
    texts |= {name.rpartition(", ")[2]: text for name, text in texts.items()}
    assert {"missing separator", "missing end token", "prompt twice", "roles swapped", "completion only"} <= set(texts)
    assert any(name.startswith("another model's template") for name in texts)
    lowered = {name: text.lower().replace(" ", "") for name, text in texts.items()}
    assert lowered["prompt twice"].count("whatisgood?") == 2
    assert "good?akindword." in lowered["missing separator"]
    assert "whatisgood" not in lowered["completion only"]
    assert lowered["missing end token"].endswith("akindword.")


def test_the_command_prints_the_report_and_its_exit_code_is_the_verdict(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], service_here: None
) -> None:
    rows = [{"prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected} for pair in PAIRS.pairs[:40]]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    rewards = json.dumps([{"kind": "model", "source": str(trained), "template": "dialogue"}])
    arguments = ["reward-check", "kinder-reviews", "--set", f"rewards={rewards}", "--set", "model.source=pocket-1m"]
    arguments += ["--outputs", str(tmp_path), "--pairs", str(tmp_path / "pairs.jsonl")]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--set", "judges=" + rewards.replace("dialogue", "plain"), "--json"])
    good, bad = map(json.loads, capsys.readouterr().out.splitlines())
    assert ended.value.code == 1
    assert (good["name"], good["verdict"]) == ("rewards.0", "ok")
    assert (bad["name"], bad["verdict"]) == ("judges.0", "fail")
    assert good["reference"]["completions"] == 64 and good["reference"]["sd"] > 0


def test_the_command_says_when_there_is_nothing_to_test(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["reward-check", "kinder-reviews", "--outputs", str(tmp_path)])
    assert ended.value.code == 2
    assert "no reward of kind `model`" in capsys.readouterr().err
