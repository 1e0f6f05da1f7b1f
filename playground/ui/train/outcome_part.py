"""What comes out of a run, on the page: the outcome in words and figures, and saving the model.

train/outcome.js draws it. Saving asks the model service and writes below the outputs folder, nowhere else; there is no
push from the page, for the server's token is not for those who see it. Knows `exports` and run directories.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from playground.analysis import compute, plateau
from playground.exports import saving
from playground.exports.report import Report
from playground.runs import history
from playground.runs.model_service import ModelService
from playground.ui.train import form

PHASES = {
    "generate": "writing texts, reference included",
    "score": "scoring them",
    "update": "learning from them",
    "evaluate and save": "looks at the fixed prompts, saving",
}


def outcome(report: Report) -> dict[str, Any]:
    """The plateau, what rose and what it means, and the compute ledger, in words ready to be shown."""
    found = report.plateau
    return {
        "knee": None if found.update is None else {"update": found.update, "sentence": plateau.plateau_sentence(found)},
        "sentences": report.remarks,
        "compute": report.ledger and _compute(report.ledger),
        "adapter": report.config.model.adapter.kind == "lora",
    }


def _compute(ledger: compute.Ledger) -> dict[str, Any]:
    phases = [
        {
            "name": PHASES[phase.name],
            "seconds": round(phase.seconds, 1),
            "share": round(phase.seconds / ledger.seconds, 3) if ledger.seconds else 0.0,
            "operations": compute.operations_in_words(phase.operations),
        }
        for phase in ledger.phases
    ]
    return {
        "sentence": compute.ledger_sentence(ledger),
        "parameters": ledger.parameters,
        "trained": ledger.trained_parameters,
        "phases": phases,
    }


def functions(outputs: Path, service: ModelService | None) -> list[Callable[[Any], dict[str, Any]]]:
    """The server function that saves the policy of a run; without a service it says how to do it by hand."""

    def save_model(asked: Any) -> dict[str, Any]:
        """Save a policy: {run, as}. Gives back the folder and a sentence, or an error."""
        if service is None:
            return {"error": "Saving from the page is for one's own machine. Use `python -m playground save`."}
        kind: saving.Kind = "adapter" if form.entry(asked, "as") == "adapter" else "merged"
        run = history.find_run(outputs, str(form.entry(asked, "run")))
        saved = saving.save(run, service, kind, saving.default_folder(run, kind), replace=True)
        size = f"{saved.bytes / 1e6:,.1f} MB"
        sentence = f"Saved after update {saved.written.update}, {size}. {saving.how_to_load(saved)}"
        return {"error": "", "folder": str(saved.folder), "sentence": sentence}

    return [save_model]
