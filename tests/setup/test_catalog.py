"""What can be picked: presets load and can be run, unknown names get a suggestion, model folders are looked into."""

import json
import re
import shutil

import pytest

from playground.config import ModelReward, RewardTrainingConfig, differences, yaml_io
from playground.errors import InvalidConfig, ModelNotFound
from playground.models import real_model
from playground.setup import catalog, checks, expected
from tests.model_folders import hub_cache, model_folder, safetensors, write_json
from tests.support import data_beside, fields_of, small_config

NAMES, TABLES = catalog.every_preset_name(), data_beside(__file__, "tables.yaml")


def test_the_story_is_told_in_order_and_each_step_is_against_an_earlier_one():
    story, groups = catalog.in_story(), catalog.preset_groups()
    names = [step.preset for step in story]
    assert names == catalog.preset_names()[: len(names)]
    assert names == [*groups[catalog.INCLUDED], *groups[catalog.REAL_GROUP]], "what needs a real model comes last"
    assert [step.number for step in story] == list(range(1, len(story) + 1))
    assert (story[0].preset, story[0].against) == (catalog.DEFAULT_PRESET, "")
    assert len(story) > 20
    assert [step.preset for place, step in enumerate(story) if place and step.against not in names[:place]] == []
    assert [step.preset for step in story if not step.look.endswith(".")] == []
    assert [name for name in groups[catalog.INCLUDED] if not expected.bands(name)] == []


def test_what_a_preset_teaches_and_what_to_look_for_are_short_enough_for_the_first_screen():
    look = {name: catalog.stories()[name].look for name in NAMES}
    teaches = {name: catalog.preset(name).about.story for name in NAMES}
    assert [name for name in NAMES if len(teaches[name].split()) > 12] == []
    assert [name for name in NAMES if len(look[name].split()) > 20] == []
    unit = re.compile(r"\b(nats?|sd|standard deviations?)\b")
    assert [name for name in NAMES if unit.search(f"{teaches[name]} {look[name]}")] == []


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """With the real model beside it, and the reward models that a person trains first."""
    folder = tmp_path_factory.mktemp("outputs")
    model_folder(folder / "models" / real_model.NAME)
    scorers = [spec for name in NAMES for _, spec in catalog.preset(name).scorers if isinstance(spec, ModelReward)]
    own = {path.stem for path in catalog.JUDGES.glob("*.yaml")}
    for source in {spec.source for spec in scorers if spec.source.startswith("real-") or spec.source in own}:
        shutil.copytree(catalog.shipped_reward_models()["pocket-honest"], folder / catalog.REWARD_MODELS / source)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_every_preset_is_complete_and_found_by_its_title_which_no_other_has(name, outputs, monkeypatch):
    config = catalog.preset(name)
    monkeypatch.setenv(real_model.FOLDER_VARIABLE, str(outputs / "models"))
    if not catalog.is_hub_id(config.model.source):  # one that needs the hub is checked by a dry run of its own
        checks.check(config, outputs)
    assert config.name == name
    assert config.about.title
    assert config.about.story
    assert config.about.expect
    assert config.preset == name
    assert catalog.preset_of(config.model_copy(update={"preset": ""})) == config
    assert "\nstory" not in config.to_yaml()


def test_a_reward_model_that_a_preset_wants_is_trained_as_the_refusal_says_on_other_dialogues(tmp_path):
    config = catalog.preset("hh-exercise")
    with pytest.raises(InvalidConfig, match=r"reward-train presets/judges/hh-judge\.yaml") as caught:
        checks.check(config, tmp_path)
    assert {problem.field for problem in caught.value.problems} >= {"rewards.0.source"}
    judge = yaml_io.validated(yaml_io.read_yaml(catalog.JUDGES / "hh-judge.yaml"), RewardTrainingConfig)
    assert judge.name == config.rewards[0].source
    assert (judge.pairs.source, judge.pairs.subset) == (config.prompts.source, config.prompts.subset)
    end, start = judge.pairs.share.split("-")[1], config.prompts.share.split("-")[0]
    assert int(end) <= int(start), "no dialogue is in both"


RATES = {"Learning rate as measured": 1.0, "Half of the measured": 0.5, "A tenth of the measured": 0.1}
MEASURED_BY = {"chat-claims": "real-honest"}  # the others by real-short-answers


