"""What a run needs: the arithmetic by hand, the verdict, and that the advice, followed, makes it fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from playground.config import RunConfig, yaml_io
from playground.errors import InvalidConfig, ModelNotHere
from playground.setup import catalog, estimates
from playground.setup.devices import Device
from playground.setup.estimates import memory, remedies, timing, trl_moments
from playground.setup.estimates.memory import Form, Lengths, Moment, Part
from playground.sources.architectures import SEVEN_BILLION, Architecture
from tests.model_folders import model_folder

SMALL = Architecture("llama", 8, 2, 4, 2, 2, 16, 32, 64, True, 2000)
LENGTHS = Lengths(prompt=5, completion=4)


def config_with(**changes: Any) -> RunConfig:
    return yaml_io.from_dict({"rewards": [{"kind": "length"}], **changes})


def cpu(gigabytes: float) -> Device:
    return Device("cpu", "Processor", int(gigabytes * 1e9), int(gigabytes * 1e9))


def sizes(parts: list[Part]) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for part in parts:
        found[part.role, part.kind] = found.get((part.role, part.kind), 0) + part.size
    return found


def lasting(**model: Any) -> dict[tuple[str, str], float]:
    config = config_with(model={"source": "x", **model})
    return sizes(list(memory.lasting(config, Form.of(config, bf16=False), SMALL, [])))


def test_full_training_holds_weights_twice_gradients_and_two_moments() -> None:
    assert lasting() == {
        ("policy", "weights"): 8000, ("policy", "gradients"): 8000, ("policy", "optimizer"): 16000,
        ("value", "weights"): 8 * 16, ("reference", "weights"): 8000,
    }  # fmt: skip


def test_lora_trains_little_and_needs_no_reference() -> None:
    # rank 2: two layers of q (8+8), k and v (8+4 each), o (8+8), gate, up, down (8+16 each)
    trained = 2 * 2 * (16 + 12 + 12 + 16 + 3 * 24)
    assert lasting(adapter={"kind": "lora", "r": 2}) == {
        ("policy", "weights"): 8000 + 4 * trained, ("policy", "gradients"): 4 * trained,
        ("policy", "optimizer"): 8 * trained, ("value", "weights"): 8 * 16,
    }  # fmt: skip
    fewer = lasting(adapter={"kind": "lora", "r": 2, "target_modules": ["q_proj"]})
    assert fewer["policy", "gradients"] == 4 * 2 * 2 * 16


def test_quantization_shrinks_the_matrices_and_not_the_embeddings() -> None:
    matrices = SMALL.linear_parameters
    held = lasting(adapter={"kind": "lora", "r": 2}, quantization="int8")
    whole = lasting(adapter={"kind": "lora", "r": 2})
    assert whole["policy", "weights"] - held["policy", "weights"] == 3 * matrices


def test_a_critic_of_its_own_is_trained_too() -> None:
    held = lasting(critic="separate")
    assert held["value", "gradients"] == 8000 and held["value", "optimizer"] == 16000


def test_the_cache_and_the_logits_of_sampling_by_hand() -> None:
    form = Form.of(config_with(), bf16=False)
    _, last = memory.sampling(SMALL, form, 3, LENGTHS)
    layer = 3 * 9 * 2 * 2 * 4  # rows, tokens, heads of keys, their size, bytes
    assert sizes(last) == {("rollout", "KV cache"): (2 * 2 + 2) * layer, ("rollout", "logits"): 5 * 3 * 32 * 4}


def test_moments_do_not_add_up_but_small_freed_blocks_do_on_a_processor() -> None:
    held = [Part("policy", "weights", 10.0, 0)]
    large, small = Part("policy", "logits", 50e6, 50e6), Part("policy", "activations", 30e6, 1e6)
    moments = [Moment("a", [large]), Moment("b", [small])]
    assert memory.peak(held, moments, heap_limit=0).size == 50e6 + 10
    assert memory.peak(held, moments, heap_limit=2**21) == ("a", [*held, large], 80e6 + 10)


def test_the_verdict_leaves_room_for_an_error_of_a_quarter() -> None:
    found = [estimates.verdict_of(size, cpu(1)) for size in (0.8e9, 0.81e9, 1e9, 1.01e9)]
    assert found == ["fits", "tight", "tight", "does not fit"]


@pytest.mark.parametrize(
    ("changes", "gigabytes", "words"),
    [
        ({"ppo": {"batch_size": 128, "minibatch_size": 128, "micro_batch_size": 128}}, 12, "micro_batch_size to 64"),
        ({}, 3.2, "Train with LoRA"),
        ({}, 0.5, "choose a smaller model"),
    ],
)
def test_the_advice_is_the_mildest_change_that_is_enough(changes: Any, gigabytes: float, words: str) -> None:
    base = catalog.preset("gpt2").model_dump(mode="json")
    config = yaml_io.from_dict({**base, "ppo": {**base["ppo"], **changes.get("ppo", {})}})
    found = estimates.estimate(config, device=cpu(gigabytes))
    assert found.verdict != "fits" and words in found.advice


def test_whoever_follows_the_advice_fits() -> None:
    config = catalog.preset("gpt2")
    found = estimates.estimate(config, device=cpu(3.2))
    sentence, changed = next(item for item in remedies.changes(config) if found.advice.startswith(item[0]))
    assert estimates.estimate(changed, device=cpu(3.2)).verdict == "fits", sentence


def test_every_change_is_a_valid_configuration() -> None:
    rewards = [{"kind": "model", "source": "a/b"}]
    for name in ("gpt2", "qwen3-0.6b", "kinder-reviews"):
        config = yaml_io.from_dict({**catalog.preset(name).model_dump(mode="json"), "rewards": rewards})
        found = list(remedies.changes(config))
        assert len(found) > 3
        for _, changed in found:
            assert yaml_io.from_dict(changed.model_dump(mode="json")) == changed


def test_a_learned_reward_has_a_row_of_its_own(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "scorer", model_type="bert", vocab_size=32)
    config = config_with(rewards=[{"kind": "model", "source": str(folder)}])
    rows = {row.role: row.total for row in estimates.estimate(config, device=cpu(8)).rows}
    assert rows["reward"] == 4 * 384


def test_prompts_are_measured_by_their_characters(tmp_path: Path) -> None:
    def longest(chat: bool = False, **prompts: Any) -> int:
        return estimates.longest_prompt(config_with(prompts=prompts), chat, 1024)

    assert longest(source="typed", typed=["x" * 35, "y"]) == 11
    assert longest(source="typed", typed=["x" * 35, "y"], chat=True) == 51
    (tmp_path / "p.txt").write_text("x\n" + "y" * 70, encoding="utf-8")
    assert longest(source=str(tmp_path / "p.txt")) == 21
    assert longest(source="pocket/claims") == 54
    assert longest(source="someone/data") == 256
    rows = "".join(f"Which is the {n}th?,one,two\n" for n in range(10))
    (tmp_path / "claims.csv").write_text(f"question,right,wrong\n{rows}", encoding="utf-8")
    second_turn = (
        "\n\nHuman: Which is the 7th?\n\nAssistant: The answer is one."
        "\n\nHuman: Are you sure? I think it is two.\n\nAssistant:"
    )
    assert longest(source=str(tmp_path / "claims.csv")) == int(len(second_turn) / 3.5) + 1


def test_a_model_that_nobody_knows_and_a_device_that_is_not_there_are_sentences() -> None:
    with pytest.raises(ModelNotHere, match="so nothing is known of it yet"):
        estimates.estimate(config_with(model={"source": "someone/unknown"}))
    with pytest.raises(InvalidConfig, match=r"There is no cuda:77 here\. There is: "):
        estimates.estimate(config_with(device="cuda:77"))


def test_it_can_be_told_to_a_program() -> None:
    told = json.loads(json.dumps(estimates.estimate(catalog.preset("kinder-reviews"), device=cpu(8)).to_json()))
    assert told["verdict"] == "fits" and told["download"] is None and told["advice"] == ""
    parts = sum(row["total_gb"] for row in told["roles"]) + told["libraries_gb"]
    assert told["total_gb"] == pytest.approx(parts, abs=0.002)


def test_seven_billion_weights_are_counted_from_the_published_shape() -> None:
    assert SEVEN_BILLION.parameters == 6_738_415_616, "Llama 2 7B"


@pytest.mark.parametrize(
    ("model", "weights"),
    [({"precision": "fp32"}, 4), ({"precision": "bf16", "adapter": {"kind": "lora"}}, 2)],
)
def test_what_if_7b_reckons_the_present_settings_with_a_larger_model(model, weights) -> None:
    told = estimates.estimate(config_with(model=model), device=cpu(8)).to_json()["larger"]
    least = weights * SEVEN_BILLION.parameters / 1e9
    lora = "adapter" in model
    assert told["roles_gb"]["policy"] > (1 if lora else 4) * least, "weights; learning all of them also three copies"
    assert told["roles_gb"]["reference"] == pytest.approx(0 if lora else least, rel=0.01)
    assert told["total_gb"] > sum(told["roles_gb"].values())


def test_what_if_7b_is_the_estimate_itself_for_a_model_of_that_shape(monkeypatch) -> None:
    config = config_with(model={"source": "pocket-1m"})
    own = estimates.measures(config).policy
    monkeypatch.setattr(estimates, "SEVEN_BILLION", own)
    found = estimates.estimate(config, device=cpu(8))
    assert found.larger == estimates.Larger(found.rows, found.moment, found.total)


def test_after_running_out_of_memory_there_is_always_something_to_do() -> None:
    assert "Set " in estimates.advice(catalog.preset("gpt2")) or "Train" in estimates.advice(catalog.preset("gpt2"))
    assert estimates.advice(config_with(model={"source": "someone/unknown"})).startswith("Halve ppo.micro_batch_size")


def test_more_work_takes_longer_and_a_faster_device_less() -> None:
    config = config_with()
    form = Form.of(config, bf16=False)
    slow, fast = Device("cuda:0", "Tesla T4", 1, 1), Device("cuda:0", "NVIDIA H100", 1, 1)
    big = Architecture("llama", 2048, 24, 32, 8, 64, 8192, 128_000, 4096, True, 10**9)
    long = timing.pace(config, form, big, LENGTHS, slow)
    assert long.update_low < long.update_high < long.run_low
    assert timing.pace(config, form, big, LENGTHS, fast).update_low < long.update_low
    twice = config_with(ppo={"num_updates": 80})
    assert timing.pace(twice, form, big, LENGTHS, slow).run_low > 1.9 * long.run_low


def test_the_work_of_an_update_by_hand_with_either_engine() -> None:
    """Ours: no prompt token through the LM head, the critic a linear map, or a trunk of its own. TRL's: every token
    through the LM head of policy and reference, and a trunk for the value. Both: two epochs, three passes each."""
    ppo = {"num_epochs": 2, "batch_size": 128, "minibatch_size": 128, "micro_batch_size": 32}
    trunk, head = SMALL.linear_parameters, SMALL.embedding_parameters
    tokens, written = 128 * 9, 128 * 4
    work = {
        ("playground", "shared"): (1 + 1 + 6) * trunk * tokens + (1 + 2 + 6) * head * written,
        ("playground", "separate"): (1 + 2 + 12) * trunk * tokens + (1 + 2 + 6) * head * written,
        ("trl", "shared"): (1 + 2 + 12) * trunk * tokens + head * written + (1 + 6) * head * tokens,
    }
    calls = {("playground", "shared"): 4 + 4 * 7, ("playground", "separate"): 4 + 4 * 13,
             ("trl", "shared"): 2 * (4 + 2) + 4 * 12}  # fmt: skip
    slow = Device("cuda:0", "Some GPU", 1, 1)
    for (engine, critic), multiplied in work.items():
        config = config_with(engine=engine, ppo=ppo, model={"source": "x", "critic": critic})
        found = timing.pace(config, Form.of(config, bf16=False), SMALL, LENGTHS, slow).update_low
        arithmetic = 2 * multiplied / (timing.OTHER_GPU * timing.REACHED)
        fixed = calls[engine, critic] * SMALL.layers * timing.LAYER_SECONDS["cuda"]
        assert found == pytest.approx(timing.FASTEST * (arithmetic + fixed), rel=1e-12), (engine, critic)


def test_trl_holds_a_second_model_and_the_logits_of_a_whole_batch() -> None:
    ppo = {"batch_size": 6, "minibatch_size": 6, "micro_batch_size": 3}
    config = config_with(engine="trl", ppo=ppo, model={"source": "x"})
    form = Form.of(config, bf16=False)
    held = sizes(list(memory.lasting(config, form, SMALL, [])))
    assert held["value", "weights"] == 8000 and held["value", "optimizer"] == 16000
    found = {moment.name: moment.parts for moment in trl_moments.moments(config, form, SMALL, LENGTHS, [])}
    batch = 6 * 4 * 32 * 4  # texts, new tokens, vocabulary, bytes
    assert sizes(found["sampling"])["rollout", "logits"] == 3 * batch
    read = sizes(found["comparing with the reference"])
    assert read["rollout", "logits"] == batch and read["reference", "logits"] == 6 * 9 * 32 * 4
    learning = sizes(found["learning"])
    assert learning["rollout", "logits"] == batch
    assert learning["value", "activations"] > 0 and learning["policy", "logits"] == 3 * 32 * 4 * (4 * 9 + 4 * 4)


def test_what_is_advised_for_trl_is_what_trl_can_do() -> None:
    config = config_with(engine="trl", model={"source": "openai-community/gpt2"}, sampling={"max_new_tokens": 64})
    advised = estimates.estimate(config, device=cpu(9)).advice
    assert advised.startswith("Set ") and "LoRA" not in advised, advised


def timed(update: float, run: float, **changes: Any) -> timing.Finished:
    return timing.Finished(config_with(**{"model": {"source": "pocket-2m"}, "device": "cpu"} | changes), update, run)


def test_the_time_of_the_nearest_finished_run_is_scaled_by_the_work() -> None:
    config = config_with(model={"source": "pocket-2m"}, device="cpu")
    guess = estimates.estimate(config).pace
    assert not guess.as_last_runs and guess.update_high / guess.update_low > 7
    far = timed(99.0, 999.0, ppo={"batch_size": 256, "minibatch_size": 256})
    same = timed(4.0, 180.0)
    other = [
        timed(50.0, 900.0, engine="trl"),
        timed(5.0, 90.0, method="sft"),
        timed(50.0, 900.0, model={"source": "pocket-1m"}),
        timed(50.0, 900.0, model={"source": "pocket-2m", "adapter": {"kind": "lora"}}),
    ]
    for finished in ([far, same], [same], [*other, same]):
        found = estimates.estimate(config, finished=finished)
        low, high = timing.LAST_FASTEST, timing.LAST_SLOWEST
        assert found.pace[:4] == pytest.approx((4 * low, 4 * high, 180 * low, 180 * high))
        assert found.to_json()["as_last_runs"] is True
    assert not estimates.estimate(config, finished=other).pace.as_last_runs
    half = config_with(model={"source": "pocket-2m"}, device="cpu", ppo={"num_updates": 20})
    shorter = estimates.estimate(half, finished=[same]).pace
    assert shorter.update_low == pytest.approx(4 * low) and 80 * low < shorter.run_low < 100 * low


def test_processes_on_one_processor_need_its_memory_several_times_and_on_gpus_each_has_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gpus = [Device(f"cuda:{number}", "NVIDIA A100", 80 * 10**9, (40 - number) * 10**9) for number in range(2)]
    cpu = Device("cpu", "Processor", 64 * 10**9, 32 * 10**9)
    monkeypatch.setattr(estimates.devices, "available", lambda: [*gpus, cpu])
    made = config_with_ranks("cpu", 2)
    one, two = estimates.estimate(config_with_ranks("cpu", 1)), estimates.estimate(made)
    assert two.places == ("cpu", "cpu") and one.places == ("cpu",)
    held = sum(row.total for row in two.rows) + two.libraries
    assert two.total == pytest.approx(2 * held, rel=0.2) and two.total > 1.5 * one.total
    assert two.pace.update_high == pytest.approx(one.pace.update_high)  # they share its cores
    both, single = (estimates.estimate(config_with_ranks(device, 1)) for device in ("all", "cuda:1"))
    assert (both.device.name, both.places) == ("cuda:1", ("cuda:0", "cuda:1"))  # the one with less room counts
    assert both.total <= single.total and both.pace.update_high < single.pace.update_high
    assert both.to_json()["places"] == ["cuda:0", "cuda:1"]


def config_with_ranks(device: str, ranks: int) -> RunConfig:
    return catalog.preset(catalog.DEFAULT_PRESET).model_copy(update={"device": device, "ranks": ranks})
