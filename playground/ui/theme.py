"""Colours and fonts of the Gradio parts, matching css/page.css. All fonts come with Gradio; nothing is fetched."""

from __future__ import annotations

import gradio as gr


def theme() -> gr.themes.Base:
    """Indigo on slate, IBM Plex, thin borders.

    Weights 400 and 700: the SemiBold files in Gradio's wheel lack most letters.
    """
    sans, mono = (gr.themes.LocalFont(name, weights=(400, 700)) for name in ("IBM Plex Sans", "IBM Plex Mono"))
    return gr.themes.Base(
        primary_hue=gr.themes.colors.indigo,
        secondary_hue=gr.themes.colors.indigo,
        neutral_hue=gr.themes.colors.slate,
        radius_size=gr.themes.sizes.radius_md,
        spacing_size=gr.themes.sizes.spacing_md,
        font=[sans, "ui-sans-serif", "system-ui", "sans-serif"],
        font_mono=[mono, "ui-monospace", "Consolas", "monospace"],
        text_size=gr.themes.sizes.text_md,
    ).set(
        body_background_fill="var(--pg-page)",
        body_background_fill_dark="var(--pg-page)",
        body_text_color_subdued="var(--pg-muted)",
        body_text_color_subdued_dark="var(--pg-muted)",
        input_placeholder_color="var(--pg-muted)",
        input_placeholder_color_dark="var(--pg-muted)",
        block_background_fill="transparent",
        block_background_fill_dark="transparent",
        block_border_width="0px",
        block_label_background_fill="transparent",
        block_label_background_fill_dark="transparent",
        block_title_text_weight="600",
        block_title_text_color="var(--pg-text)",
        block_title_text_color_dark="var(--pg-text)",
        block_info_text_color="var(--pg-muted)",
        block_info_text_color_dark="var(--pg-muted)",
        input_background_fill="var(--pg-field)",
        input_background_fill_dark="var(--pg-field)",
        input_border_width="1px",
        input_border_color="var(--pg-line-strong)",
        input_border_color_dark="var(--pg-line-strong)",
        button_primary_background_fill="var(--pg-policy-strong)",
        button_primary_background_fill_dark="var(--pg-policy-strong)",
        button_primary_background_fill_hover="var(--pg-policy-hover)",
        button_primary_background_fill_hover_dark="var(--pg-policy-hover)",
        button_primary_text_color="white",
        button_primary_text_color_dark="white",
    )
