"""The Rewards page: try rewards on text before any training, train a reward model from pairs, test one.

`page` calls `build`; each section lays itself out.
"""

from __future__ import annotations

from pathlib import Path

import gradio as gr

from playground.runs.model_service import ModelService
from playground.ui.auth.access import Access
from playground.ui.rewards import self_test_part, training_part, workbench_part
from playground.ui.train import train_page


def build(outputs: Path, service: ModelService, train: train_page.Train, access: Access) -> None:
    """Lay out the sections of the page."""
    with gr.Row(elem_id="workbench", equal_height=False):
        workbench_part.build(outputs, service, train, access)
    with gr.Column(elem_id="reward-training"):
        training = training_part.build(outputs, access)
    with gr.Column(elem_id="reward-check"):
        self_test_part.build(outputs, service, train, access, training)
