"""The web page: the only package that imports gradio. It reads run directories and starts workers; it never trains.

Importing it switches off Gradio's and the hub's telemetry, which must happen before gradio itself is imported.
"""

import os

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
