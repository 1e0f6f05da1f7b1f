"""The texts of an update under six formulas: what a formula pushes a token by is what a trainer that has it learns."""

import numpy as np
import pytest

from playground.training.loop.slow_motion import Recorder
from playground.training.service.what_if import recomputed
from tests.support import data_beside
from tests.training import tiny

GROUP = {"ppo__samples_per_prompt": 4}
FORMULAS, OTHERS = data_beside(__file__, "formulas.yaml").values()


def trained(updates, **changes):
    """The trace of the last of some updates, and of each row what its tokens got in the last step that read it: minus
    the gradient of the loss by their log-ratios, as PyTorch has it."""
    trainer = tiny.trainer(texts=("abc", "b"), ppo__value_coef=0.0, **changes)
    for _ in range(updates - 1):
        trainer.update()
    trainer.trace_hook = Recorder(trainer)
    passes, forward = [], trainer.forward

    def watched(rollout, rows):
        found = forward(rollout, rows)
        if found.log_ratio.requires_grad:
            found.log_ratio.retain_grad()
            passes.append((rows.tolist(), rollout.episodes.lengths[rows].tolist(), found.log_ratio))
        return found

    trainer.forward = watched
    trainer.update()
    pushes = {}
    for rows, lengths, log_ratio in passes:
        pushes |= {row: -part.numpy() for row, part in zip(rows, log_ratio.grad.split(lengths), strict=True)}
    trace = trainer.trace_hook.trace()
    assert trace is not None
    return trace, pushes


def assert_pushed(trace, formula, pushes):
    for text, pushed in zip(trace.texts, formula.texts, strict=True):
        assert pushed.left_out == (text.row not in pushes)
        assert len(pushed.pushes) == len(text.pieces)
        expected = pushes.get(text.row, np.zeros(len(text.pieces)))
        assert np.allclose(pushed.pushes, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in FORMULAS | OTHERS if name != "reinforce"])
def test_the_pushes_of_the_run_s_own_formula_are_the_gradients_of_its_trainer(name):
    bold = {"ppo__learning_rate": 0.02, "ppo__num_epochs": 4, "kl__coef": 0.3}
    trace, pushes = trained(3, **bold | (FORMULAS | OTHERS)[name])
    (own,) = [formula for formula in trace.formulas if formula.is_own]
    assert own.name == (name if name in FORMULAS else "own")
    assert_pushed(trace, own, pushes)
    assert max(np.abs(push).max() for push in pushes.values()) > 1e-3, "the test needs a gradient"
    last = [step for step in trace.steps if step.epoch == trace.steps[-1].epoch]
    assert own.loss == pytest.approx(np.mean([step.policy_loss for step in last]), abs=1e-6)
    assert own.clipped == sum(step.clipped for step in last)
    assert own.clipped > 0, "the test needs the clip"
    again = next(formula for formula in recomputed(trace, {}).formulas if formula.is_own)
    assert_pushed(trace, again, pushes)


def test_a_run_shows_what_trainers_of_other_methods_learn_from_the_same_texts():
    """In the first step of a run nothing has been learned, so all write the same."""
    one_step = {"ppo__num_epochs": 1, "ppo__minibatch_size": 8}
    trace, _ = trained(1, **GROUP, **one_step)
    by_name = {formula.name: formula for formula in trace.formulas}
    assert list(by_name) == list(FORMULAS)
    for name, settings in FORMULAS.items():
        theirs, pushes = trained(1, **settings, **one_step)
        assert [text.pieces for text in theirs.texts] == [text.pieces for text in trace.texts]
        assert_pushed(trace, by_name[name], pushes)
    assert len({str(formula.texts[0].pushes) for formula in trace.formulas}) == len(FORMULAS), "no two are the same"


def test_one_text_for_a_prompt_has_no_group_formula_and_a_group_that_scores_alike_is_marked():
    trace, _ = trained(1)
    missing = {formula.name for formula in trace.formulas if formula.why_none}
    assert missing == {"grpo", "dr_grpo", "dapo", "gspo"}
    trainer = tiny.trainer(texts=("abc", "b"), **GROUP)
    score = trainer.scorer
    trainer.scorer = lambda *given: score(*given)._replace(scores=[1.0] * 4 + [0.0, 1.0, 2.0, 3.0])
    trainer.trace_hook = Recorder(trainer)
    trainer.update()
    trace = trainer.trace_hook.trace()
    without_leash = next(formula for formula in trace.formulas if formula.name == "dr_grpo")
    assert [text.alike for text in trace.texts] == [text.row < 4 for text in trace.texts]
    assert any(text.alike for text in trace.texts)
    for text, pushed in zip(trace.texts, without_leash.texts, strict=True):
        assert text.alike == (not any(pushed.pushes)), "a group that scores alike teaches nothing"
