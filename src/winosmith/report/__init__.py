"""How figures are shown: signatures, SVG figures, and the page they stand on.

A page is composed, not configured: drawings and tables go into sections, sections into a page.

>>> from winosmith import report
>>> html = report.page(
...     "A debiased benchmark",
...     [
...         report.Section(
...             "What was kept",
...             [
...                 report.Cards([report.KeyFigure("problems kept", 12_282)]),
...                 report.Table("Sizes", ["split", "problems"], [["train", 9_248]]),
...             ],
...         )
...     ],
... )
>>> '<td class="number">9,248</td>' in html, "<script" in html
(True, False)
"""

from __future__ import annotations

from winosmith.report._charts_debias import (
    Bars,
    Cloud,
    Dot,
    Level,
    Shift,
    clouds,
    dots,
    funnel,
    histograms,
    levels,
    mirrored,
    phase_chance,
    phase_sizes,
    scores,
    shifts,
)
from winosmith.report._charts_humans import (
    SheetPart,
    SubjectScore,
    items_by_right,
    over_the_sheet,
    subject_scores,
)
from winosmith.report._charts_models import (
    ALONG,
    Along,
    Curve,
    Measured,
    Reach,
    Stated,
    accuracies,
    curves,
    depth_accuracy,
    learning,
    reaches,
    reliability,
    survival,
)
from winosmith.report._page import (
    Block,
    Cards,
    Change,
    Code,
    Column,
    Drawing,
    Families,
    Family,
    KeyFigure,
    OnPage,
    Part,
    Passage,
    Passages,
    Section,
    Table,
    Text,
    Version,
    page,
)
from winosmith.report._svg import Svg
from winosmith.report._text import Signature, Value, joined, shown, sign, whole_and_single

__all__ = [
    "ALONG",
    "Along",
    "Bars",
    "Block",
    "Cards",
    "Change",
    "Cloud",
    "Code",
    "Column",
    "Curve",
    "Dot",
    "Drawing",
    "Families",
    "Family",
    "KeyFigure",
    "Level",
    "Measured",
    "OnPage",
    "Part",
    "Passage",
    "Passages",
    "Reach",
    "Section",
    "SheetPart",
    "Shift",
    "Signature",
    "Stated",
    "SubjectScore",
    "Svg",
    "Table",
    "Text",
    "Value",
    "Version",
    "accuracies",
    "clouds",
    "curves",
    "depth_accuracy",
    "dots",
    "funnel",
    "histograms",
    "items_by_right",
    "joined",
    "learning",
    "levels",
    "mirrored",
    "over_the_sheet",
    "page",
    "phase_chance",
    "phase_sizes",
    "reaches",
    "reliability",
    "scores",
    "shifts",
    "shown",
    "sign",
    "subject_scores",
    "survival",
    "whole_and_single",
]
