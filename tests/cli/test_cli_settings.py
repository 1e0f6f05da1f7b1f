"""The table of settings: the same in the terminal, in docs/settings.md and for who names one in Python."""

import pytest

from playground.cli import settings_command
from playground.config import knobs
from playground.errors import InvalidConfig
from tests.support import PROJECT, data_beside

TABLES = data_beside(__file__, "tables.yaml")


def test_the_page_on_settings_is_what_is_declared(run):
    said = run("settings", "--markdown").out
    assert (PROJECT / "docs" / "settings.md").read_text(encoding="utf-8") == said, "run `settings --markdown` again"
    assert not [path for path in knobs() if f"| `{path}` | **" not in said]
    beta = next(line for line in said.splitlines() if line.startswith("| `kl.coef` | **Leash (beta).** The score that"))
    assert beta.endswith(" | 0.25 | 0 to 1,000 sd of score per nat; live | `kl_coef`, `beta`, `init_kl_coef` |")
    assert "| `pairs.limit` | **Number of pairs.**" in said.partition("## Of the training of a reward model")[2]


@pytest.mark.parametrize(("word", "path"), TABLES["found"])
def test_a_setting_is_found_by_path_label_meaning_or_the_name_in_trl(run, word, path):
    assert run("settings", word).out.startswith(f"{path}")
    assert path in [one["path"] for one in run("settings", word, "--json").data]


def test_a_word_that_no_setting_has_gets_one_that_is_near(run):
    result = run("settings", "kl_coeff")
    assert (result.code, result.out) == (2, "")
    assert "Did you mean `kl_coef`?" in result.err


@pytest.mark.parametrize(("name", "path"), TABLES["set_by_name"])
def test_a_setting_may_be_named_by_its_last_part_or_as_trl_does(name, path):
    assert settings_command.field_of(name) == path


def test_the_command_line_takes_the_names_that_python_takes(run):
    result = run("train", "kinder-reviews", "--set", "beta=-1", "--set", "num_mini_batches=4")
    assert (result.code, result.out) == (2, "")
    assert "num_mini_batches: is a name of other trainers. The nearest here is ppo.minibatch_size" in result.err
    result = run("sweep", "kinder-reviews", "--vary", "beta=-1,0.1")
    assert (result.code, result.out) == (2, "")
    assert "kl.coef: must be at least 0" in result.err


@pytest.mark.parametrize(("name", "words"), TABLES["refused_names"])
def test_a_name_of_several_settings_or_of_other_values_is_refused_with_what_is_meant(name, words):
    with pytest.raises(InvalidConfig, match=words):
        settings_command.field_of(name)
