"""How a run can end: one word for each reason, with a title and what to do about it, for page, command line and docs.

Knows nothing of files or processes; `training` and `runs` write the words, everybody shows them.
"""

from __future__ import annotations

from typing import NamedTuple

from playground.errors import LESS_MEMORY


class EndReason(NamedTuple):
    """One reason. `remedy` is a sentence that says what to do; empty where there is nothing to mend.
    `resumable`: going on from the last checkpoint makes sense as it is."""

    title: str
    remedy: str
    resumable: bool = True


ENDS: dict[str, EndReason] = {
    "": EndReason("Finished", "", resumable=False),
    "stopped": EndReason("Stopped", "Resume it to make the updates that are left."),
    "time_limit": EndReason("Time is up", "Resume it, or give it more minutes (max_minutes)."),
    "invalid": EndReason("Settings cannot be run", "Mend the settings that the message names, and start again.", False),
    "model": EndReason(
        "The model cannot be loaded",
        "Choose another model, or mend its folder as the message says, and start again.",
        False,
    ),
    "out_of_gpu_memory": EndReason(
        "The GPU ran out of memory",
        LESS_MEMORY,
        False,
    ),
    "out_of_memory": EndReason(
        "The machine ran out of memory",
        f"Close other programs. {LESS_MEMORY}",
    ),
    "diverged": EndReason(
        "Training diverged", "Lower ppo.learning_rate or raise kl.coef, and start again from the settings of this run."
    ),
    "disk_full": EndReason("The disk is full", "Free some space, then resume: the last checkpoint is whole."),
    "killed": EndReason("The worker was killed", "Resume it: what it did up to its last checkpoint is kept."),
    "stalled": EndReason("The worker did not answer", "Resume it; if it stalls again, restart the machine."),
    "server_lost": EndReason(
        "The server ended, and the run with it", "Resume it, or start the server with the policy `survive`."
    ),
    "helper_lost": EndReason(
        "A process of the run was lost",
        "Resume it: what it did up to its last checkpoint is kept. If that happens again, memory may be short: take "
        f"fewer processes (ranks). {LESS_MEMORY}",
    ),
    "place_lost": EndReason(
        "The place where it was computed was lost",
        "Resume it, here or with its sweep: what came here up to its newest checkpoint is kept.",
    ),
    "moved": EndReason(
        "Its folder was moved while it trained",
        "Resume it where it is now: what it did up to its last checkpoint is kept. Rename a run after it has ended.",
    ),
    "damaged": EndReason("The record of this run is damaged", "Resume it, or start again from its settings."),
    "bug": EndReason("Something unexpected went wrong", "Read the end of the log; then resume, or start again."),
}


def end_of(reason: str) -> EndReason:
    """What is known of a reason; one that this version does not know is told as it is."""
    return ENDS.get(reason) or EndReason(reason.replace("_", " ").capitalize(), "Read the end of the log.")
