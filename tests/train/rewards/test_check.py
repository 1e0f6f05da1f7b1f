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
from safetensors.torch import load_file, save_file

from playground.cli import main
from playground.config import ModelReward
from playground.data import preferences
from playground.data.preferences import Pair
from playground.setup import catalog
from playground.train.rewards import findings, format_check, variants
from playground.train.rewards.findings import RewardReport, Tried
from playground.train.rewards.format_check import ExamplePairs, ReferenceSamples
from playground.train.rewards.formats import Encoded, Format
from playground.train.rewards.learned_rewards import RewardModel
from playground.train.rewards.variants import Variant
from tests.support import PROJECT
from tests.thoroughness import cases
from tests.train.rewards import pocket_reward
from tests.train.rewards import reward_tokenizers as tokenizers
from tests.train.rewards.test_models import saved

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
# a chat template of one question and one answer with something else between them
BETWEEN = "\n\nHuman: {{ messages[0]['content'] }}%s{{ messages[1]['content'] }}{{ eos_token }}"
TWICE = BETWEEN % "\n\nAssistant: {{ messages[0]['content'] }} "
FAULTS: dict[str, tuple[str, str]] = {  # chat template in the model's folder, as a hub model has one; what is found
    "wrong separator": (BETWEEN % " ### ", "better: template dialogue"),
    "missing separator": (BETWEEN % " ", "better: template dialogue"),
    "missing end token": ("", "better: with end token"),
    "prompt twice": (TWICE, "not usable"),
    "roles swapped": (TURNS % ("Assistant", "Human"), "better: template dialogue"),
    "another model's template": (CHATML, "better: template dialogue"),
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pocket_reward.train(tmp_path_factory.mktemp("trained"))


def examined(folder: Path, pairs: ExamplePairs = PAIRS, **settings: Any) -> RewardReport:
    spec = ModelReward(source=str(folder), **settings)
    return format_check.examine("rewards.0", spec, REFERENCES, pairs, CPU, None)


def named(report: RewardReport) -> dict[str, str]:
    return {finding["name"]: finding["level"] for finding in report.findings}


@pytest.mark.parametrize("fault", cases(FAULTS, always=["wrong separator", "missing end token", "prompt twice"]))
def test_a_planted_fault_fails(fault: str, trained: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(trained, tmp_path / "planted")
    template, finding = FAULTS[fault]
    if template:
        (folder / "chat_template.jinja").write_text(template)
        report = examined(folder)
    else:  # a tokenizer that was saved without its end token
        path = folder / "tokenizer_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "eos_token": None}))
        report = examined(folder, template="dialogue")
        assert report.findings[0]["name"] == fault and "token 2 (<eos>)" in report.findings[0]["text"]
    assert report.verdict == "fail" and named(report)[finding] == "fail", report.findings


def test_the_right_form_passes_and_every_fault_is_ranked_behind_it(trained: Path, tmp_path: Path) -> None:
    report = examined(trained, template="dialogue")
    assert report.verdict == "ok", report.findings
    first, *others = report.formats
    assert first["in_force"] and first["accuracy"] > 0.9
    behind = {row["name"]: row for row in others}
    for name in ("template plain", "another model's template (ChatML)", *list(FAULTS)[:-1]):
        assert behind[name]["ahead"] < -2 * behind[name]["ahead_error"] < 0, name
    assert first["example"].startswith("<bos>\n\nHuman: Review of the") and first["example"].endswith("<eos>")
    assert report.good["score"] > report.bad["score"]
    assert report.example["tokens"][0] == "<bos>" and report.example["special"][-1]
    folder = shutil.copytree(trained, tmp_path / "hub")
    (folder / "chat_template.jinja").write_text(RIGHT)
    few = PAIRS._replace(pairs=PAIRS.pairs[:32])
    assert examined(folder, few).verdict == "ok", "its own chat template, found by itself"
    (folder / "reward.json").write_text(json.dumps({"template": "dialogue"}))
    found = named(examined(folder, few, template="plain"))
    assert found["another template than trained on"] == found["better: template dialogue"] == "fail"


def test_no_spread_and_numbers_that_are_not_finite_fail(tmp_path: Path) -> None:
    folder = saved(tmp_path)
    assert named(examined(folder))["cannot tell good from bad"] == "fail", "a random head"
    for value, finding in ((0.0, "no spread"), (math.nan, "scores are not finite")):
        weights = load_file(folder / "model.safetensors")
        weights["score.weight"].fill_(value)
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
        assert named(examined(folder)) == {finding: "fail"}


def test_examples_that_are_cut_are_counted(trained: Path) -> None:
    report = examined(trained, template="dialogue", max_length=30)
    assert named(report)["examples are cut"] == "warn" and report.lengths["longest"] == 30
    assert f"{report.lengths['cut_share']:.0%}" in report.findings[0]["text"]


def test_pairs_whose_scores_are_not_finite_fail(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RewardModel, "of_pairs", lambda model, pairs: ([1.0, math.nan], [0.0, 0.0]))
    report = examined(trained, template="dialogue")
    assert named(report) == {"scores are not finite": "fail"} and report.formats == []


def test_pairs_whose_completions_hold_the_prompt_fail(trained: Path) -> None:
    whole = [Pair(pair.prompt, pair.prompt + pair.chosen, pair.prompt + pair.rejected) for pair in PAIRS.pairs[:24]]
    assert named(examined(trained, ExamplePairs("whole", whole), template="dialogue"))["prompt twice"] == "fail"


def test_fewer_bits_are_reported_with_what_they_cost(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ModelReward(source=str(trained), template="dialogue", quantization="int8")
    few = PAIRS._replace(pairs=PAIRS.pairs[:12])
    report = format_check.examine("rewards.0", spec, REFERENCES, few, CPU, None)
    cost = report.cost
    assert cost is not None and report.bytes_held < 0.6 * cost["bytes_full"]
    assert 0.95 < cost["rank_correlation"] <= 1 and 0.9 < cost["pair_agreement"] <= 1
    monkeypatch.setattr(format_check, "LOW_RANK_CORRELATION", 1.01)
    report = format_check.examine("rewards.0", spec, REFERENCES, few, CPU, None)
    assert report.verdict == "warn" and "quantization changes the order" in [one["name"] for one in report.findings]


def test_orders_are_compared_by_ranks_and_by_the_pairs_that_the_full_scores_tell_apart() -> None:
    report = RewardReport("rewards.0", "judge")
    format_check._compare_with_full(report, "nf4", [1.0, 3.0, 2.0, 4.0], [10.0, 20.0, 30.0, 30.0])
    assert report.cost == {"quantization": "nf4", "rank_correlation": pytest.approx(0.6324555), "pair_agreement": 0.8}
    format_check._compare_with_full(report, "nf4", [1.0, 1.0], [1.0, 2.0])
    assert report.cost["rank_correlation"] is None and report.cost["pair_agreement"] == 0


def test_models_that_are_not_there_or_cannot_score_are_a_report_and_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(format_check, "reference_samples", lambda config, device: REFERENCES)
    learned = (ModelReward(source="nowhere"), ModelReward(source="nowhere"))
    found = list(format_check.check(catalog.preset("kinder-reviews").model_copy(update={"rewards": learned})))
    reports = [answer["report"] for answer in found if "report" in answer]
    assert [(report["name"], report["verdict"]) for report in reports] == [("rewards.0", "fail"), ("rewards.1", "fail")]
    assert reports[0]["findings"][0]["name"] == "no such model"
    assert named(examined(catalog.model_folder("pocket-1m"))) == {"not usable": "fail"}


@pytest.mark.parametrize(
    ("right", "wrong", "generic", "found"),
    [
        (52, 48, False, {"cannot tell good from bad": "fail"}),
        (30, 70, False, {"bad beats good": "fail"}),
        (6400, 3600, False, {"low accuracy": "warn"}),
        (95, 5, False, {}),
        (9, 7, True, {"low accuracy": "warn"}),
        (15, 1, True, {}),
        (4, 0, False, {"too few pairs": "warn"}),
        (22, 10, False, {"too few pairs": "warn"}),
    ],
)
def test_accuracy_is_judged_against_luck(right: int, wrong: int, generic: bool, found: dict[str, str]) -> None:
    report = RewardReport("rewards.0", "it")
    findings.judge_accuracy(report, [1.0] * right + [0.0] * wrong, "pairs", generic=generic)
    assert named(report) == found


def tried(name: str, margins: list[float], mend: str = "") -> Tried:
    return Tried(Variant(name, lambda *texts: Encoded([], [], 0), "", mend), np.array(margins))


SIX_OF_TEN = tried("in force", [1.0] * 60 + [-1.0] * 40)
CHAT, ALL = tried("template chat", [1.0] * 90 + [-1.0] * 10, "Set it."), tried("completion only", [1.0] * 100)


@pytest.mark.parametrize(
    ("mine", "others", "found", "words"),
    [
        (tried("in force", [0.1]), [tried("other", [0.2], "Set it.")], {}, ""),  # one pair is no sign
        (tried("in force", [0.1] * 20), [tried("other", [0.2] * 20, "Set it.")], {"clearer: other": "warn"}, "0.20"),
        (SIX_OF_TEN, [CHAT, ALL], {"better: template chat": "fail"}, "Set it. Also better: completion only."),
        (SIX_OF_TEN, [ALL], {"better: completion only": "warn"}, "100%"),
    ],
)
def test_a_form_that_is_better_fails_if_it_can_be_set_and_warns_if_not(mine, others, found, words) -> None:
    report = RewardReport("rewards.0", "it")
    findings.judge_formats(report, mine, others)
    assert named(report) == found and all(words in finding["text"] for finding in report.findings)


def test_every_finding_is_one_that_the_documentation_explains() -> None:
    words = (PROJECT / "docs" / "rewards.md").read_text()
    for finding in variants.WORDS["findings"].values():
        explained = finding["name"].replace("{tried.form.name}", "another form")
        assert finding["level"] == "ok" or explained == "no such model" or f"| {explained} | " in words, explained


def test_the_built_in_pairs_differ_and_never_say_the_same_twice() -> None:
    found, counts = preferences.read_file(str(format_check.BUILT_IN))
    assert len({pair.prompt for pair in found}) == len(found) == counts.rows >= 16


@pytest.mark.parametrize("make", [tokenizers.gpt2, tokenizers.llama, tokenizers.qwen, tokenizers.bert])
def test_every_form_has_its_faults(make: Callable[[], Any]) -> None:
    form = Format(make())
    prompt, completion = "What is good?", " A kind word."
    texts = {item.name: form.visible(item.encode(prompt, completion).ids) for item in variants.variants(form)[1:]}
    assert form.text(prompt, completion) not in texts.values() and len(set(texts.values())) == len(texts)
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
    with pytest.raises(SystemExit) as ended:
        main(["reward-check", "kinder-reviews", "--outputs", str(tmp_path)])  # which has no reward of kind model
    assert ended.value.code == 2
