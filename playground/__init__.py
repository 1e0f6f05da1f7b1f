"""RLHF Playground: train a small language model with PPO, watch it, and compare it with what it was."""

import sys

__version__ = "0.1.0"

if sys.version_info < (3, 11):  # noqa: UP036 - before anything that an older one cannot import
    sys.exit('Python 3.11 or newer is needed. In the header of a Space: python_version: "3.12".')
