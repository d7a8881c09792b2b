"""A sheet as a form for a browser: one HTML file that loads nothing and sends nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from winosmith.humans._answers import ANSWERS_VERSION
from winosmith.humans._instructions import DECLARED, Declared, has_blanks, words
from winosmith.humans._sheet import Sheet

if TYPE_CHECKING:
    from jinja2 import Template


def form(
    sheet: Sheet, *, subject: str | None = None, declared: Sequence[Declared] = DECLARED
) -> str:
    """Return a whole HTML page that asks a sheet's questions one at a time.

    Answers and the time of each question are kept in the browser as they are given, so that
    nothing is lost when the page is closed, and are saved to a file at the end; see
    `read_answer_form` for what is in it. The page holds no answers and no ids of problems, and its
    content security policy lets nothing run but its own script.

    Args:
        sheet: what is asked.
        subject: the code that is filled in already.
        declared: what subjects may tell of themselves.
    """
    style, script = _part("form.css"), _part("form.js")
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return _template().render(
        sheet=sheet,
        subject=subject,
        words=words(has_blanks(sheet), tuple(declared), paper=False),
        version=ANSWERS_VERSION,
        policy=policy,
        style=_as_is(style),
        script=_as_is(script),
    )


def _part(name: str) -> str:
    return files("winosmith.humans").joinpath(f"templates/{name}").read_text("utf-8")


def _digest(text: str) -> str:
    """Return what a content security policy calls a script or a style by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _as_is(text: str) -> str:
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - our own files


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("winosmith.humans"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("form.html.j2")
