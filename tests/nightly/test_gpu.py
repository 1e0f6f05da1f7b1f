"""What an NVIDIA GPU makes of this project, checked and measured within 8 minutes: `make bench-gpu` (marked `gpu`).
Every night the same cases run at the smallest sizes on the processor, so that their code is known to work.

What a case has found on a GPU is written into bench/results/gpu.json and docs/performance.md as soon as it ends.
"""

import contextlib
import gc
import json
import signal
import statistics
import subprocess
import sys
import time

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, PreTrainedTokenizerFast, Qwen2Config

from bench import experiments, floors, performance
from playground.cli import health
from playground.config import ModelConfig, ModelReward, SamplingConfig, yaml_io
from playground.ppo.logprobs import token_log_probs
from playground.runs import launcher
from playground.runs.folder import changes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog, devices, estimates
from playground.training.data import prompts
from playground.training.data.random_streams import uniforms
from playground.training.loop.sampling import sample
from playground.training.models import loading
from playground.training.process import rank_processes
from playground.training.process.session import Session
from playground.training.rewards import format_check
from playground.training.rewards.pairs import example_pairs
from tests.support import data_beside, wait_until

MINUTES, LEAST_SECONDS = 8, 5.0  # of all cases on a GPU; a case that would get less is not begun
PROMPT_TOKENS = (12, 20)  # fewest and most; each a digit
FEW_TOKENS = 32  # of a completion, for 8 and 4 bits: on an H100, 128 tokens of 8 bits took longer than 66 s
MOST_APART = {"fp32": 2e-3, "bf16": 0.3}  # nats between two ways to the log-prob of a token
LARGE, RUN = data_beside(__file__, "gpu.yaml").values()
TINY = dict(zip(LARGE, (2, 64, 4, 2, 128, 500, 128), strict=True))
BITS, LORA = ("peft", "bitsandbytes"), {"adapter": {"kind": "lora"}}


class Place:
    """Where the cases run, and what those on a GPU have found."""

    def __init__(self, device, folder):
        self.device, self.folder, self.toy = device, folder, device == "cpu"
        self.ends = time.monotonic() + 60 * MINUTES
        self.batch, self.new_tokens = (8, 6) if self.toy else (64, 128)

    def config(self, **parts):
        """A run on the large model whose episodes all have full length, in a few updates; some parts given."""
        ppo = {"num_updates": 2 if self.toy else 3, "num_epochs": 2, "value_clip_range": 0.2}
        sizes = {"batch_size": self.batch, "minibatch_size": self.batch, "micro_batch_size": self.batch // 4}
        model, lines = ({"source": str(self.folder / name)} for name in ("model", "prompts.txt"))
        here = {"device": self.device, "sampling": {"max_new_tokens": self.new_tokens}}
        plain = {**RUN, **here, "model": model, "prompts": lines, "ppo": {**ppo, **sizes}}
        for name, part in parts.items():
            plain[name] = {**plain[name], **part} if isinstance(plain.get(name), dict) else part
        return yaml_io.from_dict(plain)

    def preset(self, **ppo):
        """The default preset here; with some settings of it as little as goes through everything."""
        config = catalog.preset(catalog.DEFAULT_PRESET).model_copy(update={"device": self.device})
        if not ppo:
            return config
        sizes = {"num_updates": 1, "batch_size": 16, "minibatch_size": 8, "micro_batch_size": 8, "num_epochs": 1, **ppo}
        evaluation = config.evaluation.model_copy(update={"num_prompts": 4, "samples_per_prompt": 1})
        return config.model_copy(update={"ppo": config.ppo.model_copy(update=sizes), "evaluation": evaluation})

    def new_run(self, config):
        return RunDirectory.create(self.folder / "runs", config, f"run-{time.time_ns()}")

    @contextlib.contextmanager
    def case(self, name, seconds):
        """One case, whose facts are kept; what goes wrong too, with its sentence."""

        def late(*_):
            raise TimeoutError(f"it was not done within {left:.0f} s")

        left, begin, facts = min(seconds, self.ends - time.monotonic()), time.perf_counter(), {}
        old = signal.signal(signal.SIGALRM, late)
        try:
            if not self.toy and left < LEAST_SECONDS:
                pytest.skip("the time of the whole run was over")
            signal.alarm(0 if self.toy else round(left))
            yield facts
            facts["outcome"] = "ok"
        except pytest.skip.Exception as reason:
            facts |= {"outcome": "skipped", "why": str(reason)}
            raise
        except BaseException as error:
            facts |= {"outcome": "failed", "why": f"{type(error).__name__}: {str(error).strip()[:300]}"}
            raise
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, old)
            facts["seconds_of_case"] = round(time.perf_counter() - begin, 1)
            self.keep(name, facts)

    def keep(self, name, facts):
        """Into the figures and the page, unless it is about toys."""
        if self.toy:
            return
        report = performance.read("gpu")
        here = devices.chosen(self.device)
        machine = {"device": here.label, "memory_gb": round(here.total_bytes / 1e9, 1)}
        report |= {"machine": {**experiments.machine_facts(), **machine}}
        report["cases"][name] = json.loads(json.dumps(facts, default=str))
        performance.keep("gpu", report)


