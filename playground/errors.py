"""The exceptions of the project. Each message says what is wrong and what to do next, in words for a person; the
command line, the page and the worker show it as it is, and never a traceback."""

from __future__ import annotations

import errno
import os
from typing import NamedTuple

REMEDIES = {
    errno.ENOSPC: "Free some space on the disk of the outputs folder, then try again.",
    errno.EDQUOT: "Free some of this user's disk quota, then try again.",
    errno.EACCES: "Allow the user who runs the page to write to the outputs folder, then try again.",
    errno.EMFILE: "Too many files are open: close some pages, or raise the limit (ulimit -n) and start the page again.",
}

LESS_MEMORY = "Lower micro_batch_size, use LoRA, or choose a smaller model."  # where the estimate cannot say more


class Problem(NamedTuple):
    """One thing wrong with a configuration: the dotted field name and a sentence that says what to do."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class PlaygroundError(Exception):
    """Base of all errors that a person is meant to read. `reason`: the exit reason of a run that one ends."""

    reason = "invalid"

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows in the place of a traceback; IPython asks for it by this name."""
        return [str(self)]


class InvalidConfig(PlaygroundError):
    """A configuration that cannot be run. Carries every problem at once, not only the first."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class NoRoom(InvalidConfig):
    """A run that may need more than is free on the disk of its outputs folder."""

    reason = "disk_full"


class RunNotFound(PlaygroundError):
    """The named folder is not a run directory."""


class RunExists(PlaygroundError):
    """A run of that name is already there."""


class RunBusy(PlaygroundError):
    """Another run is training in the same outputs folder."""


class RunNotSteerable(PlaygroundError):
    """A run that has ended: there is nothing to pause or to change."""


class RunNotResumable(PlaygroundError):
    """A run that cannot be taken up again."""


class RunFailed(PlaygroundError):
    """A run that was waited for has ended with an error, which is told."""


class BackendUnavailable(PlaygroundError):
    """Machines that were to compute a run cannot be reached, or refuse it."""


class WorkerNotStarted(PlaygroundError):
    """The system gave no process for a run's worker; the run has ended with that."""


class NotAllowed(PlaygroundError):
    """Something that this person may not do on this page; the sentence says who may, or what can be done instead."""


class TooManyCalls(NotAllowed):
    """More of one address than there may be in a minute, or at a time."""


class OutputsNotWritable(PlaygroundError):
    """The outputs folder cannot be made or written."""


class ModelNotFound(PlaygroundError):
    """A model source that is neither shipped, nor a usable local folder."""

    reason = "model"


class ModelNotHere(ModelNotFound):
    """A model of the hub that is not in its cache on this machine: it would have to be downloaded first."""


class ModelToGet(ModelNotHere):
    """A model that is not on this machine, and that no run downloads: a person has to get it first."""


class ModelNotFetched(PlaygroundError):
    """A model that could not be got: no network, no room, or not what it should be."""

    reason = "model"


class PromptsUnusable(PlaygroundError):
    """A prompt source that cannot be read, is empty, or does not fit the model's context."""


class ExerciseUnusable(PlaygroundError):
    """A file with an exercise that cannot be read, or not be run at all."""


class PairsUnusable(PlaygroundError):
    """Preference pairs that cannot be read, lack a text, or are too few to learn from."""


class RewardFailed(PlaygroundError):
    """A reward function raised, or returned something other than one number or None for each completion."""


class RewardNotFinite(RewardFailed):
    """A reward function returned an infinite value or not a number."""


class RewardModelUnusable(PlaygroundError):
    """A learned reward that cannot score: no score head, or a tokenizer or template that does not fit."""

    reason = "model"


class TrainingDiverged(PlaygroundError):
    """A loss, gradient or weight became infinite or not a number."""

    reason = "diverged"


class ServiceUnavailable(PlaygroundError):
    """The model service (the process that generates text on demand) did not start, crashed or timed out."""


def in_words(error: PlaygroundError | OSError) -> str:
    """What to show a person: our own errors as they are; of the system's its reason, the file's name and what to do."""
    if isinstance(error, PlaygroundError):
        return str(error)
    name = os.path.basename(os.fsdecode(error.filename)) if isinstance(error.filename, (str, bytes)) else ""
    reason = error.strerror or str(error) or type(error).__name__
    remedy = REMEDIES.get(error.errno or 0, "Try again.")
    return f"This failed: {reason}{f' ({name})' if name else ''}. {remedy}"
