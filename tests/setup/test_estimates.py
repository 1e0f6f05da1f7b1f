"""What a run needs: the formula by hand, the verdict, the advice, the time of past runs, what fits a chosen model."""

from dataclasses import replace

import pytest

from playground.config import yaml_io
from playground.models.architectures import SEVEN_BILLION, Architecture
from playground.setup import catalog, devices, estimates
from playground.setup.devices import Device
from playground.setup.estimates import fitting, memory, timing
from tests.model_folders import model_folder
from tests.support import data_beside, small_config

# hidden size 8, two layers, four heads of size 2, keys and values of two of them, feed-forward 16, vocabulary 32
SMALL = Architecture("llama", 8, 2, 4, 2, 2, 16, 32, 64, True, 2000)
SIZES = {"batch_size": 6, "minibatch_size": 6, "micro_batch_size": 3}
PROMPT = 5
TABLES = data_beside(__file__, "estimates.yaml")


def cpu(gigabytes):
    return Device("cpu", "Processor", int(gigabytes * 1e9), int(gigabytes * 1e9))


@pytest.mark.parametrize(("changes", "device", "expected"), TABLES["held"])
def test_what_is_held_all_the_time_by_hand(changes, device, expected):
    config = small_config(**changes)
    scorers = [memory.RewardShape(reward, SMALL) for reward in config.rewards if reward.kind == "model"]
    sizes = memory.Memory(config, SMALL, scorers, PROMPT, device, config.ranks).lasting()
    held = {role: [sizes[role, kind] for kind in memory.TRAINED_BYTES] for role, _ in sizes}
    assert {role: parts for role, parts in held.items() if any(parts)} == expected


@pytest.mark.parametrize(("kind", "trained"), [("none", 2000), ("lora", 2 * 2 * 128)])
def test_late_texts_are_written_with_copies_of_all_that_is_trained(kind, trained):
    config = small_config(ppo={"staleness": 3}, model={"adapter": {"kind": kind, "r": 2}})
    sizes = memory.Memory(config, SMALL, [], PROMPT, "cuda").lasting()
    copies = 3 + 1  # of the last three updates, and of now while an older policy writes
    assert sizes["policy", memory.EARLIER] == copies * 4 * trained
    assert sizes["value", memory.EARLIER] == copies * 4 * SMALL.hidden_size


def test_seven_billion_weights_divided_in_full_are_on_eight_cards_of_80_gb_and_otherwise_are_not():
    def needs(shard):
        config = small_config(ranks=8, shard=shard, ppo=dict.fromkeys(SIZES, 8))
        return memory.Memory(estimates.share_of(config, 8), SEVEN_BILLION, [], PROMPT, "cuda", 8).needs().total

    a_weight = (16 + 4) / 8 + 4 + 4  # an eighth of Adam's 16 bytes and of the reference, and both models gathered
    assert needs("full") == pytest.approx(a_weight * SEVEN_BILLION.parameters, rel=0.05)
    assert needs("full") < 80e9 < needs("optimizer") < needs("none")


def test_layers_that_are_computed_again_keep_their_inputs_and_one_layer_its_inside():
    plain, again = (small_config(model={"gradient_checkpointing": on}) for on in (False, True))
    layer = memory.graph(plain, SMALL, 10, each=4) // 2
    assert memory.graph(again, SMALL, 10, each=4) == layer + 2 * 10 * 8 * 4


@pytest.mark.parametrize(("share", "verdict"), [(0.79, "fits"), (0.81, "tight"), (1, "tight"), (1.01, "does not fit")])
def test_the_verdict_leaves_room_for_an_error_of_a_quarter(share, verdict):
    config = catalog.preset("kinder-reviews")
    total = estimates.estimate(config, device=cpu(8)).total_gb
    assert estimates.estimate(config, device=cpu(8), room=total * 1e9 / share).verdict == verdict


@pytest.mark.parametrize(("sizes", "gigabytes", "words"), TABLES["advice"])
def test_the_advice_is_the_mildest_change_that_is_enough(sizes, gigabytes, words):
    data = catalog.preset("gpt2").model_dump(mode="json")
    data["ppo"] |= dict.fromkeys(SIZES, sizes) if sizes else {}
    estimate = estimates.estimate(yaml_io.from_dict(data), device=cpu(gigabytes))
    assert estimate.verdict != "fits"
    assert words in estimate.advice
    if gigabytes > 1:
        assert estimates.estimate(yaml_io.from_dict(estimate.better), device=cpu(gigabytes)).verdict == "fits"


