"""The web page: the only package that imports gradio. It reads run directories and starts workers; it never trains.

Importing it switches off, before gradio itself is imported, Gradio's and the hub's telemetry, and Gradio's statistics
of its calls: no one reads them here, and it would keep 10,000 calls and go through all of them after each.
"""

import os
import tempfile

from playground.errors import OutputsNotWritable

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("GRADIO_ANALYTICS_MAX_EVENTS", "1")
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", str(10**9))  # calls between two looks
try:
    tempfile.gettempdir()  # Gradio asks while it is imported
except FileNotFoundError:
    raise OutputsNotWritable("No temporary folder can be written. Name one that can in the variable TMPDIR.") from None
