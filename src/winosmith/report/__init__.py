"""Reports: signatures, SVG charts and HTML pages.

A page consists of sections, which contain tables and charts.

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
    clouds,
    dots_over_chance,
    funnel,
    histograms,
    mirrored_margins,
    phase_chance,
    phase_sizes,
    scores,
)
from winosmith.report._charts_models import (
    ALONG,
    ConfidenceBin,
    DepthCurve,
    FractionWithInterval,
    SheetPart,
    accuracies,
    depth_accuracy,
    items_by_right,
    learning_curve,
    over_the_sheet,
    reliability,
    short_size,
    survival,
)
from winosmith.report._page import (
    Block,
    Cards,
    Code,
    Column,
    Drawing,
    KeyFigure,
    OnPage,
    Part,
    Passage,
    Passages,
    Section,
    Table,
    Text,
    fragment,
    page,
)
from winosmith.report._svg import Svg
from winosmith.report._text import (
    LEAST_P,
    Signature,
    Value,
    fixed,
    format_value,
    join_names,
    p_value,
    percent,
    points,
    points_span,
    probability,
    signature_of,
    span,
    whole_and_single,
)

__all__ = [
    "ALONG",
    "LEAST_P",
    "Bars",
    "Block",
    "Cards",
    "Cloud",
    "Code",
    "Column",
    "ConfidenceBin",
    "DepthCurve",
    "Drawing",
    "FractionWithInterval",
    "KeyFigure",
    "OnPage",
    "Part",
    "Passage",
    "Passages",
    "Section",
    "SheetPart",
    "Signature",
    "Svg",
    "Table",
    "Text",
    "Value",
    "accuracies",
    "clouds",
    "depth_accuracy",
    "dots_over_chance",
    "fixed",
    "format_value",
    "fragment",
    "funnel",
    "histograms",
    "items_by_right",
    "join_names",
    "learning_curve",
    "mirrored_margins",
    "over_the_sheet",
    "p_value",
    "page",
    "percent",
    "phase_chance",
    "phase_sizes",
    "points",
    "points_span",
    "probability",
    "reliability",
    "scores",
    "short_size",
    "signature_of",
    "span",
    "survival",
    "whole_and_single",
]