@pytest.fixture(scope="module", params=["toy", pytest.param("gpu", marks=pytest.mark.gpu)])
def place(request, tmp_path_factory):
    device = "cpu" if request.param == "toy" else "cuda:0"
    if devices.chosen(device) is None:
        pytest.skip("there is no NVIDIA GPU here: nvidia-smi names none")
    return Place(device, tmp_path_factory.mktemp("gpu"))


# -- what is the same here as on a CPU ---------------------------------------------------------------------------------


def test_log_probs_are_those_of_the_processor_and_the_sampler_s_those_of_a_plain_pass(place):
    with place.case("parity", 60) as facts:
        folder, device = catalog.model_folder("pocket-2m"), loading.device_of(place.device)
        assert place.toy or str(loading.device_of("auto")) == "cuda:0"
        exact, tokens = loading.load(folder, torch.device("cpu"))
        rows, length = (8, 8) if place.toy else (64, 32)
        settings = catalog.preset(catalog.DEFAULT_PRESET).prompts
        chosen = prompts.load(settings, 8, exact.context_length - length, tokens, 0).training[:rows]
        facts |= {"apart": {}}
        for precision, most in MOST_APART.items():
            model, _ = loading.load(folder, device, ModelConfig(precision=precision), trained=True)
            draws = uniforms(list(range(rows)), length)
            episodes = sample(model, tokens, [prompt.ids for prompt in chosen], draws, SamplingConfig())
            here, on_cpu = forward_log_probs(model, episodes), forward_log_probs(exact, episodes)
            sampled = episodes.log_probs[episodes.mask].cpu()
            pairs = {"device from CPU fp32": here - on_cpu, "sampler from plain pass": sampled - here}
            gaps = {name: (float(gap.abs().mean()), float(gap.abs().max())) for name, gap in pairs.items()}
            facts["apart"][precision] = gaps
            assert max(largest for _, largest in gaps.values()) <= most


def forward_log_probs(model, episodes):
    """Log-probs [N] of the sampled tokens by a pass over whole episodes, on the model's device."""
    ids, predicts = episodes.packed().rows(torch.arange(len(episodes)))
    chosen = episodes.completion_ids[episodes.mask].to(model.device)
    with torch.no_grad():
        logits = model.logits(model.hidden(ids.to(model.device))[predicts.to(model.device)])
        return token_log_probs(logits, chosen, 1.0).float().cpu()