def test_every_change_that_is_advised_is_a_valid_configuration_and_there_is_always_something_to_do():
    rewards = [{"kind": "model", "source": "a/b"}]
    for name in ("gpt2", "qwen3-0.6b", "kinder-reviews"):
        config = yaml_io.from_dict({**catalog.preset(name).model_dump(mode="json"), "rewards": rewards})
        changes = [changed for _, changed in memory.changes(config)]
        assert len(changes) > 3
        assert config not in changes
        assert [yaml_io.from_dict(changed.model_dump(mode="json")) for changed in changes] == changes
    assert estimates.remedy(catalog.preset("gpt2"))[1] is not None
    assert "smaller model" in estimates.remedy(small_config(model={"source": "someone/unknown"}))[0]


def test_what_if_7b_is_the_formula_for_the_shape_of_llama_2():
    linear, embedding, norms = SEVEN_BILLION.linear_parameters, SEVEN_BILLION.embedding_parameters, 65 * 4096
    assert SEVEN_BILLION.parameters == linear + 2 * embedding + norms
    larger = estimates.estimate(small_config(model={"precision": "fp32"}), device=cpu(8)).larger
    policy, reference = (larger.roles_gb[role] * 1e9 for role in ("policy", "reference"))
    assert policy > 16 * SEVEN_BILLION.parameters < 4 * reference * 1.01


POCKET = {"model": {"source": "pocket-2m"}, "device": "cpu"}


def timed(update, run, **changes):
    return timing.Finished(small_config(**POCKET | changes), update, run)


OTHER = [
    timed(50.0, 900.0, engine="trl"),
    timed(5.0, 90.0, method="sft"),
    timed(50.0, 900.0, model={"source": "pocket-1m"}),
    timed(50.0, 900.0, model={"source": "pocket-2m", "adapter": {"kind": "lora"}}),
]


def test_the_time_is_that_of_the_newest_run_of_this_kind():
    estimate = estimates.estimate(small_config(**POCKET), finished=[*OTHER, timed(4.0, 180.0), timed(9.0, 9.0)])
    assert estimate.seconds_per_update == pytest.approx((4 * timing.FASTEST, 4 * timing.SLOWEST))
    assert estimate.seconds == pytest.approx((180 * timing.FASTEST, 180 * timing.SLOWEST))
    unknown = estimates.estimate(small_config(**POCKET), finished=OTHER)
    assert (unknown.seconds, unknown.seconds_per_update) == (None, None)
    assert unknown.as_last_runs is False


def test_the_time_is_scaled_by_the_tokens_that_go_through_the_model():
    ppo = {"num_updates": 10, "batch_size": 16, "num_epochs": 2}
    config = small_config(ppo=ppo, sampling={"max_new_tokens": 4}, evaluation={"num_prompts": 3, "every": 5})
    update = 16 * (4 + 9 + 2 * 3 * 9)  # written, read by the reference, learned from twice
    for is_small, samples in ((True, 256), (False, 64)):
        assert timing.work(config, PROMPT, is_small) == (update, 10 * update + (4 * 3 + samples) * (4 + 9))
    double = config.model_copy(update={"ppo": config.ppo.model_copy(update={"batch_size": 32})})
    update_seconds, _ = timing.seconds(double, [timing.Finished(config, 3.0, None)], lambda _: PROMPT, is_small=True)
    assert update_seconds == pytest.approx((6 * timing.FASTEST, 6 * timing.SLOWEST))


LARGE = replace(SMALL, parameters=20_000_000)  # the same shape, and no longer small
ONE_TEXT = (PROMPT + 4) * 2 * 2 * 2 * 2 * 4 + PROMPT * 4 * (5 * 8 + 3 * 16)  # keys and values; a layer of the prompt


@pytest.mark.parametrize(("batch", "micro", "prompts", "expected"), TABLES["written_at_once"])
def test_as_many_texts_of_the_reference_are_written_at_once_as_fit_beside_an_update(batch, micro, prompts, expected):
    sizes = {"batch_size": batch, "minibatch_size": batch, "micro_batch_size": micro}
    further = {"sampling": {"max_new_tokens": 4}, "evaluation": {"num_prompts": prompts}}
    config = small_config(ppo=sizes, model={"precision": "fp32"}, **further)
    process = memory.Memory(config, LARGE, [], PROMPT, "cpu")
    rows = process.reference_rows()
    update = [sizes.total() for sizes in process.moments_of_update().values()]
    assert process.sampling(rows).total() == rows * ONE_TEXT <= max(update)
    assert replace(process, policy=SMALL).reference_rows() == 256
    if expected:
        assert rows == expected
    else:
        assert rows >= prompts
        assert (rows + 1) * ONE_TEXT > max(update)


