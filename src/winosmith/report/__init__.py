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

from winosmith.report._blocks import (
    Block,
    Cards,
    Code,
    Column,
    Drawing,
    KeyFigure,
    Part,
    Passage,
    Passages,
    Section,
    Table,
    Text,
)
from winosmith.report._charts_assess import Bars, Cloud, Level, clouds, histograms, levels
from winosmith.report._charts_curve import Curve, curves
from winosmith.report._charts_fairness import Shift, shifts
from winosmith.report._charts_filter import (
    funnel,
    phase_accuracy,
    phase_chance,
    phase_sizes,
    scores,
)
from winosmith.report._charts_humans import (
    SheetPart,
    SubjectScore,
    items_by_right,
    over_the_sheet,
    subject_scores,
)
from winosmith.report._charts_learning import Reach, learning, reaches
from winosmith.report._charts_reliability import Stated, reliability
from winosmith.report._charts_stability import ALONG, Along, depth_accuracy, survival
from winosmith.report._families import Change, Families, Family, Version
from winosmith.report._page import page
from winosmith.report._signature import Signature, sign
from winosmith.report._svg import Svg
from winosmith.report._text import Value, shown

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
    "Drawing",
    "Families",
    "Family",
    "KeyFigure",
    "Level",
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
    "clouds",
    "curves",
    "depth_accuracy",
    "funnel",
    "histograms",
    "items_by_right",
    "learning",
    "levels",
    "over_the_sheet",
    "page",
    "phase_accuracy",
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
]
