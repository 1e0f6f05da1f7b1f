"""docs/results.md is what its command makes of the figures beside it."""

from __future__ import annotations

from bench import results_page


def test_the_page_in_the_repository_is_made_of_the_figures_beside_it() -> None:
    assert results_page.PAGE.read_text(encoding="utf-8") == results_page.page(results_page.read(results_page.PRESETS))