def test_processes_on_one_processor_need_its_memory_several_times_and_on_gpus_each_has_its_own(monkeypatch):
    gpus = [Device(f"cuda:{number}", "NVIDIA A100", 80 * 10**9, (40 - number) * 10**9) for number in range(2)]
    monkeypatch.setattr(estimates.devices, "available", lambda: [*gpus, cpu(32)])

    def estimate(device, ranks=1):
        preset = catalog.preset(catalog.DEFAULT_PRESET)
        return estimates.estimate(preset.model_copy(update={"device": device, "ranks": ranks}))

    one, two, both = estimate("cpu"), estimate("cpu", 2), estimate("all")
    assert (one.places, two.places) == (["cpu"], ["cpu", "cpu"])
    of_one_process = sum(role.total_gb for role in two.roles) + two.libraries_gb
    assert two.total_gb == pytest.approx(2 * of_one_process)
    assert two.total_gb > 1.5 * one.total_gb
    assert (both.device.name, both.places) == ("cuda:1", ["cuda:0", "cuda:1"])  # the one with less room counts
    assert both.total_gb <= estimate("cuda:1").total_gb


@pytest.fixture(autouse=True)
def roomy(monkeypatch):
    monkeypatch.setattr(devices, "available", lambda: [cpu(64)])


def with_model(preset, source, **changes):
    base = catalog.preset(preset).model_dump(mode="json")
    return yaml_io.from_dict({**base, **changes, "model": {**base["model"], "source": source}})


def test_a_suggested_model_gets_the_settings_of_its_preset():
    own = catalog.preset("smollm2-135m-instruct")
    base = with_model("kinder-reviews", own.model.source)
    fit = fitting.fit(base)
    assert (fit.like, fit.own, fit.preset) == ("SmolLM2 135M Instruct", True, own.name)
    for part in ("model", "prompts", "rewards", "sampling"):
        assert getattr(fit.config, part) == getattr(own, part), part
    for name in ("batch_size", "minibatch_size", "micro_batch_size", "learning_rate", "num_epochs"):
        assert getattr(fit.config.ppo, name) == getattr(own.ppo, name), name
    assert fit.config.evaluation.num_prompts == 16
    assert fit.config.kl == base.kl  # the KL penalty is the point of the person, not the model's
    assert fitting.fit(fit.config).config == fit.config


@pytest.mark.parametrize(("template", "like", "small"), TABLES["like"])
def test_any_other_model_gets_those_of_the_one_most_like_it(tmp_path, monkeypatch, template, like, small):
    monkeypatch.setattr(fitting, "SMALL_MODEL", small)
    folder = model_folder(tmp_path / "mine")
    if template:
        (folder / "chat_template.jinja").write_text("{{ messages[0]['content'] }}")
    fit = fitting.fit(with_model("kinder-reviews", str(folder)))
    assert (fit.like, fit.own) == (like, False)
    assert fit.config.prompts.template == ("chat" if template else "plain")
    assert fit.config.model.source == str(folder)
    if small:  # what moves it, and prompts for which it may well have been made
        usual = catalog.preset("kinder-reviews")
        assert fit.config.ppo.learning_rate == usual.ppo.learning_rate >= 1e-4
        assert (fit.config.prompts.source, fit.config.rewards) == (usual.prompts.source, usual.rewards)


def test_prompts_and_rewards_that_a_person_has_brought_stay():
    mine = {"source": "typed", "typed": ["One of mine", "Another"]}
    rewards = [{"kind": "expression", "expression": "words(completion)"}]
    config = fitting.fit(with_model("kinder-reviews", "openai-community/gpt2", prompts=mine, rewards=rewards)).config
    assert (config.prompts.typed, config.prompts.template) == (("One of mine", "Another"), "plain")
    assert config.rewards[0].kind == "expression"
    config = fitting.fit(with_model("kinder-reviews", "Qwen/Qwen3-0.6B", prompts=mine, rewards=rewards)).config
    assert config.prompts.template_options == {"enable_thinking": False}
    config = fitting.fit(with_model("kinder-reviews", "openai-community/gpt2", rewards=rewards, judges=rewards)).config
    assert (config.prompts.source, config.rewards[0].kind, len(config.judges)) == ("typed", "expression", 1)
    claims = catalog.preset("chat-claims")
    config = fitting.fit(with_model("chat-claims", "TinyLlama/TinyLlama-1.1B-Chat-v1.0")).config
    assert (config.prompts, config.rewards) == (claims.prompts, claims.rewards)


def test_a_method_keeps_the_batch_that_it_needs():
    base = with_model("without-critic", "openai-community/gpt2")  # eight for each prompt
    config = fitting.fit(base).config
    assert (config.method, config.ppo.batch_size % config.ppo.samples_per_prompt) == ("rloo", 0)
    sizes = {"batch_size": 48, "minibatch_size": 48, "micro_batch_size": 48, "samples_per_prompt": 6}
    odd = with_model("without-critic", "openai-community/gpt2", ppo=base.ppo.model_dump() | sizes)
    assert fitting.fit(odd).config.ppo.batch_size == 48  # 16 is no multiple of 6
