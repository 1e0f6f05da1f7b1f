"""What a run needs: the formula by hand, the verdict, the advice, and the time of what has run here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from playground.config import RunConfig, yaml_io
from playground.errors import InvalidConfig, ModelNotHere
from playground.models.architectures import SEVEN_BILLION, Architecture
from playground.setup import catalog, estimates
from playground.setup.devices import Device
from playground.setup.estimates import memory, timing

# hidden size 8, two layers, four heads of size 2, keys and values of two of them, feed-forward 16, vocabulary 32
SMALL = Architecture("llama", 8, 2, 4, 2, 2, 16, 32, 64, True, 2000)
SIZES = {"batch_size": 6, "minibatch_size": 6, "micro_batch_size": 3}
LORA = {"adapter": {"kind": "lora", "r": 2}}
PROMPT = 5


def config_with(**changes: Any) -> RunConfig:
    return yaml_io.from_dict({"rewards": [{"kind": "length"}], **changes})


def cpu(gigabytes: float) -> Device:
    return Device("cpu", "Processor", int(gigabytes * 1e9), int(gigabytes * 1e9))


WHOLE, HEAD = [8000, 8000, 16000], [32, 32, 64]  # bytes of weights, gradients and optimizer
# rank 2, two layers: q and o (8+8), k and v (8+4), gate, up and down (8+16) are 128 weights in each
LORA_WEIGHTS = 4 * 2 * 2 * 128
MATRICES = 2 * (8 * 8 + 2 * 8 * 4 + 8 * 8 + 3 * 8 * 16)
START = {"reference": [8000, 0, 0]}


def adapter(base: int, weights: int = LORA_WEIGHTS) -> dict[str, list[int]]:
    return {"policy": [base + weights, weights, 2 * weights], "value": HEAD}


@pytest.mark.parametrize(
    ("changes", "device", "expected"),
    [
        ({}, "cpu", {"policy": WHOLE, "value": HEAD, **START}),
        ({"model": LORA}, "cpu", adapter(8000)),
        ({"model": LORA}, "cuda", adapter(4000)),
        ({"model": {"adapter": {**LORA["adapter"], "target_modules": ["q_proj"]}}}, "cpu", adapter(8000, 4 * 2 * 32)),
        ({"model": {**LORA, "quantization": "int8"}}, "cpu", adapter(8000 - 3 * MATRICES)),
        ({"model": {"critic": "separate"}}, "cpu", {"policy": WHOLE, "value": WHOLE, **START}),
        ({"engine": "trl"}, "cpu", {"policy": WHOLE, "value": WHOLE, **START}),
        ({"method": "best_of_n"}, "cpu", {"policy": [8000, 0, 0], **START}),
        (
            {"rewards": [{"kind": "model", "source": "a/b", "precision": "bf16"}]},
            "cpu",
            {"policy": WHOLE, "value": HEAD, **START, "reward": [4000, 0, 0]},
        ),
    ],
)
def test_what_is_held_all_the_time_by_hand(changes: Any, device: str, expected: dict[str, list[int]]) -> None:
    config = config_with(**changes)
    scorers = [memory.RewardShape(reward, SMALL) for reward in config.rewards if reward.kind == "model"]
    sizes = memory.lasting(config, SMALL, scorers, device)
    found = {role: [sizes[role, kind] for kind in memory.TRAINED_BYTES] for role in memory.ROLES}
    assert {role: held for role, held in found.items() if any(held)} == expected


def moments(**changes: Any) -> dict[str, memory.Sizes]:
    settings = {"ppo": SIZES, "sampling": {"max_new_tokens": 4}, "evaluation": {"num_prompts": 1}, **changes}
    return memory.moments(config_with(**settings), SMALL, [], PROMPT, "cpu")


LAYER = 4 * (5 * 8 + 3 * 16)  # bytes that one layer makes of a token
KEPT = 2 * 4 * (9 * 8 + 4 * 16 + 2 * 2 * 2)  # what two layers keep of a token for the backward pass
CACHE = 2 * 2 * 2 * 2 * 4  # keys and values of two layers, two heads of size 2
LOGIT = 32 * 4


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("measuring the reference", {"KV cache": 256 * 9 * CACHE, "activations": 256 * 5 * LAYER}),
        ("sampling", {"KV cache": 6 * 9 * CACHE, "activations": 6 * 5 * LAYER}),
        ("comparing with the reference", {"logits": 5 * 3 * 4 * LOGIT, "activations": 3 * 9 * LAYER}),
        ("learning", {"logits": 5 * 3 * 4 * LOGIT, "activations": 3 * 9 * KEPT}),
    ],
)
def test_what_comes_and_goes_by_hand(moment: str, expected: dict[str, int]) -> None:
    assert {kind: size for (_, kind), size in moments()[moment].items() if size} == expected


def test_trl_keeps_the_logits_of_a_batch_and_puts_prompts_through_the_lm_head() -> None:
    found = moments(engine="trl")
    assert found["sampling"]["rollout", "logits"] == 3 * 6 * 4 * LOGIT
    assert found["comparing with the reference"]["reference", "logits"] == 6 * 9 * LOGIT
    assert found["learning"]["policy", "logits"] == 5 * 3 * 9 * LOGIT
    assert found["learning"]["value", "activations"] == found["learning"]["policy", "activations"] == 27 * KEPT


def test_an_update_adds_up_on_a_processor_and_its_largest_moment_counts_on_a_gpu() -> None:
    config = config_with(ppo={**SIZES, "batch_size": 384, "minibatch_size": 384}, model=LORA)
    for device in ("cpu", "mps"):
        _, *update = memory.moments(config, SMALL, [], PROMPT, device).values()
        sizes = [moment.total() for moment in update]
        held = memory.lasting(config, SMALL, [], device).total()
        found = memory.needs(config, SMALL, [], PROMPT, device)
        assert found.total - found.libraries == held + (sum(sizes) if device == "cpu" else max(sizes))


@pytest.mark.parametrize(("share", "verdict"), [(0.79, "fits"), (0.81, "tight"), (1, "tight"), (1.01, "does not fit")])
def test_the_verdict_leaves_room_for_an_error_of_a_quarter(share: float, verdict: str) -> None:
    config = catalog.preset("kinder-reviews")
    total = estimates.estimate(config, device=cpu(8)).total
    assert estimates.estimate(config, device=cpu(8), room=total / share).verdict == verdict


@pytest.mark.parametrize(
    ("sizes", "gigabytes", "words"),
    [(128, 16, "micro_batch_size to "), (0, 3.2, "Train with LoRA"), (0, 0.5, "choose a smaller model")],
)
def test_the_advice_is_the_mildest_change_that_is_enough(sizes: int, gigabytes: float, words: str) -> None:
    data = catalog.preset("gpt2").model_dump(mode="json")
    data["ppo"] |= dict.fromkeys(SIZES, sizes) if sizes else {}
    found = estimates.estimate(yaml_io.from_dict(data), device=cpu(gigabytes))
    assert found.verdict != "fits" and words in found.advice
    if gigabytes > 1:
        assert found.better is not None and estimates.estimate(found.better, device=cpu(gigabytes)).verdict == "fits"


def test_every_change_is_a_valid_configuration() -> None:
    rewards = [{"kind": "model", "source": "a/b"}]
    for name in ("gpt2", "qwen3-0.6b", "kinder-reviews"):
        config = yaml_io.from_dict({**catalog.preset(name).model_dump(mode="json"), "rewards": rewards})
        found = list(memory.changes(config))
        assert len(found) > 3
        for _, changed in found:
            assert yaml_io.from_dict(changed.model_dump(mode="json")) == changed != config


def test_after_running_out_of_memory_there_is_always_something_to_do() -> None:
    assert estimates.remedy(catalog.preset("gpt2"))[1] is not None
    assert "smaller model" in estimates.remedy(config_with(model={"source": "someone/unknown"}))[0]


@pytest.mark.parametrize(
    ("prompts", "chat", "tokens"),
    [
        ({"source": "typed", "typed": ["x" * 35, "y"]}, False, 11),
        ({"source": "typed", "typed": ["x" * 35, "y"]}, True, 51),
        ({"source": "p.txt"}, False, 21),
        ({"source": "pocket/claims"}, False, 54),
        ({"source": "someone/data"}, False, 256),
    ],
)
def test_prompts_are_measured_by_their_characters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prompts: Any, chat: bool, tokens: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.txt").write_text("x\n" + "y" * 70, encoding="utf-8")
    found = estimates.Measures(SEVEN_BILLION, (), chat, None)
    assert estimates.longest_prompt(config_with(prompts=prompts), found) == tokens


def test_a_model_that_is_not_known_and_a_device_that_is_not_there_are_refused() -> None:
    with pytest.raises(ModelNotHere):
        estimates.estimate(config_with(model={"source": "someone/unknown"}))
    with pytest.raises(InvalidConfig, match=r"device: .*cuda:77"):
        estimates.estimate(config_with(device="cuda:77"))


def test_it_is_plain_data_for_a_program() -> None:
    found = json.loads(json.dumps(estimates.estimate(catalog.preset("kinder-reviews"), device=cpu(8)).to_json()))
    assert (found["verdict"], found["download"], found["advice"], found["seconds"]) == ("fits", None, "", None)
    assert found["total_gb"] == pytest.approx(sum(row["total_gb"] for row in found["roles"]) + found["libraries_gb"])


def test_what_if_7b_is_the_formula_for_the_shape_of_llama_2() -> None:
    linear, embedding, norms = SEVEN_BILLION.linear_parameters, SEVEN_BILLION.embedding_parameters, 65 * 4096
    assert SEVEN_BILLION.parameters == linear + 2 * embedding + norms
    larger = estimates.estimate(config_with(model={"precision": "fp32"}), device=cpu(8)).larger
    assert larger.of("policy") > 16 * SEVEN_BILLION.parameters < 4 * larger.of("reference") * 1.01


POCKET = {"model": {"source": "pocket-2m"}, "device": "cpu"}


def timed(update: float, run: float | None, **changes: Any) -> timing.Finished:
    return timing.Finished(config_with(**POCKET | changes), update, run)


OTHER = [
    timed(50.0, 900.0, engine="trl"),
    timed(5.0, 90.0, method="sft"),
    timed(50.0, 900.0, model={"source": "pocket-1m"}),
    timed(50.0, 900.0, model={"source": "pocket-2m", "adapter": {"kind": "lora"}}),
]


def test_the_time_is_that_of_the_newest_run_of_this_kind() -> None:
    found = estimates.estimate(config_with(**POCKET), finished=[*OTHER, timed(4.0, 180.0), timed(9.0, 9.0)])
    assert found.seconds_per_update == pytest.approx((4 * timing.FASTEST, 4 * timing.SLOWEST))
    assert found.seconds == pytest.approx((180 * timing.FASTEST, 180 * timing.SLOWEST))
    none = estimates.estimate(config_with(**POCKET), finished=OTHER)
    assert none.seconds is None and none.seconds_per_update is None and none.to_json()["as_last_runs"] is False


def test_the_time_is_scaled_by_the_tokens_that_go_through_the_model() -> None:
    ppo = {"num_updates": 10, "batch_size": 16, "num_epochs": 2}
    config = config_with(ppo=ppo, sampling={"max_new_tokens": 4}, evaluation={"num_prompts": 3, "every": 5})
    update = 16 * (4 + 9 + 2 * 3 * 9)  # written, read by the reference, learned from twice
    assert timing.work(config, PROMPT) == (update, 10 * update + (4 * 3 + 256) * (4 + 9))
    double = config.model_copy(update={"ppo": config.ppo.model_copy(update={"batch_size": 32})})
    found = timing.seconds(double, [timing.Finished(config, 3.0, None)], lambda _: PROMPT)
    assert found is not None and found[0] == pytest.approx((6 * timing.FASTEST, 6 * timing.SLOWEST))


def test_processes_on_one_processor_need_its_memory_several_times_and_on_gpus_each_has_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gpus = [Device(f"cuda:{number}", "NVIDIA A100", 80 * 10**9, (40 - number) * 10**9) for number in range(2)]
    monkeypatch.setattr(estimates.devices, "available", lambda: [*gpus, cpu(32)])

    def found(device: str, ranks: int = 1) -> estimates.Estimate:
        preset = catalog.preset(catalog.DEFAULT_PRESET)
        return estimates.estimate(preset.model_copy(update={"device": device, "ranks": ranks}))

    one, two, both = found("cpu"), found("cpu", 2), found("all")
    assert (one.places, two.places) == (("cpu",), ("cpu", "cpu"))
    assert two.total == 2 * two.needs.total > 1.5 * one.total
    assert (both.device.name, both.places) == ("cuda:1", ("cuda:0", "cuda:1"))  # the one with less room counts
    assert both.total <= found("cuda:1").total
