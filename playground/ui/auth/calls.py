"""Which of Gradio's functions a request calls, and whether it may be called like that.

The page calls its own handlers by Gradio's numbers, and the functions of its parts by the numbers of these; programs
call what is offered to them by name. Gradio lets anyone call anything by either. So `middleware` asks `refusal_of`
before it passes a call on: by name only what is offered, and by number anything else only from a page of this server's
in a browser, which says so with every request. A program could say the same: what a function does is guarded by
`access` all the same. Plain functions; knows Gradio's addresses.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from gradio_client.utils import is_http_url_like
from starlette.datastructures import Headers

# docs/upstream.md#private-events-are-called-by-their-names-all-the-same
BY_NAME = re.compile(r"/gradio_api/call/(?P<named>v2/)?(?P<name>[^/]+)/?(?P<event>[^/]+)?/?")
BY_NUMBER = re.compile(r"/gradio_api/(queue/join|run/predict)/?")
OF_PARTS = re.compile(r"/gradio_api/component_server/?")
MCP = re.compile(r"/gradio_api/mcp/?")
TOOL = re.compile(r"[A-Za-z0-9_]{1,128}")
MOST_TOLD = 1_000  # characters of a notification
FOR_THE_PAGE = "Only the page itself may call this. Programs call the functions that docs/api.md lists, by their names."
NOT_FETCHED = "Upload the file itself; addresses are not fetched."
ONE_MESSAGE = "Send one message of the Model Context Protocol, as JSON. See docs/api.md."
Refusal = tuple[int, str]  # status and sentence


class Endpoint(NamedTuple):
    """Something that programs may call by its name: Gradio's number of it, its parameters and those it must have."""

    number: int
    parameters: tuple[str, ...]
    required: tuple[str, ...]


def refusal_of(path: str, headers: Headers, data: Any, endpoints: Mapping[str, Endpoint]) -> Refusal | None:
    """Status and sentence of a call that is none, or not for who sends it.

    Args:
        path: without the root path. data: the body, parsed; None where it is no JSON, or there is none.
        endpoints: by name, what is offered to programs.
    """
    if _names_address(data):
        return 400, NOT_FETCHED
    if match := BY_NAME.fullmatch(path):
        endpoint = endpoints.get(match["name"])
        if endpoint is None:
            return 404, f"There is nothing of this name to be called. There are: {', '.join(sorted(endpoints))}."
        if match["event"]:
            return None
        return _wrong_arguments(endpoint, data, by_name=bool(match["named"]))
    if MCP.fullmatch(path):
        if isinstance(data, dict) and _is_asked(data):
            return None
        return (400, ONE_MESSAGE)
    numbers = {endpoint.number for endpoint in endpoints.values()}
    by_number = bool(BY_NUMBER.fullmatch(path)) and _number_in(data) not in numbers
    if (by_number or OF_PARTS.fullmatch(path)) and not from_page(headers):
        return (403, FOR_THE_PAGE)
    return None


def _names_address(data: Any) -> bool:
    """Whether a file is named by an address: Gradio would download it, however large, before any handler is asked.
    docs/upstream.md#a-file-named-by-an-address-is-fetched-whatever-its-size"""
    left = [data]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            if is_http_url_like(value.get("path")):
                return True
            left += value.values()
        elif isinstance(value, list):
            left += value
    return False


def from_page(headers: Headers) -> bool:
    """Whether a browser says that a page sent it; `middleware` has refused those of other sites already."""
    return "origin" in headers or "sec-fetch-site" in headers


def _is_asked(message: Mapping[str, Any]) -> bool:
    """Whether an agent asks for something, or says something short. All else the protocol's library would write to the
    log as it is: answers to what no one has asked, tools of any name, long notifications."""
    parameters = message.get("params")
    name = None
    if isinstance(parameters, Mapping):
        name = parameters.get("name")
    is_tool = name is None or (isinstance(name, str) and TOOL.fullmatch(name))
    short = "id" in message or len(str(parameters)) <= MOST_TOLD
    return bool(isinstance(message.get("method"), str) and is_tool and short)


def _number_in(data: Any) -> Any:
    number = None
    if isinstance(data, dict):
        number = data.get("fn_index")
    if isinstance(number, int) and not isinstance(number, bool):
        return number
    return None


def _wrong_arguments(endpoint: Endpoint, data: Any, by_name: bool) -> Refusal | None:
    """Gradio itself would say nothing of what is missing or too much."""
    names = endpoint.parameters
    arguments = None
    if by_name and isinstance(data, dict):
        arguments = data
    if by_name and arguments is not None:
        lacking, unknown = set(endpoint.required) - set(arguments), set(arguments) - set(names)
        words = [f"`{name}` is missing." for name in sorted(lacking)] + [
            f"There is no `{name[:40]}`." for name in unknown
        ]
        if words:
            return (422, f"{' '.join(words[:5])} {_takes(names)}")
        return None
    values = None
    if isinstance(data, dict):
        values = data.get("data")
    if by_name or not isinstance(values, list) or len(values) != len(names):
        form = "an object of them" if by_name else '{"data": [...]} with each of them'
        return 422, f"Send JSON: {form}. {_takes(names)}"
    return None


def _takes(names: Collection[str]) -> str:
    if names:
        return f"The parameters are: {', '.join(names)}."
    return "It has no parameters."
