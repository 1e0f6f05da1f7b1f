"""The model service says of an answer token by token what an evaluation has kept of it."""

from __future__ import annotations

import pytest

from playground.runs.folder.token_records import TokenFigures
from playground.train.service.questions import Service
from tests.train.test_token_figures import SMALL, trained_in

LORA = {"model": {"source": "pocket-1m", "adapter": {"kind": "lora"}}}
CUT = {"ppo": {**SMALL["ppo"], "learning_rate": 1e-2}, "sampling": {"max_new_tokens": 10, "top_k": 8}}
KINDS = {
    "plain": {},
    "LoRA, cut": {**LORA, **CUT},
    "own critic": {"model": {"source": "pocket-1m", "critic": "separate"}},
    "best of n": {"method": "best_of_n", "ppo": {**SMALL["ppo"], "samples_per_prompt": 4}, "prompts": {"limit": 64}},
}


@pytest.fixture(scope="module", params=KINDS)
def made(request, tmp_path_factory):
    found, _ = trained_in(tmp_path_factory.mktemp("close"), KINDS[request.param])
    return found


def asked(service, run, **question):
    (answer,) = service.tokens({"source": str(run.path), "index": None, **question})
    return answer


def test_written_again_an_answer_has_the_figures_that_its_evaluation_has_kept(made):
    service, run = Service(), made.run
    samples = {(sample.update, sample.prompt_id): sample for sample in run.samples()}
    for kept in run.token_figures():
        if kept.update not in (0, 3):
            continue
        sample = samples[kept.update, kept.prompt_id]
        side = "policy" if kept.update else "reference"
        again = asked(service, run, prompt=sample.prompt, seed=sample.seed, side=side)
        assert again["completion"] == sample.completion and again["pieces"] == kept.pieces
        assert again["score"] == pytest.approx(sample.score, abs=1e-4)
        for name in ("log_probs", "reference_log_probs", "kl", "entropies", "leash", "rewards", "values", "advantages"):
            mine, theirs = again[name], getattr(kept, name)
            if name in ("values", "advantages") and kept.update == 0:
                assert mine is None, "the critic that is kept foresees the policy that is kept"
            else:
                assert mine == (None if theirs is None else pytest.approx(theirs, abs=3e-4)), name
        assert TokenFigures(update=0, stage="after", prompt_id=0, **again).choices == again["choices"]


def test_an_answer_to_one_s_own_prompt_is_the_one_that_was_given(made):
    service, source = Service(), str(made.run.path)
    question = {"source": source, "prompt": "The film was", "num_samples": 2, "seed": 5}
    question |= {"temperature": None, "max_new_tokens": None}
    given = list(service.compare(question))
    assert {(answer["side"], answer["index"]) for answer in given} == {
        (side, index) for side in ("reference", "policy") for index in (0, 1)
    }
    for answer in given:
        again = asked(service, made.run, prompt="The film was", seed=5, index=answer["index"], side=answer["side"])
        assert again["completion"] == answer["completion"] and again["score"] == pytest.approx(answer["score"])
        if made.config.answers_each == 1:
            assert sum(again["kl"]) == pytest.approx(answer["kl"], abs=1e-4)
