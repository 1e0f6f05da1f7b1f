"""The chapter's exercise, done: a reward model of pairs of HH-RLHF, PPO against it, its recording and docs/hh.md:
`make hh ARGS=FILE`.

FILE is harmless-base/test.jsonl.gz of Anthropic/hh-rlhf (MIT), wherever it lies: it holds texts that no class should
meet. The fixed prompts are dialogues of its share 85-100, which neither judge nor policy learns from, and which were
read and found fit for one. Only these, and what was answered, are in the recording.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from bench import experiments, recordings, tables
from bench.experiments import Cell, Figures, Row, machine, options
from playground.analysis.run_report import RunReport
from playground.config import RewardTrainingConfig, yaml_io
from playground.data import dialogues
from playground.rewards.agreement import wilson
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Sample
from playground.setup import catalog
from playground.training.rewards import learned_rewards, pair_trainer
from playground.training.rewards import pairs as preference_pairs

PRESET, JUDGE = "hh-exercise", "hh-judge"
JUDGE_FILE = catalog.JUDGES / f"{JUDGE}.yaml"
FIXED_SHARE = "85-100"
FIXED_ROWS = (  # of the file, counted from 1
    495, 493, 642, 649, 471, 710, 782, 825, 884, 979, 999, 1015, 1127, 1196, 1212, 1560, 1607, 1893, 1894, 1944, 1998,
    2034, 2147, 2169,
)  # fmt: skip
LEAST_GAIN = 0.25  # sd, of an answer whose score has risen
IN_RECORDING = {"prompts.subset": "harmless-base", "prompts.split": "test"}  # what the file is, on the hub


def main() -> None:
    """Train what is missing, measure it, record it, write the page."""
    parser = options(__doc__, outputs=experiments.OUTPUTS / "hh")
    parser.add_argument("file", type=Path, nargs="?", help="without it only the page is written")
    arguments = parser.parse_args()
    figures = Figures("hh")
    if arguments.file:
        outputs: Path = arguments.outputs.resolve()
        outputs.mkdir(parents=True, exist_ok=True)
        run = trained(arguments.file.resolve(), outputs, arguments.again)
        figures.write(judge=of_judge(outputs, arguments.file.resolve()), run=of_run(run), machine=machine())
        size = recordings.record(run, PRESET, catalog.RECORDED / PRESET, recordings.FIXED_PROMPTS_ONLY, IN_RECORDING)
        print(f"{PRESET}: {size:,} bytes")
    tables.write("hh", page(figures.data))


def trained(file: Path, outputs: Path, again: bool) -> RunDirectory:
    """The newest finished run with this file in the outputs folder, beside its judge; what is missing is trained."""
    if again or not (outputs / catalog.REWARD_MODELS / JUDGE / catalog.REWARD_CARD).exists():
        of_file = ("--pairs", file, "--set", "pairs.subset=null")
        experiments.playground("reward-train", JUDGE_FILE, *of_file, "--outputs", outputs, "--replace")
    fixed = write_fixed_prompts(file, outputs / "hh-fixed.jsonl")
    cell = Cell(PRESET, 0, (f"prompts.source={file}", "prompts.subset=null", f"evaluation.prompts={fixed}"))
    settings = outputs / f"{PRESET}.yaml"
    settings.write_text(cell.config.to_yaml(), encoding="utf-8")
    runs = [RunDirectory.open(path.parent) for path in outputs.glob(f"{PRESET}-*/config.yaml")]
    done = [run for run in runs if run.status().state == "finished"]
    if done and not again:
        return max(done, key=lambda run: run.status().started_at or 0)
    run_id = f"{PRESET}-{len(runs)}"
    experiments.playground("train", settings, "--outputs", outputs, "--run-id", run_id, "--json")
    return RunDirectory.open(outputs / run_id)


def write_fixed_prompts(pairs: Path, to: Path) -> Path:
    """The dialogues of `FIXED_ROWS`, up to their last answer. Raises: SystemExit, for one of another share."""
    with gzip.open(pairs, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    prompts = [dialogues.prompt_of(rows[number - 1]["chosen"], "chosen") for number in FIXED_ROWS]
    if not all(dialogues.is_in_share(prompt, FIXED_SHARE) for prompt in prompts):
        sys.exit(f"{pairs.name} is another file than the one that was read: its rows differ.")
    to.write_text("".join(json.dumps({"prompt": prompt}) + "\n" for prompt in prompts), encoding="utf-8")
    return to


def of_judge(outputs: Path, file: Path) -> Row:
    """How often the reward model is right on pairs that it has not seen, and how often the second judge is."""
    card = json.loads((outputs / catalog.REWARD_MODELS / JUDGE / catalog.REWARD_CARD).read_text(encoding="utf-8"))
    config = yaml_io.validated(
        {**card["config"], "pairs": {**card["config"]["pairs"], "source": str(file)}}, RewardTrainingConfig
    )
    device = torch.device("cpu")
    scorer = learned_rewards.builder(device, outputs)
    first = scorer(catalog.preset(PRESET).rewards[0])
    pairs = pair_trainer.fitting(preference_pairs.load(config, device), config.pairs.max_tokens, first.format).held_out
    second = scorer(catalog.preset(PRESET).judges[0])
    prompts = [pair.prompt for pair in pairs]
    chosen, rejected = (second(prompts, [pair[side] for pair in pairs]) for side in (1, 2))
    right = sum((high or 0.0) > (low or 0.0) for high, low in zip(chosen, rejected, strict=True))
    report = {name: card["report"][name] for name in ("accuracy", "accuracy_low", "accuracy_high", "num_pairs")}
    return {
        **report,
        "training": card["pairs"]["training"],
        "minutes": card["seconds"] / 60,
        "second": [right / len(pairs), *wilson(right / len(pairs), len(pairs)), len(pairs)],
    }


def of_run(run: RunDirectory) -> Row:
    """What the chapter asks to be logged, and how often the two judges disagree about a change."""
    report = RunReport.of(run)
    outcome, ledger, judged = report.outcome, report.ledger, report.judged
    assert outcome is not None
    assert ledger is not None
    assert judged is not None
    ends = [next(item for item in report.metrics if item.update == update) for update in (1, ledger.updates)]
    risen = [pair for pair in report.pairs if (pair.gain or 0.0) > LEAST_GAIN]
    gamed = sum(second_of(pair.after) < second_of(pair.before) for pair in risen)
    return {
        "outcome": outcome._asdict(),
        "answers": len(report.pairs),
        "second": judged.judges[0].changes[-1],
        "risen": len(risen),
        "gamed": gamed,
        "kl": [[item.update, item.kl_to_reference] for item in report.metrics],
        "scores": [[item.score_p10, item.score_p50, item.score_p90] for item in ends],
        "text": report.forgetting,
        "strangeness": report.strangeness,
        "remarks": report.remarks,
        "cost": report.cost,
        "operations": ledger.operations,
        "minutes": ledger.seconds / 60,
        "memory_gb": ledger.peak_memory_gb,
        "counts": report.counts_in_words(),
        "columns": report.count_columns,
    }


def second_of(sample: Sample) -> float:
    """What the second judge says of an answer."""
    (value,) = sample.judges.values()
    return value or 0.0


def page(data: Row) -> str:
    """docs/hh.md."""
    run = data["run"]
    rows = [*logged(run), ("answers that differ", f"{run['answers'] - run['outcome']['same']} of {run['answers']}")]
    return tables.page(
        "hh",
        machine=tables.filled(data["machine"]),
        judge=tables.filled(judge_sentence(data["judge"])),
        run=tables.table(("what the chapter asks for", "measured"), rows),
        remarks="\n".join(f"- {tables.filled(sentence, '  ')}" for sentence in run["remarks"]),
        gamed=tables.filled(gamed_sentence(run)),
        counts=tables.table(run["columns"], run["counts"]),
    )


def judge_sentence(judge: Row) -> str:
    """What both judges are worth."""
    low, high = in_percent(judge["accuracy_low"]), in_percent(judge["accuracy_high"])
    second = [in_percent(share) for share in judge["second"][:3]]
    return (
        f"The reward model learned from {judge['training']} pairs in {judge['minutes']:.0f} minutes. Of "
        f"{judge['num_pairs']} pairs of other dialogues it is right on {in_percent(judge['accuracy'])} (95 % interval "
        f"{low} to {high}). The second judge is the untrained model, asked whether an answer is helpful, polite and "
        f"harmless; it is right on {second[0]} of the same pairs ({second[1]} to {second[2]})."
    )


def logged(run: Row) -> list[tuple[str, str]]:
    """What the chapter asks to be logged, with its intervals."""
    outcome, kl = run["outcome"], run["kl"]
    course = kl[:: max(1, len(kl) // 6)]
    gain = f"{outcome['gain']:+.2f} sd ({outcome['low']:+.2f} to {outcome['high']:+.2f})"
    rows = [
        (f"score on {outcome['num_prompts']} held-out dialogues", gain),
        ("KL on them", f"{outcome['kl']:.2f} nats ({outcome['kl_low']:.2f} to {outcome['kl_high']:.2f})"),
        ("KL of the training batches", ", ".join(f"{value:.2f} (update {update})" for update, value in course)),
    ]
    for when, values in zip(("first", "last"), run["scores"], strict=True):
        spread = ", ".join(f"{value:+.2f}" for value in values)
        rows.append((f"rewards of the {when} update: 10th, 50th, 90th percentile", f"{spread} sd"))
    length = f"{outcome['length_before']:.0f} -> {outcome['length_after']:.0f} tokens"
    cost = f"{run['operations'] / 1e12:.1f} TFLOP, {run['minutes']:.0f} minutes, {run['memory_gb']:.1f} GB"
    return [
        *rows,
        ("the policy's perplexity of English text", to(run["text"])),
        ("the reference's perplexity of the policy's texts", to(run["strangeness"])),
        ("length of an answer", length),
        ("total compute, without the reward model's training", cost),
    ]


def gamed_sentence(run: Row) -> str:
    """How often the second judge thinks less of what the first one thinks more of."""
    if not run["risen"]:
        return f"No answer's score rose by more than {LEAST_GAIN} sd."
    low, high = map(in_percent, wilson(run["gamed"] / run["risen"], run["risen"]))
    change, half = run["second"][0], run["second"][1] or 0.0
    return (
        f"The score of {run['risen']} of {run['answers']} answers rose by more than {LEAST_GAIN} sd. Of {run['gamed']} "
        f"of these the second judge thinks less than of the answer before: 95 % interval {low} to {high}. If the two "
        f"judges had nothing to do with each other, it would be half. Over all answers the second judge's opinion "
        f"changed by {change:+.2f} sd, plus or minus {half:.2f}."
    )


def to(ends: Sequence[float] | None) -> str:
    """A perplexity at first, and at last."""
    return f"{ends[0]:.2f} -> {ends[1]:.2f}" if ends else "not measured"


def in_percent(share: float) -> str:
    """Whole."""
    return f"{100 * share:.0f} %"


if __name__ == "__main__":
    main()
