"""Tables: every figure under our names and under TRL's, and text that a spreadsheet does not run."""

import csv
import io
import math

import pytest

from playground.exports import csv_tables
from playground.runs.folder.records import Evaluation, Sample, UpdateMetrics
from tests.support import sample, small_config, update_metrics

TRL_NAMES = {  # as TRL 1.12's PPOTrainer logs them, but for what we do not keep
    *(f"objective/{name}" for name in ("kl", "entropy", "non_score_reward", "rlhf_reward", "scores")),
    *("policy/approxkl_avg", "policy/clipfrac_avg", "loss/policy_avg", "loss/value_avg"),
    *("val/ratio", "val/num_eos_tokens", "lr", "episode"),
}


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_trl_s_figures_are_ours_in_its_units():
    ours = {"kl_coef": 0.5, "perplexity_reference": math.exp(0.7), "completion_length": 10.0, "eos_fraction": 0.75}
    figures = csv_tables.trl_figures(update_metrics(2, learning_rate=3e-4, **ours), small_config())
    assert set(figures) == TRL_NAMES
    sums = {"objective/kl": 2.0, "objective/non_score_reward": -1.0, "objective/scores": 1.0}
    sums |= {"objective/rlhf_reward": 0.0, "val/num_eos_tokens": 36, "episode": 128, "lr": 3e-4}
    assert {name: figures[name] for name in sums} == sums
    assert figures["objective/entropy"] == pytest.approx(10 * 0.7 - 2.0)  # -log pi = -log pi_ref - log(pi / pi_ref)
    nothing = csv_tables.trl_figures(update_metrics(1, kl_to_reference=None), small_config())
    assert nothing["objective/entropy"] is None
    assert nothing["objective/non_score_reward"] is None


def test_the_table_of_updates_has_every_field_terms_estimates_and_the_text_s_perplexity():
    metrics = [
        update_metrics(1, terms={"=length": 3.0}, kl_estimates={"k3": 0.5}),
        update_metrics(2, terms={"=length": None}, kl_estimates={"k3": 0.25}, score_mean=None),
    ]
    evaluations = [Evaluation(update=2, stage="after", perplexity_text=9)]
    table = rows(csv_tables.metrics_csv(small_config(), metrics, [], evaluations))
    by_name = {"terms", "contributions", "kl_estimates", "kl_spreads"}
    added = {"terms.length", "kl_estimates.k3", "perplexity_text", "changed_before"}
    assert set(table[0]) == UpdateMetrics.model_fields.keys() - by_name | TRL_NAMES | added
    columns = {name: [row[name] for row in table] for name in ("terms.length", "score_mean", "perplexity_text")}
    assert columns == {"terms.length": ["3.0", ""], "score_mean": ["0.5", ""], "perplexity_text": ["", "9.0"]}
    assert "perplexity_text" not in rows(csv_tables.metrics_csv(small_config(), metrics, []))[0]


def test_the_table_of_samples_has_every_field_and_runs_no_formula():
    samples = [
        sample(0, "before", 1.0, completion='=cmd|"x"', prompt="a\nb", scores={"length": 3.0}),
        sample(0, "before", None, completion=" @SUM(1)", kl=-2.0),
    ]
    first, second = rows(csv_tables.samples_csv(samples, small_config()))
    assert set(first) == Sample.model_fields.keys() - {"scores", "judges", "behaviours"} | {"scores.length"}
    assert (first["completion"], first["prompt"], first["scores.length"]) == ('\'=cmd|"x"', "a\nb", "3.0")
    assert (second["completion"], second["kl"]) == ("' @SUM(1)", "-2.0")
