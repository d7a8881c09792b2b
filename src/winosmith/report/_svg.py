"""Reproducible, small and accessible SVG, drawn with matplotlib.

matplotlib reads global settings while it draws, so only one thread draws at a time, and the user's
own settings are ignored. pyplot is not used, and no window is opened.

Each colour has a role, and no two roles differ only in colour. The options' colours are blue and
vermilion (Okabe & Ito 2008), which people with common colour vision deficiencies can distinguish.
"""

from __future__ import annotations

import io
import re
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, SubElement, tostring

from winosmith.errors import InputError
from winosmith.escape import escape_page
from winosmith.outputs import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


COLOURS = {
    "page": "#ffffff",
    "ink": "#1b2733",
    "muted": "#55626f",
    "rule": "#d5dce3",
    "one": "#0072b2",
    "two": "#d05a00",
    "kept": "#007a5e",
    "gone": "#a04b86",
    "null": "#8592a0",
}
"""Colours of the light scheme by role; the page's style sheet has a variable for each role."""

PAGE, INK, MUTED, RULE, ONE, TWO, KEPT, GONE, NULL = COLOURS.values()

TICK_STEPS = [1, 2, 5, 10]
"""Possible steps between axis ticks; each is multiplied by a power of ten."""

_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

_SETTINGS: dict[str, Any] = {
    "figure.dpi": 72,  # one unit of a chart is one point, and one CSS pixel of the page
    "svg.hashsalt": "winosmith",
    "svg.fonttype": "none",  # keeps text as text: small, sharp, and in the page's colour
    "text.parse_math": False,  # a "$" in a name does not start a formula
    "path.simplify": False,
    "font.size": 12,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 13,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "axes.titley": 1.0,  # skips matplotlib's search for a position, which takes a sixth of the time
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "lines.solid_capstyle": "round",
}

_LOCK = threading.Lock()
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_REFERENCE = re.compile(r"(^|url\()#([\w.-]+)")
_ROLES = {colour: f"var(--{role})" for role, colour in COLOURS.items()}


def draw_chart(
    paint: Callable[[Canvas], None],
    *,
    title: str,
    description: str,
    width: float = 400,
    height: float = 280,
) -> Svg:
    """Return the chart that `paint` draws on an empty figure; the size is in CSS pixels.

    At the default width, the chart's text is as large as the page's on a desktop, and still legible
    on a phone, where the chart shrinks to the screen.
    """
    title, description = escape_page(title), escape_page(description)

    def render(kind: str) -> bytes:
        return _render_chart(paint, width, height, kind)

    return Svg(_clean_svg(render("svg"), title, description), title, description, render)


_METADATA = {
    "svg": dict.fromkeys(("Date", "Creator", "Format", "Type")),
    "pdf": dict.fromkeys(("CreationDate", "Creator", "Producer")),
    "png": dict.fromkeys(("Software",)),
}
"""Metadata to omit from files in each format, so that the files are reproducible."""


def _render_chart(paint: Callable[[Canvas], None], width: float, height: float, kind: str) -> bytes:
    from matplotlib import style
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Canvas

    with _LOCK, style.context(_SETTINGS, after_reset=True), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # browsers have it
        canvas = Canvas(figsize=(width / 72, height / 72), layout="constrained")
        FigureCanvasSVG(canvas)  # this canvas measures texts for all formats
        paint(canvas)
        if engine := canvas.get_layout_engine():  # once here, because saving would do it twice
            engine.execute(canvas)
            canvas.set_layout_engine(None)
        file = io.BytesIO()
        is_svg = kind == "svg"  # an SVG shows the background of its page
        canvas.savefig(
            file,
            format=kind,
            metadata=_METADATA[kind],
            transparent=is_svg,
            dpi="figure" if is_svg else 300,
        )
    return file.getvalue()


