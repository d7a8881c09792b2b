"""Show the examples in docstrings as code; used by `make site`."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^( *)>>> (?:.*\n?)(?:\1.*\S.*\n?)*", re.MULTILINE)


class Doctests(griffe.Extension):
    """Put the examples of every docstring into Markdown code blocks."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Format the examples in a loaded object's docstring as code."""
        if not obj.is_alias and obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    r"""Return a docstring in which each example, up to an empty line, is a code block.

    >>> fenced("Add.\n\n>>> 1 + 1\n2\n\nMore.")
    'Add.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore.'
    """
    return _EXAMPLE.sub(_block, text)


def _block(found: re.Match[str]) -> str:
    end = "\n" if found[0].endswith("\n") else ""
    return f"{found[1]}```pycon\n{found[0].rstrip()}\n{found[1]}```{end}"
