"""Reports: signatures, SVG charts and HTML pages.

A page consists of sections that contain tables and charts.

>>> from winosmith import report
>>> html = report.render_page(
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
    HistogramPanel,
    ScatterPanel,
    draw_dots_over_chance,
    draw_funnel,
    draw_histograms,
    draw_margins,
    draw_phase_chance,
    draw_phase_sizes,
    draw_scatter_plots,
    draw_scores,
)
from winosmith.report._charts_models import (
    MAX_SOLVERS,
    ConfidenceBin,
    DepthCurve,
    FractionWithInterval,
    abbreviate_size,
    draw_accuracies,
    draw_depth_accuracy,
    draw_learning_curve,
    draw_reliability,
    draw_survival,
)
from winosmith.report._page import (
    Block,
    Cards,
    Code,
    Column,
    Drawing,
    KeyFigure,
    PageOnly,
    Part,
    Passage,
    Passages,
    Section,
    Table,
    Text,
    render_fragment,
    render_page,
)
from winosmith.report._svg import Svg
from winosmith.report._text import (
    MIN_P_VALUE,
    Signature,
    Value,
    count_twins_and_singles,
    format_value,
    join_names,
    p_value,
    percent,
    percent_span,
    points,
    points_span,
    probability,
    signature_of,
    to_fixed,
)

__all__ = [
    "MAX_SOLVERS",
    "MIN_P_VALUE",
    "Block",
    "Cards",
    "Code",
    "Column",
    "ConfidenceBin",
    "DepthCurve",
    "Drawing",
    "FractionWithInterval",
    "HistogramPanel",
    "KeyFigure",
    "PageOnly",
    "Part",
    "Passage",
    "Passages",
    "ScatterPanel",
    "Section",
    "Signature",
    "Svg",
    "Table",
    "Text",
    "Value",
    "abbreviate_size",
    "count_twins_and_singles",
    "draw_accuracies",
    "draw_depth_accuracy",
    "draw_dots_over_chance",
    "draw_funnel",
    "draw_histograms",
    "draw_learning_curve",
    "draw_margins",
    "draw_phase_chance",
    "draw_phase_sizes",
    "draw_reliability",
    "draw_scatter_plots",
    "draw_scores",
    "draw_survival",
    "format_value",
    "join_names",
    "p_value",
    "percent",
    "percent_span",
    "points",
    "points_span",
    "probability",
    "render_fragment",
    "render_page",
    "signature_of",
    "to_fixed",
]
