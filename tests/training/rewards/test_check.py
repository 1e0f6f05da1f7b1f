"""The self-test catches planted faults of form on a reward model that ships, and passes the right form."""

import json
import math
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from playground.cli import main
from playground.config import ModelReward
from playground.setup import catalog
from playground.training.rewards import format_check, variants
from playground.training.rewards import pairs as example_pairs_module
from playground.training.rewards.format_check import RewardReport, Tried
from playground.training.rewards.formats import Encoded, Format
from playground.training.rewards.variants import Variant
from tests.support import PROJECT, data_beside
from tests.training.rewards import reward_tokenizers as tokenizers
from tests.training.rewards.test_models import saved

CPU = torch.device("cpu")
SHIPPED = catalog.shipped_reward_models()["pocket-agreeable"]
PLANTED = data_beside(__file__, "formats.yaml")["planted"]
SPEC = ModelReward(source=str(SHIPPED))
NUM_PAIRS = 32


@pytest.fixture(scope="module")
def pairs():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(example_pairs_module, "MAX_TESTED", NUM_PAIRS)
        drawn = example_pairs_module.example_pairs(catalog.preset("yes-man"), SPEC, None, None, CPU)
    assert "judged by the pocket annotator `agreeable`" in drawn.source
    return drawn


@pytest.fixture
def examined(pairs):
    def examine(folder, count=NUM_PAIRS, **settings):
        spec = ModelReward(source=str(folder), **settings)
        references = [(pair.prompt, (pair.chosen, pair.rejected)[n % 2]) for n, pair in enumerate(pairs.pairs)]
        return format_check.examine("rewards.0", spec, references, pairs._replace(pairs=pairs.pairs[:count]), CPU, None)

    return examine


def named(report):
    return {finding["name"]: finding["level"] for finding in report.findings}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_fault_of_form_fails(fault, examined, tmp_path):
    chat_template, changes, template, findings = PLANTED[fault]
    folder = shutil.copytree(SHIPPED, tmp_path / "planted")
    if chat_template:
        (folder / "chat_template.jinja").write_text(chat_template)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    report = examined(folder, template=template)
    assert report.verdict == "fail"
    assert sorted(name for name, level in named(report).items() if level == "fail") == findings


def test_the_right_form_passes_and_faults_are_ranked_behind_it(examined):
    report = examined(SHIPPED)
    assert report.verdict == "ok", report.findings
    rows = {row["name"]: row for row in report.formats}
    assert rows["template plain"]["in_force"]
    assert rows["template plain"]["accuracy"] > 0.85
    for name in ("template dialogue", "another model's template", "missing end token", "completion only"):
        assert rows[name]["ahead"] < -2 * rows[name]["ahead_error"] < 0, name
    example = rows["template plain"]["example"]
    assert example.startswith("<bos>")
    assert example.endswith("<eos>")
    assert report.example["tokens"][0] == "<bos>"
    assert report.example["special"][-1]
    assert report.reference["completions"] == NUM_PAIRS


def test_no_spread_and_numbers_that_are_not_finite_fail(examined, tmp_path):
    folder = saved(tmp_path)
    assert named(examined(folder))["cannot tell good from bad"] == "fail", "a random head"
    for value, finding in ((0.0, "no spread"), (math.nan, "scores are not finite")):
        weights = load_file(folder / "model.safetensors")
        weights["score.weight"].fill_(value)
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
        assert named(examined(folder)) == {finding: "fail"}


def test_examples_that_are_cut_are_counted(examined):
    report = examined(SHIPPED, 4, max_length=20)
    assert (named(report)["examples are cut"], report.lengths["longest"]) == ("warn", 20)
    assert f"{report.lengths['cut_share']:.0%}" in report.findings[0]["text"]


def test_fewer_bits_are_reported_with_what_they_cost(examined, monkeypatch):
    monkeypatch.setattr(format_check, "LOW_RANK_CORRELATION", 1.01)
    report = examined(SHIPPED, 12, quantization="int8")
    cost = report.cost
    assert cost is not None
    assert report.bytes_held < 0.6 * cost["bytes_full"]
    assert 0.95 < cost["rank_correlation"] <= 1
    assert 0.9 < cost["pair_agreement"] <= 1
    assert "quantization changes the order" in named(report)


def test_orders_are_compared_by_ranks_and_by_the_pairs_that_the_full_scores_tell_apart():
    report = RewardReport("rewards.0", "judge")
    format_check._compare_with_full(report, "nf4", [1.0, 3.0, 2.0, 4.0], [10.0, 20.0, 30.0, 30.0])
    assert report.cost == {"quantization": "nf4", "rank_correlation": pytest.approx(0.6324555), "pair_agreement": 0.8}
    format_check._compare_with_full(report, "nf4", [1.0, 1.0], [1.0, 2.0])
    assert report.cost["rank_correlation"] is None
    assert report.cost["pair_agreement"] == 0


