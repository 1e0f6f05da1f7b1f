"""What can be picked: presets load and can be run, unknown names get a suggestion, model folders are looked into."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from playground.config import REWARD_CLASSES, RewardTrainingConfig, RunConfig, yaml_io
from playground.errors import InvalidConfig, ModelNotFound
from playground.setup import catalog, checks
from tests.model_folders import hub_cache, model_folder, safetensors, write_json


def config_with(**changes: object) -> RunConfig:
    return yaml_io.from_dict({"rewards": [{"kind": "length"}], **changes})


def test_the_presets_come_in_the_order_of_the_story() -> None:
    assert catalog.preset_names()[:20] == [
        "kinder-reviews",
        "no-leash",
        "short-leash",
        "autopilot",
        "yes-man",
        "honest-friend",
        "agreeable-thumbs",
        "thumbs-up-mix",
        "rule-penalty",
        "paraphrase-hole",
        "contrarian",
        "classifier-penalty",
        "contrastive",
        "biased-reference",
        "chatterbox",
        "without-critic",
        "group-scores",
        "from-pairs",
        "best-texts",
        "best-of-n",
    ]


def test_each_step_of_the_story_says_what_to_look_for_against_an_earlier_one() -> None:
    told: list[str] = []
    for step in catalog.story():
        assert step.look.endswith(".") and (step.against in told or not told)
        told.append(step.preset)


def test_the_presets_are_grouped_by_what_they_take() -> None:
    shipped, downloads, gpu = catalog.preset_groups().values()
    assert shipped == [step.preset for step in catalog.story()]
    assert gpu == ["hh-rlhf-1b", "tinyllama-1.1b-chat"] and downloads[:2] == ["chat-claims", "distilgpt2"]
    assert sorted([*shipped, *downloads, *gpu]) == sorted([*catalog.preset_names(), *catalog.model_preset_names()])


@pytest.mark.parametrize("name", catalog.preset_names())
def test_every_preset_is_complete(name: str) -> None:
    config = catalog.preset(name)
    if not catalog.is_hub_id(config.model.source):  # one that needs the hub is checked by a dry run of its own
        checks.check(config)
    assert config.name == name
    assert config.about.title and config.about.story and config.about.expect


def test_the_leash_presets_differ_in_their_leash_only() -> None:
    kinder, loose, short = (catalog.preset(name) for name in ("kinder-reviews", "no-leash", "short-leash"))
    assert (loose.kl.coef, kinder.kl.coef, short.kl.coef) == (0.0, 0.25, 5.0)
    assert loose.rewards == kinder.rewards == short.rewards
    assert loose.ppo == kinder.ppo == short.ppo


def test_the_default_model_prompts_and_preset_are_on_offer() -> None:
    assert catalog.DEFAULT_PRESET in catalog.preset_names()
    assert config_with().model.source in [item.name for item in catalog.MODELS]
    assert config_with().prompts.source in [item.name for item in catalog.PROMPT_SETS]
    assert [item.name for item in catalog.REWARDS] == list(REWARD_CLASSES)


def test_a_preset_is_found_by_name_or_path(tmp_path: Path) -> None:
    assert catalog.preset_path("yes-man") == catalog.PRESETS / "yes-man.yaml"
    mine = tmp_path / "mine.yaml"
    mine.touch()
    assert catalog.preset_path(str(mine)) == mine


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("yesman", "There is no preset `yesman`. Did you mean `yes-man`?"),
        ("zzz", "There is no preset `zzz`. There are: kinder-reviews, no-leash, short-leash"),
        ("../presets/yes-man", "There is no preset `../presets/yes-man`."),
        ("none.yaml", "There is no preset `none.yaml`."),
        ("x" * 5000, f"There is no preset `{'x' * 80}`."),
    ],
)
def test_an_unknown_preset_is_refused_with_a_suggestion(name: str, message: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        catalog.preset_path(name)
    assert [problem.field for problem in caught.value.problems] == ["preset"]
    assert message in str(caught.value)


def test_a_local_model_folder_is_used_as_it_is(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "mine")
    assert catalog.model_folder(str(folder)) == folder
    checks.check(config_with(model={"source": str(folder)}))


def test_an_adapter_folder_is_a_model_if_its_base_is_here(tmp_path: Path) -> None:
    base, adapter = model_folder(tmp_path / "base"), tmp_path / "adapter"
    adapter.mkdir()
    write_json(adapter / "adapter_config.json", {"base_model_name_or_path": str(base), "peft_type": "LORA"})
    with pytest.raises(ModelNotFound, match=r"has no adapter_model\.safetensors"):
        catalog.model_folder(str(adapter))
    (adapter / "adapter_model.safetensors").write_bytes(safetensors({"lora_A": [8, 4]}))
    assert catalog.model_folder(str(adapter)) == adapter
    assert catalog.files(adapter).architecture.hidden_size == 8
    (base / "config.json").unlink()
    with pytest.raises(ModelNotFound, match=r"belongs to another model.*it has no config\.json"):
        catalog.model_folder(str(adapter))


def test_a_model_of_the_hub_is_found_in_its_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    folder = model_folder(hub_cache(tmp_path, "someone/tiny"))
    assert catalog.model_folder("someone/tiny") == folder
    checks.check(config_with(model={"source": "someone/tiny"}))


def test_a_model_that_must_be_downloaded_is_refused_only_where_that_is_forbidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    config = config_with(
        model={"source": "gpt2"}, reference={"source": "someone/other"},
        rewards=[{"kind": "model", "source": "someone/scorer"}],
    )  # fmt: skip
    with pytest.raises(InvalidConfig, match="HF_HUB_OFFLINE forbids to download it") as caught:
        checks.check(config)
    assert [problem.field for problem in caught.value.problems] == [
        "model.source", "reference.source", "rewards.0.source",
    ]  # fmt: skip
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.delenv("TRANSFORMERS_OFFLINE")
    checks.check(config)


def test_what_a_run_needs_and_is_not_here_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    asked: list[tuple[str, str | None, str]] = []

    def snapshot(source: str, revision: str | None, progress: object, use: str) -> None:
        asked.append((source, revision, use))
        model_folder(hub_cache(tmp_path, source, revision=revision or "main"))

    monkeypatch.setattr(catalog.hub, "snapshot", snapshot)
    config = config_with(
        model={"source": "someone/tiny", "revision": "v1"}, judges=[{"kind": "model", "source": "someone/judge"}]
    )
    checks.fetch(checks.needs(config))
    checks.fetch(checks.needs(config))
    checks.fetch(checks.needs(config_with()))
    assert asked == [("someone/tiny", "v1", "policy"), ("someone/judge", None, "reward")]


def test_the_presets_of_suggested_models_are_complete_and_named_by_their_model() -> None:
    assert catalog.model_preset_names() == [model.preset for model in catalog.CURATED]
    assert set(catalog.model_preset_names()).isdisjoint(catalog.preset_names())
    for model in catalog.CURATED:
        config = catalog.preset(model.preset)
        assert (config.name, config.model.source) == (model.preset, model.name)
        assert config.about.title and config.about.story and config.about.expect
        assert (config.prompts.template == "chat") == model.chat_template
        assert checks.prompts_problem(config.prompts) is None
        assert len(set(config.prompts.typed)) >= 2 * config.evaluation.num_prompts  # so that some are held out
        assert (config.model.adapter.kind == "lora") == (model.architecture.parameters > 130_000_000)


@pytest.mark.parametrize("source", ["poket-2m", "no/such/folder", "~nobody-of-that-name/x", "x" * 300, "a\0b"])
def test_an_unknown_model_is_refused_in_words(source: str) -> None:
    with pytest.raises(ModelNotFound, match="There is no model"):
        catalog.model_folder(source)


def test_a_near_miss_of_a_model_gets_a_suggestion() -> None:
    with pytest.raises(ModelNotFound, match="Did you mean `pocket-2m`"):
        catalog.model_folder("poket-2m")


def test_check_lists_model_and_prompts_together() -> None:
    config = config_with(model={"source": "poket-2m"}, prompts={"source": "pocket/review"})
    with pytest.raises(InvalidConfig) as caught:
        checks.check(config)
    assert [problem.field for problem in caught.value.problems] == ["model.source", "prompts.source"]
    assert "Did you mean `pocket/reviews`?" in caught.value.problems[1].message


@pytest.mark.parametrize("source", ["none.txt", "x" * 290 + ".csv", "~nobody-of-that-name/x.jsonl"])
def test_a_prompt_file_must_exist(source: str) -> None:
    with pytest.raises(InvalidConfig, match="There is no file"):
        checks.check(config_with(prompts={"source": source}))


def test_a_prompt_file_that_exists_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    checks.check(config_with(prompts={"source": str(tmp_path / "mine.txt")}))


def test_files_that_a_configuration_names_get_whole_paths_and_names_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.txt").write_text("a\nb\n")
    config = yaml_io.from_dict({"rewards": [{"kind": "length"}], "prompts": {"source": "mine.txt"}})
    assert checks.located(config).prompts.source == str(tmp_path / "mine.txt")
    assert checks.located(config).model == config.model
    (tmp_path / "pocket-2m").mkdir()
    (tmp_path / "pocket").mkdir()
    shipped = yaml_io.from_dict({"rewards": [{"kind": "length"}]})
    assert checks.located(shipped) == shipped


@pytest.mark.parametrize("typed", [[], ["one"], ["one", " one "], ["one", "  "]])
def test_too_few_typed_prompts_are_said_beside_their_field(typed):
    config = yaml_io.from_dict({"rewards": [{"kind": "length"}], "prompts": {"source": "typed", "typed": typed}})
    with pytest.raises(InvalidConfig) as caught:
        checks.check(config)
    assert [problem.field for problem in caught.value.problems] == ["prompts.typed"]


def trained(outputs: Path, name: str, trained_at: float = 1.0) -> Path:
    folder = model_files_in(outputs / "reward-models" / name)
    card = {"trained_at": trained_at, "accuracy": 0.93, "base": "pocket-1m", "pairs": {"kept": 800, "source": "kind"}}
    (folder / "reward.json").write_text(json.dumps(card), encoding="utf-8")
    return folder


def model_files_in(folder: Path) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    return model_folder(folder)


def test_reward_models_trained_here_are_offered_the_newest_first(tmp_path: Path) -> None:
    trained(tmp_path, "old", 1.0)
    trained(tmp_path, "new", 2.0)
    model_files_in(tmp_path / "reward-models" / "unfinished")
    damaged = trained(tmp_path, "damaged")
    (damaged / "reward.json").write_text("{", encoding="utf-8")
    ships = catalog.reward_models(None)
    offered = catalog.reward_models(tmp_path)
    assert [choice.name for choice in offered] == ["new", "old", *(choice.name for choice in ships)]
    assert offered[0].help == "Trained here on 800 pairs (kind) from pocket-1m. Right on 93% of held-out pairs."
    assert catalog.reward_models(tmp_path / "none") == ships


def test_a_reward_model_is_found_by_name_and_by_folder(tmp_path: Path) -> None:
    folder = trained(tmp_path, "kindness")
    other = model_folder(tmp_path / "elsewhere")
    assert catalog.reward_model_folder("kindness", None, tmp_path) == folder
    assert catalog.reward_model_folder(str(other), None, tmp_path) == other


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("kindnes", "There is no reward model `kindnes`. Did you mean `kindness`?"),
        ("unfinished", "The reward model `unfinished` is not complete"),
        ("../kindness", "There is no reward model `../kindness`"),
        ("x" * 300, "There is no reward model"),
    ],
)
def test_a_learned_reward_that_is_nowhere_is_refused_by_its_field(tmp_path: Path, source: str, message: str) -> None:
    trained(tmp_path, "kindness")
    model_files_in(tmp_path / "reward-models" / "unfinished")
    bad = {"kind": "model", "source": source}
    config = config_with(rewards=[{"kind": "length"}, bad], judges=[bad])
    with pytest.raises(InvalidConfig) as caught:
        checks.check(config, tmp_path)
    assert [problem.field for problem in caught.value.problems] == ["rewards.1.source", "judges.0.source"]
    assert message in str(caught.value)


def test_where_nothing_was_trained_yet_the_refusal_names_what_ships_and_says_how(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match=r"There are: .*pocket-agreeable.*`reward-train`"):
        checks.check(config_with(rewards=[{"kind": "model", "source": "kindness"}]), tmp_path)


def test_a_reward_model_that_ships_passes_without_an_outputs_folder_and_its_name_is_taken() -> None:
    config = config_with(rewards=[{"kind": "model", "source": "pocket-agreeable"}])
    checks.check(config)
    assert checks.located(config).rewards == config.rewards
    with pytest.raises(InvalidConfig, match="name: `pocket-agreeable` ships with the playground"):
        checks.check_reward_training(RewardTrainingConfig(name="pocket-agreeable"))


def test_learned_rewards_from_here_a_folder_or_the_hub_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained(tmp_path, "kindness")
    other = model_folder(tmp_path / "elsewhere")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    model_folder(hub_cache(tmp_path / "cache", "someone/scorer"), model_type="deberta-v2")
    sources = ["kindness", str(other), "someone/scorer"]
    checks.check(config_with(rewards=[{"kind": "model", "source": source} for source in sources]), tmp_path)
