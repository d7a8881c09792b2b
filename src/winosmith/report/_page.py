"""The page: one HTML file that needs no network, no script and no other file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from winosmith.report._sections import Section
from winosmith.report._text import Signature, clean, shown

if TYPE_CHECKING:
    from jinja2 import Template


def page(
    title: str,
    sections: Sequence[Section],
    *,
    subtitle: str = "",
    signature: Signature | str = "",
    footer: str = "",
    language: str = "en",
) -> str:
    """Return a whole HTML page.

    It is the same text for the same input; holds no script, and a content security policy that
    forbids the browser to load anything; reads well on a desktop, a phone, in the dark and in
    print; every figure has a name and a description, every table a caption.

    Args:
        title: the heading.
        sections: the chapters, in order; with three or more the page begins with their list.
        subtitle: a sentence under the heading.
        signature: what determines the figures of the page.
        footer: the last line.
        language: a BCP 47 tag.

    >>> page("A <title>", []).count("A &lt;title&gt;")
    2
    """
    return _template().render(
        title=title,
        subtitle=subtitle,
        signature=signature,
        sections=sections,
        anchors=_anchors([section.title for section in sections]),
        footer=footer,
        language=language if re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*", language) else "en",
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("winosmith.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else clean(value),
    )
    environment.filters["shown"] = shown
    environment.filters["inline"] = lambda svg, key: Markup(svg.inline(key))  # noqa: S704 - ours
    return environment.get_template("page.html.j2")


def _anchors(titles: Sequence[str]) -> list[str]:
    """Return an id for each title: its letters and digits, and a number where two are equal."""
    anchors: list[str] = []
    for title in titles:
        base = "-".join(re.findall(r"[a-z0-9]+", title.lower())) or "section"
        anchor, number = base, 1
        while anchor in anchors:
            number += 1
            anchor = f"{base}-{number}"
        anchors.append(anchor)
    return anchors