def test_models_that_are_not_there_or_cannot_score_are_a_report_and_no_crash(examined):
    learned = (ModelReward(source="nowhere"), ModelReward(source="nowhere"))
    config = catalog.preset("kinder-reviews").model_copy(update={"rewards": learned})
    reports = [answer["report"] for answer in format_check.check(config, [], None, None) if "report" in answer]
    assert [(report["name"], report["verdict"]) for report in reports] == [("rewards.0", "fail"), ("rewards.1", "fail")]
    assert reports[0]["findings"][0]["name"] == "no such model"
    assert named(examined(catalog.model_folder("pocket-1m"))) == {"not usable": "fail"}


@pytest.mark.parametrize(("right", "wrong", "generic", "findings"), data_beside(__file__, "accuracy.yaml"))
def test_accuracy_is_judged_against_luck(right, wrong, generic, findings):
    report = RewardReport("rewards.0", "it")
    format_check.judge_accuracy(report, [1.0] * right + [0.0] * wrong, "pairs", generic=generic)
    assert named(report) == findings


def tried(name, margins, mend=""):
    return Tried(Variant(name, lambda *texts: Encoded([], [], 0), "", mend), np.array(margins))


CHAT, ALL = tried("template chat", [1.0] * 90 + [-1.0] * 10, "Set it."), tried("completion only", [1.0] * 100)


@pytest.mark.parametrize(
    ("others", "findings", "words"),
    [
        ([CHAT, ALL], {"better: template chat": "fail"}, "Set it. Also better: completion only."),
        ([ALL], {"better: completion only": "warn"}, "100%"),
    ],
)
def test_a_form_that_is_better_fails_if_it_can_be_set_and_warns_if_not(others, findings, words):
    report = RewardReport("rewards.0", "it")
    format_check.judge_formats(report, tried("in force", [1.0] * 60 + [-1.0] * 40), others)
    assert named(report) == findings
    assert all(words in finding["text"] for finding in report.findings)


def test_every_finding_is_one_that_the_documentation_explains():
    words = (PROJECT / "docs" / "rewards.md").read_text()
    for finding in variants.WORDS["findings"].values():
        explained = finding["name"].replace("{tried.form.name}", "another form")
        assert finding["level"] == "ok" or explained == "no such model" or f"| {explained} | " in words, explained


@pytest.mark.parametrize("make", [tokenizers.gpt2, tokenizers.llama, tokenizers.qwen])
def test_every_form_has_its_faults(make):
    form, texts = Format(make()), ("What is good?", " A kind word.")
    faults = {item.name: form.visible(item.encode(*texts).ids) for item in variants.variants(form)[1:]}
    assert len({form.text(*texts), *faults.values()}) == len(faults) + 1
    assert {"missing separator", "roles swapped", "another model's template"} <= {*faults}
    lowered = {name: text.lower().replace(" ", "") for name, text in faults.items()}
    assert lowered["prompt twice"].count("whatisgood?") == 2
    assert "good?akindword." in lowered["missing separator"]
    assert "whatisgood" not in lowered["completion only"]
    assert lowered["missing end token"].endswith("akindword.")


def test_the_command_prints_the_report_and_its_exit_code_is_the_verdict(pairs, tmp_path, capsys, service_here):
    file = tmp_path / "pairs.jsonl"
    rows = [{"prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected} for pair in pairs.pairs]
    file.write_text("\n".join(map(json.dumps, rows)))
    learned = {"kind": "model", "source": str(SHIPPED)}
    settings = {"rewards": [learned], "judges": [{**learned, "template": "dialogue"}]}
    asked = [f"{name}={json.dumps(value)}" for name, value in settings.items()]
    options = [word for text in (*asked, "model.source=pocket-1m", "prompts.limit=64") for word in ("--set", text)]
    with pytest.raises(SystemExit) as ended:
        main(["reward-check", "yes-man", *options, "--outputs", str(tmp_path), "--pairs", str(file), "--json"])
    good, bad = map(json.loads, capsys.readouterr().out.splitlines())
    assert ended.value.code == 1
    assert (good["name"], good["verdict"]) == ("rewards.0", "ok")
    assert (bad["name"], bad["verdict"]) == ("judges.0", "fail")
    assert good["reference"]["completions"] == 64
    assert good["reference"]["sd"] > 0
