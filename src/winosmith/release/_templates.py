"""The templates of a release's texts, and the filters with which they format values.

In Markdown each value is escaped, unless a filter has returned it as Markdown already.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from winosmith.escape import for_json, for_markdown, markdown_block, markdown_code
from winosmith.release._licences import hub_licence
from winosmith.report import shown
from winosmith.text import number_of

if TYPE_CHECKING:
    from jinja2 import Environment


class _Ready(str):
    """A text that is escaped already."""


def render(name: str, /, **values: Any) -> str:
    """Return the text of a template; in templates of Markdown each value is escaped."""
    return _environment(".md." in name).get_template(name).render(**values)


@cache
def _environment(markdown: bool) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(  # noqa: S701 - no HTML; values are escaped for each output
        loader=PackageLoader("winosmith.release"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_escaped if markdown else None,
    )
    environment.filters |= {
        "block": lambda text: _blocks([text]),
        "blocks": _blocks,
        "code": lambda text: _Ready(markdown_code(text)),
        "digits": lambda number: f"{number:,}",
        "hub_licence": hub_licence,
        "hub_size": _hub_size,
        "json": lambda value: _Ready(for_json(json.dumps(value, ensure_ascii=False))),
        "number_of": number_of,
        "ready": _Ready,
        "shown": shown,
        "stated": lambda text: text or "not stated",
    }
    return environment


def _escaped(value: object) -> str:
    if isinstance(value, _Ready):
        return value
    return f"{value:,}" if isinstance(value, int) else for_markdown(value)


def _blocks(texts: Iterable[str | None]) -> _Ready:
    """Return paragraphs of Markdown by the makers, or "not stated"."""
    found = [block for text in texts if (block := markdown_block(text or "").strip())]
    return _Ready("\n\n".join(found) or "not stated")


def _hub_size(problems: int) -> str:
    """Return the size category of the Hugging Face hub."""
    names = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M")
    return next((name for at, name in enumerate(names) if problems < 10 ** (at + 3)), "n>1M")
