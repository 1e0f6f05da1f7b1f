"""Runs that are computed on other machines, in folders that both sides see: the same worker, started by a backend.

The page and the command line see ordinary runs, and read their folders as ever. Never imports torch or gradio; what a
backend needs is imported when it is used.
"""

from playground.runs.cluster.backend import BACKENDS, check, for_processes
from playground.runs.cluster.remote_jobs import LOOK_SECONDS, ClusterThread, elsewhere, look_after

__all__ = ["BACKENDS", "LOOK_SECONDS", "ClusterThread", "check", "elsewhere", "for_processes", "look_after"]