@dataclass(frozen=True, slots=True)
class Svg:
    """A chart, for a file or a page.

    Attributes:
        markup: The SVG element without a prolog; the same input always gives the same markup.
        title: The title of the chart.
        description: A description of the content for screen readers.
    """

    markup: str
    title: str
    description: str
    _painted: Callable[[str], bytes] = field(repr=False, compare=False)

    def save(self, path: str | Path) -> None:
        """Write the chart to a file; the extension .svg, .png or .pdf determines the format.

        Raises:
            InputError: The extension is not supported.
        """
        kind = Path(path).suffix.lower().removeprefix(".")
        if kind not in _METADATA:
            raise InputError(f"a chart can't be written as {str(path)!r}; use .svg, .png or .pdf")
        made = self.markup.encode() if kind == "svg" else self._painted(kind)
        with atomic_write(path, "wb") as file:
            file.write(made)

    def inline(self, prefix: str) -> str:
        """Return markup for a page, with the page's colours and with ids that start with `prefix`.

        Charts on the same page need different prefixes.
        """
        from defusedxml.ElementTree import fromstring

        root = fromstring(self.markup)
        root.attrib.pop("style", None)  # a page has its own style
        _strip_namespaces(root)
        for element in root.iter():
            for name, value in element.attrib.items():
                element.set(name, _inline_attribute(name, value, prefix))
        return tostring(root, encoding="unicode")


def _inline_attribute(name: str, value: str, prefix: str) -> str:
    if name in ("id", "aria-labelledby"):
        return " ".join(f"{prefix}-{part}" for part in value.split())
    if name == "href":
        return value.replace("#", f"#{prefix}-", 1)
    value = value.replace("url(#", f"url(#{prefix}-")
    if name in ("style", "fill", "stroke"):
        for colour, variable in _ROLES.items():
            value = value.replace(colour, variable)
    return value


def _clean_svg(markup: bytes, title: str, description: str) -> str:
    from defusedxml.ElementTree import fromstring

    drawn = fromstring(markup)
    _strip_namespaces(drawn)
    root = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": drawn.attrib["viewBox"],
            "role": "img",
            "aria-labelledby": "title desc",
            "font-family": _FONTS,
            "stroke-linejoin": "round",
            "style": f"background: {PAGE}",  # for files that are shown on dark pages
        },
    )
    SubElement(root, "title", {"id": "title"}).text = title
    SubElement(root, "desc", {"id": "desc"}).text = description
    root.extend(child for child in drawn if child.find("style") is None)
    ids = {element.get("id") for element in drawn.iter()}
    values = [value for element in drawn.iter() for value in element.attrib.values()]
    references = [found[2] for value in values for found in _REFERENCE.finditer(value)]
    used = dict.fromkeys(reference for reference in references if reference in ids)
    names = {old: f"i{number}" for number, old in enumerate(used, 1)}
    for element in drawn.iter():
        element.tail = None
        if element.tag != "text":
            element.text = None
        attributes = {name: _clean_value(name, of, names) for name, of in element.attrib.items()}
        element.attrib.clear()
        element.attrib.update({name: of for name, of in attributes.items() if of})
    return tostring(root, encoding="unicode")


def _clean_value(name: str, value: str, names: dict[str, str]) -> str:
    if name == "id":
        return names.get(value, "")
    value = _REFERENCE.sub(lambda found: f"{found[1]}#{names.get(found[2], found[2])}", value)
    if name == "transform":
        value = re.sub(r"^rotate\(-?0 [^)]*\)$", "", value)
    elif name == "style":
        value = re.sub(r"font-family:[^;]*;? ?", "", value)
    value = _NUMBER.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), value)
    if name == "d":
        value = " ".join(value.split())
        value = re.sub(r" ?([MLHVCQAZz]) ?", r"\1", value)
    return value


def _strip_namespaces(root: Element) -> None:
    """Remove namespaces, so that the markup is valid inside HTML. As in SVG 2, links use `href`."""
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for name in [name for name in element.attrib if "}" in name]:
            element.attrib[name.rpartition("}")[2]] = element.attrib.pop(name)
    root.attrib.setdefault("xmlns", "http://www.w3.org/2000/svg")
