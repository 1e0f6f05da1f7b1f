"""Colours and fonts of the Gradio parts, matching css/page.css. All fonts come with Gradio; nothing is fetched."""

from __future__ import annotations

import gradio as gr

COLOURS = {  # of the light and the dark theme: the variables differ
    "body_background_fill": "var(--pg-page)",
    "body_text_color_subdued": "var(--pg-muted)",
    "input_placeholder_color": "var(--pg-muted)",
    "block_background_fill": "transparent",
    "block_label_background_fill": "transparent",
    "block_title_text_color": "var(--pg-text)",
    "block_info_text_color": "var(--pg-muted)",
    "input_background_fill": "var(--pg-field)",
    "input_border_color": "var(--pg-line-strong)",
    "button_primary_background_fill": "var(--pg-policy-strong)",
    "button_primary_background_fill_hover": "var(--pg-policy-hover)",
    "button_primary_text_color": "white",
}


# Weights 400 and 700: the SemiBold files in Gradio's wheel lack most letters.
FONTS = tuple(gr.themes.LocalFont(name, weights=(400, 700)) for name in ("IBM Plex Sans", "IBM Plex Mono"))


def theme() -> gr.themes.Base:
    """Indigo on slate, IBM Plex, thin borders."""
    sans, mono = FONTS
    base = gr.themes.Base(
        primary_hue=gr.themes.colors.indigo,
        secondary_hue=gr.themes.colors.indigo,
        neutral_hue=gr.themes.colors.slate,
        radius_size=gr.themes.sizes.radius_md,
        spacing_size=gr.themes.sizes.spacing_md,
        font=[sans, "ui-sans-serif", "system-ui", "sans-serif"],
        font_mono=[mono, "ui-monospace", "Consolas", "monospace"],
        text_size=gr.themes.sizes.text_md,
    )
    both = {f"{name}{theme}": value for name, value in COLOURS.items() for theme in ("", "_dark")}
    return base.set(block_border_width="0px", block_title_text_weight="600", input_border_width="1px", **both)