def test_each_suggested_model_has_a_preset_with_its_template_and_prompts_of_which_some_are_held_out():
    for model in catalog.CURATED:
        config = catalog.preset(model.preset)
        assert config.model.source == model.name
        assert (config.prompts.template == "chat") == model.chat_template
        assert len(set(config.prompts.typed)) >= 2 * config.evaluation.num_prompts
        assert (config.model.adapter.kind == "lora") == (model.architecture.parameters > 130_000_000)


@pytest.mark.parametrize("name", ["chat-claims", *(model.preset for model in catalog.CURATED)])
def test_each_suggested_model_says_where_its_settings_are_from_and_has_these(name):
    story, config, line = catalog.stories()[name], catalog.preset(name), expected.settings_line(name)
    measured = catalog.preset(MEASURED_BY.get(name, "real-short-answers"))
    assert story.measured_by == measured.name
    assert measured.about.title in line
    differing = {*differences(config, measured)}
    if name == real_model.NAME:  # the same model, as the hub has it
        assert differing <= {"name", "model.source"}
        assert "Measured on this model" in line
        return
    (factor,) = [factor for words, factor in RATES.items() if story.derived.startswith(words)]
    assert "not tried on this model" in line
    assert line.endswith("batch, epochs and leash as measured.")
    assert (factor == 0.1) == (config.model.adapter.kind == "none")
    assert config.ppo.learning_rate == pytest.approx(factor * measured.ppo.learning_rate)
    assert config.ppo.micro_batch_size <= measured.ppo.micro_batch_size
    assert not {"ppo.batch_size", "ppo.minibatch_size", "ppo.num_epochs", "kl.coef"} & differing
    assert config.model.adapter == measured.model.adapter or config.model.adapter.kind == "none"
    assert "sampling.temperature" not in differing or config.prompts.template != "chat"


@pytest.mark.parametrize(
    ("name", "words"), [*TABLES["no_preset"], ("x" * 5000, f"preset: There is no preset `{'x' * 80}`")]
)
def test_what_is_no_preset_is_refused_as_a_name_or_as_a_path(name, words, tmp_path):
    (tmp_path / "mine.txt").touch()
    path = tmp_path / name
    with pytest.raises(InvalidConfig, match=words.format(path)):
        catalog.preset_path(str(path) if "{}" in words else name)
    for unknown in ({"preset": name[:80]}, {"about": {"title": name[:80]}}):
        assert catalog.preset_of(small_config(**unknown)) is None


def test_an_adapter_folder_is_a_model_if_its_base_is_here(tmp_path):
    base, adapter = model_folder(tmp_path / "base"), tmp_path / "adapter"
    adapter.mkdir()
    write_json(adapter / "adapter_config.json", {"base_model_name_or_path": str(base), "peft_type": "LORA"})
    with pytest.raises(ModelNotFound, match=r"has no adapter_model\.safetensors"):
        catalog.model_folder(str(adapter))
    (adapter / "adapter_model.safetensors").write_bytes(safetensors({"lora_A": [8, 4]}))
    assert (catalog.model_folder(str(adapter)), catalog.files(adapter).architecture.hidden_size) == (adapter, 8)
    (base / "config.json").unlink()
    with pytest.raises(ModelNotFound, match=r"needs its base model.*it has no config\.json"):
        catalog.model_folder(str(adapter))