def test_the_default_preset_goes_through_the_worker(place):
    with place.case("preset", 100) as facts:
        run = experiments.trained(place.preset(num_updates=1) if place.toy else place.preset(), place.folder)
        lines, samples = run.metrics(), run.samples()
        ends = {stage: [item for item in samples if item.stage == stage] for stage in ("before", "after")}
        facts |= {
            "seconds": experiments.seconds_of(run),
            "seconds_per_update": statistics.median(phases(line)["whole"] for line in lines),
            "updates": len(lines),
            "score_before": statistics.fmean(item.score or 0.0 for item in ends["before"]),
            "score_after": statistics.fmean(item.score or 0.0 for item in ends["after"]),
            "kl_after": statistics.fmean(item.kl or 0.0 for item in ends["after"]),
            "memory_gb": lines[-1].memory_gb,
        }
        assert run.status().state == "finished"
        assert place.toy or facts["score_after"] > facts["score_before"] + 1


# -- half a billion weights --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(place):
    """The shape of Qwen2 0.5B, random weights, a tokenizer as large, a reward model, and prompts."""
    shape = TINY if place.toy else LARGE
    special, letters = ["<|pad|>", "<|endoftext|>"], sorted(pre_tokenizers.ByteLevel.alphabet())
    words = [f"\u0120w{number}" for number in range(shape["vocab_size"] - len(special) - len(letters))]
    vocabulary = {token: number for number, token in enumerate([*special, *letters, *words])}
    bpe = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))  # reads letters, and writes words
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token=special[1], pad_token=special[0])
    ids = {"bos_token_id": None, "eos_token_id": 1, "pad_token_id": 0}
    torch.manual_seed(0)
    with torch.device(place.device):
        policy = AutoModelForCausalLM.from_config(Qwen2Config(**shape, **ids, tie_word_embeddings=True))
        small = Qwen2Config(**{**shape, "num_hidden_layers": 2}, **ids, num_labels=1)
        judge = AutoModelForSequenceClassification.from_config(small)
    for network, name in ((policy, "model"), (judge, "judge")):
        network.to(torch.bfloat16).save_pretrained(place.folder / name)
        tokenizer.save_pretrained(place.folder / name)
    lines = [f"{row:0{PROMPT_TOKENS[0] + row % 9}}" for row in range(300)]
    (place.folder / "prompts.txt").write_text("\n".join(lines), encoding="utf-8")


def bits(kind):
    """A case of 8 or 4 bits."""
    parts = {"model": {**LORA, "quantization": kind}, "sampling": {"max_new_tokens": FEW_TOKENS}}
    return f"{kind}, {FEW_TOKENS} tokens", 90, ("bf16",), BITS, parts


