"""Caps by mode: what is at a cap is taken, what is one beyond it is refused, naming field, value and cap; and caps that
the owner of a public page has raised: for the host, or for everybody, and never beyond the device."""

import gzip
import json
import shutil

import pytest

from playground.config import RewardTrainingConfig
from playground.errors import InvalidConfig
from playground.models.architectures import CURATED
from playground.runs.folder.directory import RunDirectory
from playground.setup import admission, catalog, devices, limits
from playground.setup.devices import Device
from playground.setup.limits import LIMITS
from tests.support import data_beside, problems_of, small_config

GB = 10**9
TABLES = data_beside(__file__, "tables.yaml")
SPACE, LOCAL = LIMITS["space"], LIMITS["local"]
EVALUATED = {"evaluation": {"num_prompts": 50, "samples_per_prompt": 4, "every": 1}}
WATCHED = {"evaluation": {"num_prompts": 10, "token_samples": 64, "every": 1}, "sampling": {"max_new_tokens": 100}}
HUB, MANY = {"model": {"source": "someone/something"}}, {"ppo": {"num_updates": 501}}
SUGGESTED = {"model": {"source": CURATED[0].name}}


def nested(field, value):
    """A configuration's data with one field set."""
    for name in reversed(field.split(".")):
        value = {name: value}
    small = {"minibatch_size": 1, "micro_batch_size": 1} if field == "ppo.batch_size" else {}
    return {name: {**small, **part} if small else part for name, part in value.items()}


BEYOND = {field: 30.001 if field == "max_minutes" else cap + 1 for field, cap in SPACE.numbers.items()}
CAPS = [(field, nested(field, cap), nested(field, BEYOND[field])) for field, cap in SPACE.numbers.items()] + [
    (field, nested(field.partition(".0")[0], at), nested(field.partition(".0")[0], beyond))
    for field, at, beyond in (
        *TABLES["caps"],
        ("rewards", [{"kind": "length"}] * 8, [{"kind": "length"}] * 9),
        ("judges", [{"kind": "length"}] * 4, [{"kind": "length"}] * 5),
        ("prompts.typed", ["a" * 2000, "b"], ["a" * 2001, "b"]),
        ("prompts.typed", ["a" * 2000] * 50, ["a" * 2000] * 50 + ["b"]),
        ("prompts.system", "a" * 2000, "a" * 2001),
    )
]
CAPS += [
    (field, {**data, "ppo": {"num_updates": 48}}, {**data, "ppo": {"num_updates": 49}})
    for field, data in (("evaluation.every", EVALUATED), ("evaluation.token_samples", WATCHED))
]


def refused(capped, outputs, **data):
    return [problem.field for problem in limits.check(small_config(**data), capped, outputs)]


@pytest.mark.parametrize(("field", "at", "beyond"), CAPS)
def test_a_public_page_takes_what_is_at_a_cap_and_refuses_what_is_beyond(field, at, beyond, outputs):
    assert refused(SPACE, outputs, **at) == []
    (problem,) = limits.check(small_config(**beyond), SPACE, outputs)
    assert problem.field == field
    assert problem.message.endswith(".")
    assert "on a public page" in problem.message
    assert refused(LOCAL, outputs, **beyond) == []


def test_too_many_rewards_and_refused_kinds_are_seen_before_anything_is_made_of_them():
    bad = {"kind": "pattern", "pattern": "("}  # no pattern at all
    for data in ({"rewards": [bad]}, {"judges": [bad]}, {"behaviours": [{"measure": bad}]}, {"rewards": [bad] * 9}):
        with pytest.raises(InvalidConfig, match="on a public page"):
            limits.built(data, SPACE)


def test_every_preset_that_ships_for_the_pocket_models_can_be_run_on_a_public_page(outputs):
    for name in (*catalog.preset_groups()[catalog.INCLUDED], *catalog.lesson_preset_names()):
        config = catalog.preset(name)
        refused = [problem.field for problem in limits.check(config, SPACE, outputs)]
        large = ["ppo.batch_size", "evaluation.samples_per_prompt"] * name.startswith("chalkboard")
        assert refused == ["experiments"] * config.experiments + large, name  # of these the recording plays