def test_a_model_that_must_be_downloaded_is_refused_only_where_that_is_forbidden(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    there = model_folder(hub_cache(tmp_path, "someone/tiny"))
    assert catalog.model_folder("someone/tiny") == there
    checks.check(small_config(model={"source": "someone/tiny"}))
    scorer = [{"kind": "model", "source": "someone/scorer"}]
    config = small_config(model={"source": "gpt2"}, reference={"source": "someone/other"}, rewards=scorer)
    assert fields_of(checks.check, config) == ["model.source", "reference.source", "rewards.0.source"]
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.delenv("TRANSFORMERS_OFFLINE")
    checks.check(config)


def test_what_a_run_needs_and_is_not_here_is_fetched(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    asked = []

    def snapshot(source, revision, progress, use):
        asked.append((source, revision, use))
        model_folder(hub_cache(tmp_path, source, revision=revision or "main"))

    monkeypatch.setattr(catalog.hub, "snapshot", snapshot)
    judges = [{"kind": "model", "source": "someone/judge"}]
    config = small_config(model={"source": "someone/tiny", "revision": "v1"}, judges=judges)
    checks.fetch(checks.needs(config))
    checks.fetch(checks.needs(config))
    checks.fetch(checks.needs(small_config()))
    assert asked == [("someone/tiny", "v1", "policy"), ("someone/judge", None, "reward")]


@pytest.mark.parametrize(("source", "words"), TABLES["unknown_models"])
def test_an_unknown_model_is_refused_in_words(source, words):
    with pytest.raises(ModelNotFound, match=words):
        catalog.model_folder(source)


def test_a_prompt_file_must_exist(tmp_path):
    assert fields_of(checks.check, small_config(prompts={"source": "x" * 290 + ".csv"})) == ["prompts.source"]
    mine = tmp_path / "mine.txt"
    mine.touch()
    config = small_config(prompts={"source": str(mine)})
    assert fields_of(checks.check, config) == ["prompts.source"]  # it is empty
    mine.write_text("a\nb\n")
    checks.check(config)


def test_files_that_a_configuration_names_get_whole_paths_and_names_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.txt").write_text("a\nb\n")
    config = small_config(prompts={"source": "mine.txt"}, evaluation={"prompts": "mine.txt"})
    assert checks.located(config).prompts.source == str(tmp_path / "mine.txt")
    assert checks.located(config).evaluation.prompts == str(tmp_path / "mine.txt")
    for absent in ("none.jsonl", "pocket/reviews"):
        assert fields_of(checks.check, small_config(evaluation={"prompts": absent})) == ["evaluation.prompts"]
    assert checks.without_folders(checks.located(config)) == config
    training = checks.located_training(RewardTrainingConfig(pairs={"source": "mine.txt"}, base="../" + tmp_path.name))
    assert (training.pairs.source, training.base) == (str(tmp_path / "mine.txt"), str(tmp_path))
    for name in ("pocket-2m", "pocket", RewardTrainingConfig().pairs.source, RewardTrainingConfig().base):
        (tmp_path / name).mkdir(exist_ok=True)
    assert checks.located_training(RewardTrainingConfig()) == RewardTrainingConfig()
    shipped = small_config(rewards=[{"kind": "model", "source": "pocket-agreeable"}])
    assert checks.located(shipped) == shipped


def trained(outputs, name, trained_at=1.0):
    folder = model_folder(outputs / "reward-models" / name)
    card = {"trained_at": trained_at, "accuracy": 0.93, "base": "pocket-1m", "pairs": {"kept": 800, "source": "kind"}}
    (folder / "reward.json").write_text(json.dumps(card), encoding="utf-8")
    return folder


def test_reward_models_trained_here_are_offered_the_newest_first(tmp_path):
    trained(tmp_path, "old", 1.0)
    trained(tmp_path, "new", 2.0)
    model_folder(tmp_path / "reward-models" / "unfinished")
    (trained(tmp_path, "damaged") / "reward.json").write_text("{", encoding="utf-8")
    ships = catalog.reward_models(None)
    offered = catalog.reward_models(tmp_path)
    assert [choice.name for choice in offered] == ["new", "old", *(choice.name for choice in ships)]
    assert all(fact in offered[0].help for fact in ("800 pairs (kind)", "pocket-1m", "93%"))
    assert catalog.reward_models(tmp_path / "none") == ships


@pytest.mark.parametrize(("source", "words"), TABLES["nowhere"])
def test_a_learned_reward_that_is_nowhere_is_refused_by_its_field(tmp_path, source, words):
    trained(tmp_path, "kindness")
    model_folder(tmp_path / "reward-models" / "unfinished")
    bad = {"kind": "model", "source": source}
    config = small_config(rewards=[{"kind": "length"}, bad], judges=[bad])
    assert fields_of(checks.check, config, tmp_path) == ["rewards.1.source", "judges.0.source"]
    with pytest.raises(ModelNotFound, match=words):
        catalog.reward_model_folder(source, None, tmp_path)


def test_a_reward_model_that_ships_needs_no_outputs_folder_and_its_name_is_taken():
    checks.check(small_config(rewards=[{"kind": "model", "source": "pocket-agreeable"}]))
    with pytest.raises(InvalidConfig, match="name: `pocket-agreeable` is the name of an included"):
        checks.check_reward_training(RewardTrainingConfig(name="pocket-agreeable"))