@pytest.mark.parametrize(
    ("name", "seconds", "precisions", "packages", "parts"),
    [
        ("0.5B", 120, ("bf16", "fp32"), (), {}),  # ours, everything trained
        ("0.5B, plain steps", 60, ("bf16",), (), {"sampling": {"decode": "plain"}}),
        ("0.5B, TRL", 90, ("fp32",), ("trl",), {"engine": "trl"}),  # its adapter takes fp32 only
        ("LoRA", 45, ("bf16",), ("peft",), {"model": LORA}),
        ("0.5B, DPO", 60, ("bf16",), ("trl",), {"method": "dpo", "ppo": {"samples_per_prompt": 2}}),
        bits("int8"),
        bits("nf4"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_updates_are_timed_and_take_the_memory_that_was_estimated(
    place, model, name, seconds, precisions, packages, parts
):
    with place.case(name, seconds) as facts:
        for package in packages:
            pytest.importorskip(package)
        for precision in precisions:
            own = {**parts.get("model", {}), "precision": precision}
            quantization = own.get("quantization")
            judge = {"kind": "model", "source": str(place.folder / "judge"), "template": "plain"}
            rewards = {"rewards": [{**judge, "quantization": quantization}]} if quantization else {}
            figures = updates(place, place.config(**{**parts, **rewards, "model": own}))
            facts[precision] = figures
            assert 0 < figures["rollout_share"] < 1
            longest = FEW_TOKENS if quantization else place.new_tokens
            assert 0.9 * longest < figures["completion_length"] <= longest
            assert figures["peak_gb"] > 0
            assert figures.get("times_floor", 2) > 1
            is_plain = place.toy or quantization or "plain" in name or "captured" not in figures
            assert is_plain or figures["captured"] is True, figures["captured"]


def updates(place, config):
    """Time and memory of a session's updates, of which the first only warms up, and of ours the arithmetic floor."""
    gc.collect()  # what an earlier session has left in circles
    if not place.toy:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    run = place.new_run(config)
    session = Session(run, config, RunWriter(run, config.ppo.num_updates), lambda: None)
    ours, lines = config.engine == "playground", []
    rollouts = floors.rollouts_of(session.trainer) if ours and config.method == "ppo" else []
    session.trainer.train(lines.append)
    seconds = floors.medians([phases(line) for line in lines[1:]])
    figures = {
        "episodes_per_second": config.ppo.batch_size / seconds["whole"],
        "seconds_per_update": seconds["whole"],
        "rollout_share": seconds["rollout"] / seconds["whole"],
        "phases": seconds,
        "completion_length": lines[-1].completion_length,
        "peak_gb": (floors.peak_bytes() if place.toy else torch.cuda.max_memory_allocated()) / 1e9,
    }
    if ours:  # which is what is estimated
        estimate = estimates.estimate(config, place.folder / "runs", prompt_tokens=PROMPT_TOKENS[1])
        figures["estimated_gb"] = estimate.total_gb - estimate.libraries_gb
        steps = session.policy.captured_steps
        figures["captured"] = steps is not None and (steps.checked or steps.why_not)
    if rollouts and config.model.quantization == "none":
        kind = torch.bfloat16 if config.model.precision == "bf16" else torch.float32
        size, sizes = 256 if place.toy else 8192, floors.Sizes.of(session.policy)
        rate = statistics.median(floors.product_rates(size, device=place.device, dtype=kind))
        work = [
            sum(floors.arithmetic(sizes, floors.Lengths.of(rollout), config.ppo.num_epochs).values())
            for rollout in rollouts[1:]
        ]
        figures["times_floor"] = seconds["whole"] / (statistics.median(work) / rate)
        figures["tflops_of_a_product"] = rate / 1e12
    return figures


def phases(line):
    """Seconds of one update, by phase and in all."""
    parts = {phase: float(getattr(line, f"seconds_{phase}")) for phase in ("rollout", "score", "update")}
    return {**parts, "whole": sum(parts.values())}


# -- a run's life ------------------------------------------------------------------------------------------------------


def test_a_run_that_was_paused_stopped_and_resumed_ends_as_one_that_went_through(place):
    with place.case("pause, stop, resume", 75) as facts:
        sizes = {} if place.toy else {"batch_size": 128, "minibatch_size": 64}
        config = place.preset(num_updates=4, **sizes)
        config = config.model_copy(update={"checkpoint": config.checkpoint.model_copy(update={"every": 1})})
        whole = experiments.trained(config, place.folder)
        run = launcher.start(config, place.folder / "broken-up").run
        changes.request_pause(run)
        wait_until(lambda: run.status().state == "paused" or run.status().ended)
        facts["paused_after_update"] = run.status().update
        launcher.stop(run)
        wait_until(lambda: run.status().ended and not run.is_alive())
        assert run.status().state == "stopped"
        experiments.playground("resume", run.path, "--json")
        weights, other = (load_file(item.latest_checkpoint() / "model.safetensors") for item in (whole, run))
        facts["weights_most_apart"] = max(float((weights[name] - other[name]).abs().max()) for name in weights)
        facts["bit_identical"] = all(torch.equal(weights[name], other[name]) for name in weights)
        assert facts["bit_identical"]


def test_what_the_page_says_of_the_machine_is_what_pytorch_says(place):
    with place.case("devices", 30) as facts:
        answer = subprocess.run([sys.executable, "-c", health.ASK_TORCH], capture_output=True, text=True, timeout=60)
        every = devices.available()
        facts["devices"] = [{"label": item.label, "total_gb": item.total_bytes / 1e9} for item in every]
        facts |= {"header": devices.machine_facts(), "doctor": json.loads(answer.stdout)}
        if not place.toy:
            _, total = torch.cuda.mem_get_info()
            assert every[0].name == "cuda:0"
            assert every[0].total_bytes == pytest.approx(total, rel=0.05)


def test_the_exchanges_of_one_rank_change_nothing(place):
    """Over NCCL on a GPU."""
    with place.case("one rank", 45) as facts:
        ranks = rank_processes.connected(rank_processes.Member(0, 1, place.device, str(place.folder / "store")))
        try:
            numbers = {"numbers": torch.rand(3, 5, device=ranks.device)}
            assert torch.equal(ranks.gather(numbers, 3)["numbers"], numbers["numbers"])
            assert (ranks.exchange({"a": 1.5}), ranks.first(["b"])) == ([{"a": 1.5}], ["b"])
            alone, together = (weights_after_an_update(place, among) for among in (None, ranks))
            facts["backend"] = str(dist.get_backend_config())
        finally:
            dist.destroy_process_group()
        facts["apart"] = max(float((weight - other).abs().max()) for weight, other in zip(alone, together, strict=True))
        assert facts["apart"] <= 1e-6


def weights_after_an_update(place, ranks):
    """The weights of the default preset after one small update, with the exchanges of `ranks`, if there are any."""
    config = place.preset(batch_size=8, minibatch_size=4, micro_batch_size=4, num_epochs=2)
    run = place.new_run(config)
    session = Session(run, config, RunWriter(run, 1), lambda: None)
    session.trainer.ranks = ranks or session.trainer.ranks
    session.trainer.update()
    return [weight.detach().clone() for weight in session.trainer.trained.values()]


def test_a_reward_model_is_trained_and_reads_its_format(place):
    with place.case("reward model", 60) as facts:
        pytest.importorskip("trl")
        outputs, limit, steps = place.folder / "judged", *((100, 2) if place.toy else (1000, 30))
        settings = [f"device={place.device}", f"pairs.limit={limit}", f"max_steps={steps}"]
        words = [word for setting in settings for word in ("--set", setting)]
        experiments.playground("reward-train", "--name", "judged", "--outputs", outputs, *words, "--json")
        source = ModelReward(source=str(outputs / catalog.REWARD_MODELS / "judged"))
        device = loading.device_of(place.device)
        pairs = example_pairs(catalog.preset(catalog.DEFAULT_PRESET), source, None, None, device)
        references = [(pair.prompt, pair.chosen) for pair in pairs.pairs[:64]]
        report = format_check.examine("judged", source, references, pairs, device, None)
        facts["self_test"] = report.verdict
        assert report.verdict


def test_a_run_that_cannot_fit_says_so_and_the_next_one_works(place, model):
    with place.case("memory runs out", 150) as facts:
        if place.toy:
            pytest.skip("it takes a GPU to fill one")
        size = {name: 1024 for name in ("batch_size", "minibatch_size", "micro_batch_size")}
        config = place.config(ppo={"num_updates": 1, **size}, model={"precision": "bf16"})
        facts["verdict_before"] = estimates.estimate(config, prompt_tokens=PROMPT_TOKENS[1]).verdict
        run = launcher.start(config, place.folder / "too-large").run
        wait_until(lambda: run.status().ended and not run.is_alive())
        facts["told"] = run.status().message
        assert run.status().reason == "out_of_gpu_memory"
        assert facts["told"].startswith("The GPU ran out of memory.")
        facts["next_run"] = experiments.trained(place.preset(num_updates=1), place.folder).status().state