def test_the_reference_may_be_a_run_of_this_page_and_no_other_folder(outputs):
    RunDirectory.create(outputs, small_config(), "mine")
    for source in ("mine", "mine/update-000040"):
        assert refused(SPACE, outputs, reference={"source": source}) == []
    (outputs / "nothing").mkdir()
    for source in ("nothing", "mine/../../etc", "mine/update-1/../..", "../outputs/mine", str(outputs / "mine"), "."):
        assert refused(SPACE, outputs, reference={"source": source}) == ["reference.source"]


def test_prompts_may_be_a_file_that_the_page_has_kept_and_no_other(outputs, tmp_path):
    folder = outputs / catalog.UPLOADS
    folder.mkdir(parents=True)
    kept, pairs, linked = (folder / name for name in ("0123456789ab-p.txt", "pairs.jsonl", "0123456789ac-p.txt"))
    kept.write_text("a\nb\n")
    pairs.write_text("{}")
    linked.symlink_to(tmp_path / "secret.txt")
    (tmp_path / "secret.txt").write_text("secret")
    assert refused(SPACE, outputs, prompts={"source": str(kept)}) == []
    for source in (pairs, linked, folder, folder / ".." / "uploads" / kept.name, folder / "0123456789ab-gone.txt"):
        assert refused(SPACE, outputs, prompts={"source": str(source)}) == ["prompts.source"]


def test_a_model_is_refused_by_its_header_and_a_reward_model_that_was_not_trained_here(outputs):
    count = json.loads((catalog.POCKET_MODELS / "pocket-2m" / "card.json").read_text())["parameters"]
    assert refused(SPACE._replace(parameters=count), outputs) == []
    assert refused(SPACE._replace(parameters=count - 1), outputs) == ["model.source"]
    folder = outputs / catalog.REWARD_MODELS / "judge"
    shutil.copytree(catalog.POCKET_MODELS / "pocket-1m", folder)
    named = {"rewards": [{"kind": "model", "source": "judge"}]}
    assert refused(SPACE, outputs, **named) == ["rewards.0.source"]
    (folder / catalog.REWARD_CARD).write_text("{}")
    assert "rewards.0.source" not in refused(SPACE, outputs, **named)


@pytest.mark.parametrize(("field", "value"), TABLES["trained_from"])
def test_a_reward_model_is_trained_from_what_ships(field, value):
    config = RewardTrainingConfig.model_validate(nested(field, value))
    assert [problem.field for problem in limits.check_reward_training(config, SPACE)] == [field]
    assert limits.check_reward_training(config, LIMITS["classroom"]) == []
    assert limits.check_reward_training(RewardTrainingConfig(), SPACE) == []


def test_uploads_are_bounded_in_bytes_rows_and_all_together(outputs, tmp_path):
    at, beyond, packed = (tmp_path / name for name in ("at.txt", "beyond.txt", "packed.txt.gz"))
    at.write_text("x\n" * 5000)
    beyond.write_text("x\n" * 5001)
    packed.write_bytes(gzip.compress(b"x\n" * 100_000))
    (outputs / catalog.UPLOADS).mkdir(parents=True)
    (outputs / catalog.UPLOADS / "old").write_bytes(b"x" * 90_001)
    small, full = SPACE._replace(upload_bytes=10_000), SPACE._replace(uploads_bytes=100_000)
    for path, capped, words in (
        (at, SPACE, ""),
        (beyond, SPACE, "5,001 rows; at most 5,000 on a public page"),
        (beyond, LOCAL, ""),
        (at, small, ""),
        (beyond, small, "10,002 bytes; at most 10,000"),
        (packed, small, "more than"),
        (at, full, "no room left"),
    ):
        said = limits.upload_problem(path, capped, outputs)
        assert words in said
        assert bool(said) == bool(words)


def of_page(word, mode="space", has_host=True):
    return limits.of_page(mode, {limits.CAPS_VARIABLE: word}, has_host)


