"""Parts of the page that we draw ourselves: `gr.HTML` with a value, each drawn by one ES module from static/.

The template is always empty. A module builds its part of the page with text nodes from `props`, writes edits into
`props.value`, and triggers Gradio's `input` event; so data can never become markup or template code. (Functions, not
subclasses: for a subclass of a component Gradio writes a .pyi file into the source,
docs/upstream.md#a-subclass-of-a-component-writes-into-the-source.)
"""

from __future__ import annotations

from typing import Any

import gradio as gr

from playground.ui import own_files

TITLE: dict[str, Any] = {"elem_classes": ["panel-title"], "apply_default_css": False}  # of HTML above a panel
AT_ONCE: dict[str, Any] = {"show_progress": "hidden", "queue": False, "api_visibility": "private"}  # of an event
# Of one whose handler asks the model service: one question at a time of each page, two of all pages.
ASKING: dict[str, Any] = {
    "show_progress": "hidden",
    "trigger_mode": "once",
    "concurrency_limit": 2,
    "api_visibility": "private",
}


def widget(module: str, value: Any, *, page: str | None = None, **options: Any) -> gr.HTML:
    """Load the script `<module>.js` of static/ and call its `mount(element, props, {trigger, watch, server})`.

    Args:
        page: the script is loaded when this page is in view for the first time; None: at once.
        options: for `gr.HTML`; what is none of its own becomes one of `props`. `lists`: names of what `page.ahead`
            sends once for all parts, which become `props` too.
    """
    return gr.HTML(
        value,
        html_template="",
        js_on_load=f"import(new URL('{_script('core/mount')}', document.baseURI)).then((m) => "
        "m.mount(element, props, { trigger, watch, server }));",
        apply_default_css=False,
        module=module,
        page=page,
        **options,
    )


def choice(value: Any, choices: Any, title: str, place: str, **options: Any) -> gr.HTML:
    """A menu of (label, value) pairs. Of the options, `help` says what it is, `other` what else can be typed."""
    options = {"help": "", "other": "", **options}
    return widget("core/choice", value, elem_id=place, place=place, choices=choices, title=title, **options)


def offering(part: gr.HTML, choices: Any, **value: Any) -> dict[str, Any]:
    """An update of such a menu. For a part that is not drawn yet Gradio takes its props for all that there are."""
    return gr.update(**{**part.props, "choices": choices, **value})


def modules(demo: gr.Blocks, page: str | None) -> list[str]:
    """The scripts of a page's parts, as files of static/."""
    parts = [block.props for block in demo.blocks.values() if isinstance(block, gr.HTML) and "module" in block.props]
    return sorted({f"{props['module']}.js" for props in parts if props["page"] == page})


def calling(module: str, call: str, argument: str = "") -> str:
    """JavaScript for a Gradio event: `call` of a module with the event's one value, if it has one."""
    imported = f"import(new URL('{_script(module)}', document.baseURI))"
    return f"({argument}) => {{ {imported}.then((module) => module.{call}({argument})); }}"


def _script(module: str) -> str:
    return own_files.address(f"{module}.js")
