"""Parts of the page that we draw ourselves: `gr.HTML` with a value, each drawn by one ES module from static/.

The template is always empty. A module builds its part of the page with text nodes from `props`, writes edits into
`props.value`, and triggers Gradio's `input` event when a person changed something; so data can never become markup or
template code. (Functions, not subclasses: for a subclass of a component Gradio writes a .pyi file into the source.)
Knows gradio and nothing of runs. The pages call it.
"""

from __future__ import annotations

from typing import Any

import gradio as gr


def widget(module: str, value: Any, **options: Any) -> gr.HTML:
    """Load `playground/static/<module>.js` and call its `mount(element, props, {trigger, watch, server})`."""
    return gr.HTML(
        value,
        html_template="",
        js_on_load=f"Promise.all(['{module}', 'core/dom'].map((name) => "
        "import(new URL(`playground/static/${name}.js`, document.baseURI))))"
        ".then(([part, dom]) => part.mount(element, props, { trigger, watch, server: dom.answering(server) }));",
        apply_default_css=False,
        **options,
    )