def test_caps_for_the_host_leave_those_of_visitors_as_they_are(outputs):
    visitors, host = of_page("host")
    assert visitors is SPACE
    judged = {"rewards": [{"kind": "model", "source": "owner/judge"}]}
    for data in (HUB, SUGGESTED, MANY, {"device": "cuda:0"}, {"prompts": {"source": "owner/dataset"}}, judged):
        assert refused(visitors, outputs, **data), data
        assert not refused(host, outputs, **data), data


def test_the_host_names_no_file_of_the_machine_and_brings_no_code(outputs, monkeypatch):
    host = of_page("host").host
    (outputs / "owner" / "local").mkdir(parents=True)
    monkeypatch.chdir(outputs)  # a relative path that looks like a name on the hub
    for field, paths in TABLES["host_paths"]:
        for path in paths:
            assert refused(host, outputs, **{field: {"source": path}}) == [f"{field}.source"], path
    assert refused(host, outputs, prompts={"template_file": "a.jinja"}) == ["prompts.template_file"]
    assert refused(host, outputs, rewards=[{"kind": "pattern", "pattern": "(a+)+$"}]) == ["rewards.0.kind"]


def test_caps_raised_for_all_let_visitors_train_suggested_models_only_and_no_longer_than_before(outputs):
    visitors = of_page("all").visitors
    assert (visitors.numbers, limits.capped(small_config(), visitors).max_minutes) == (SPACE.numbers, 30)
    for model in CURATED:
        assert refused(visitors, outputs, model={"source": model.name}) == []
    for field, value in TABLES["visitors_may_not"]:
        assert refused(visitors, outputs, **nested(field, value)) == [field]
    assert refused(visitors, outputs, model={**SUGGESTED["model"], "revision": "refs/pr/1"}) == ["model.revision"]
    assert refused(visitors, outputs, device="cuda:0") == []


def test_a_word_that_is_not_known_and_a_host_that_cannot_be_are_refused_at_the_start():
    with pytest.raises(InvalidConfig, match="pocket, host, all"):
        of_page("everything")
    with pytest.raises(InvalidConfig, match="PLAYGROUND_HOST_TOKEN"):
        of_page("host", has_host=False)
    assert of_page("all", has_host=False).visitors.more == "suggested"


def test_what_does_not_fit_the_device_or_is_not_known_is_not_started(outputs, monkeypatch):
    largest = max(CURATED, key=lambda model: model.architecture.parameters)
    whole, small = small_config(model={"source": largest.name}), small_config(**SUGGESTED)

    def gpu(total, free):
        monkeypatch.setattr(devices, "available", lambda: [Device("cuda:0", "A GPU", total, free)])

    monkeypatch.setattr(admission, "check", lambda *_, **__: None)  # the hub is not there, nor room on the disk
    gpu(8 * GB, 8 * GB)
    for capped in of_page("all"):
        with pytest.raises(InvalidConfig, match=r"model\.source: does not fit.* 8 GB of cuda:0"):
            admission.admit(whole, outputs, capped)
        admission.admit(small, outputs, capped)
    admission.admit(whole, outputs, SPACE)  # which does not ask
    gpu(80 * GB, GB)  # what another run holds now counts: this one waits for it
    admission.admit(whole, outputs, of_page("host").host)
    with pytest.raises(InvalidConfig, match=r"model\.source"):
        admission.admit(small_config(**HUB), outputs, of_page("host").host)


def test_what_is_admitted_keeps_to_the_time_limit_has_whole_paths_and_says_what_it_is(outputs, tmp_path, monkeypatch):
    (tmp_path / "mine.txt").write_text("One\nTwo\nThree\n")
    monkeypatch.chdir(tmp_path)
    assert admission.admit(small_config(), outputs, SPACE).max_minutes == SPACE.numbers["max_minutes"]
    assert admission.admit(small_config(max_minutes=2), outputs, SPACE).max_minutes == 2
    mine = small_config(prompts={"source": "mine.txt"}, preset="kinder-reviews")
    assert admission.admit(mine, outputs).prompts.source == str(tmp_path / "mine.txt")
    for field, value, words in (
        ("preset", "kinder-review", "Did you mean `kinder-reviews`?"),
        ("kind", "trial", "out"),
    ):
        (problem,) = problems_of(admission.admit, small_config(**{field: value}), outputs)
        assert (problem.field, words in problem.message) == (field, True)
