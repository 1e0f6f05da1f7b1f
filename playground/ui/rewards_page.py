"""The Rewards page: try rewards on text before any training, test a reward model, train one from preference pairs.

`page` calls `build`; each section lays itself out.
"""

from __future__ import annotations

from pathlib import Path

import gradio as gr

from playground.runs.model_service import ModelService
from playground.ui import reward_check, reward_training, train_page, workbench
from playground.ui.access import Access


def build(outputs: Path, service: ModelService, train: train_page.Train, access: Access) -> None:
    """Lay out the sections of the page."""
    with gr.Row(elem_id="workbench", equal_height=False):
        workbench.build(outputs, service, train, access)
    with gr.Column(elem_id="reward-check"):
        reward_check.build(outputs, service, train, access)
    with gr.Column(elem_id="reward-training"):
        reward_training.build(outputs, access)
