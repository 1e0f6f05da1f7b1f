"""The Rewards page: try rewards on text before any training, test a reward model, train one from preference pairs.

`page` calls `build`; each section lays itself out.
"""

from __future__ import annotations

from pathlib import Path

import gradio as gr

from playground.runs.model_service import ModelService
from playground.ui import reward_training


def build(outputs: Path, service: ModelService) -> None:
    """Lay out the sections of the page."""
    with gr.Column(elem_id="workbench"):
        pass
    with gr.Column(elem_id="reward-training"):
        reward_training.build(outputs)
