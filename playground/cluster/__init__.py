"""Runs that are computed on other machines: one detached driver for each sweep keeps their folders here as mirrors.

The page, the command line and the reconciler see ordinary runs: living, because the driver holds their locks. Never
imports torch or gradio; what a place needs is imported when it is used.
"""

from playground.cluster.handing import hand_over
from playground.cluster.place import PLACES, Options, check, options_of

__all__ = ["PLACES", "Options", "check", "hand_over", "options_of"]
