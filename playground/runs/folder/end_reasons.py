"""How a run can end: one word for each reason, with a title and what to do about it, for page, command line and docs.

Knows nothing of files or processes; `training` and `runs` write the words, everybody shows them.
"""

from __future__ import annotations

from typing import NamedTuple

from playground.errors import LESS_MEMORY


class End(NamedTuple):
    """One reason. `remedy` is a sentence that says what to do; empty where there is nothing to mend.
    `resumable`: going on from the last checkpoint makes sense as it is."""

    title: str
    remedy: str
    resumable: bool = True


ENDS: dict[str, End] = {
    "": End("Finished", "", resumable=False),
    "stopped": End("Stopped", "Resume it to make the updates that are left."),
    "time_limit": End("Time is up", "Resume it, or give it more minutes (max_minutes)."),
    "invalid": End("Settings cannot be run", "Mend the settings that the message names, and start again.", False),
    "model": End(
        "The model cannot be loaded",
        "Choose another model, or mend its folder as the message says, and start again.",
        False,
    ),
    "out_of_gpu_memory": End(
        "The GPU ran out of memory",
        LESS_MEMORY,
        False,
    ),
    "out_of_memory": End(
        "The machine ran out of memory",
        f"Close other programs. {LESS_MEMORY}",
    ),
    "diverged": End(
        "Training diverged", "Lower ppo.learning_rate or raise kl.coef, and start again from the settings of this run."
    ),
    "disk_full": End("The disk is full", "Free some space, then resume: the last checkpoint is whole."),
    "killed": End("The worker was killed", "Resume it: what it did up to its last checkpoint is kept."),
    "stalled": End("The worker did not answer", "Resume it; if it stalls again, restart the machine."),
    "server_lost": End(
        "The server ended, and the run with it", "Resume it, or start the server with the policy `survive`."
    ),
    "helper_lost": End(
        "A process of the run was lost",
        "Resume it: what it did up to its last checkpoint is kept. If that happens again, memory may be short: take "
        f"fewer processes (ranks). {LESS_MEMORY}",
    ),
    "place_lost": End(
        "The place where it was computed was lost",
        "Resume it, here or with its sweep: what came here up to its newest checkpoint is kept.",
    ),
    "moved": End(
        "Its folder was moved while it trained",
        "Resume it where it is now: what it did up to its last checkpoint is kept. Rename a run after it has ended.",
    ),
    "damaged": End("The record of this run is damaged", "Resume it, or start again from its settings."),
    "bug": End("Something unexpected went wrong", "Read the end of the log; then resume, or start again."),
}


def end_of(reason: str) -> End:
    """What is known of a reason; one that this version does not know is told as it is."""
    return ENDS.get(reason) or End(reason.replace("_", " ").capitalize(), "Read the end of the log.")
