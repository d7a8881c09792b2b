"""A page with every kind of block and chart."""

import numpy as np
import pytest

from tests.drawings import ANEW
from winosmith import report
from winosmith.report import _svg


@pytest.fixture(autouse=True)
def _drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw all charts of the test again, without the cache."""
    monkeypatch.setattr(_svg, "_render_chart", ANEW)


@pytest.fixture(scope="session")
def drawings() -> dict[str, tuple[report.Svg, ...]]:
    """Return one of every chart, from made-up numbers."""
    return draw_all()


def draw_all() -> dict[str, tuple[report.Svg, ...]]:
    """Return one of every chart, from made-up numbers."""
    rng = np.random.default_rng(0)
    points, answers = rng.normal(size=(400, 2)), rng.integers(0, 2, 400)
    counts = rng.integers(0, 50, (2, 40))
    edges = np.linspace(-3, 3, 41)
    names = ["all", "random", "pmi", "aflite"]
    along = report.DepthCurve(
        [0, 1, 3, 7], [1, 0.9, 0.6, 0.3], [1, 0.8, 0.4, 0.1], [1, 1, 0.8, 0.5], [4]
    )
    other = report.DepthCurve([0, 2, 9], [1, 0.7, 0.2])
    return {
        "funnel": (report.draw_funnel([("collected", 7000), ("valid", 4760), ("kept", 1100)]),),
        "phases": (
            report.draw_phase_sizes([400, 300, 250], [100, 50, 12]),
            report.draw_phase_chance([300, 200, 80], [(90, 120), (88, 117), (85, 110)]),
        ),
        "scores": (report.draw_scores(np.linspace(0, 1, 21), np.arange(20), 0.75),),
        "clouds": report.draw_scatter_plots(
            [report.ScatterPanel(name, points[i:], answers[i:]) for i, name in enumerate(names)]
        ),
        "histograms": report.draw_histograms(
            [report.HistogramPanel(name, edges, counts, "KL 0.1") for name in names]
        ),
        "accuracies": (
            report.draw_accuracies(
                [
                    report.FractionWithInterval("toy", 0.62, 0.5, 0.74),
                    report.FractionWithInterval("people", 0.97, 0.93, 1.0, marked=True),
                ],
                chance=0.5,
            ),
        ),
        "stability": (
            report.draw_survival({"WordAssociation": along, "LocalContext": other}),
            report.draw_depth_accuracy({"toy": along}, [(0, 14), (1, 90), (3, 20)], chance=0.5),
        ),
    }  # fmt: skip


def sections_of(text: str) -> list[report.Section]:
    """Return sections in which every slot for text holds `text`."""
    part = [report.Part(text), report.Part(text, "toward"), report.Part(text, "away")]
    passage = report.Passage(part, [text, text], 1, text, True, [text])
    table = report.Table(text, [text, report.Column(text)], [[text, 12_345], [text, None]], text)
    blocks: list[report.Block] = [
        report.Text([text, text]),
        report.Text([text], kind="note"),
        report.Text([text], kind="warning"),
        report.Cards([report.KeyFigure(text, text, text), report.KeyFigure(text, 0.5, text)]),
        table,
        report.Passages(text, [[passage, passage], [passage]], text),
        report.Code(text, text),
        report.Drawing(text, [], table),
        report.PageOnly(lambda: [report.Text([text, text], "list")]),
    ]
    return [report.Section(text, blocks, text) for _ in range(3)]


@pytest.fixture(scope="session")
def full_page(drawings: dict[str, tuple[report.Svg, ...]]) -> str:
    """Return a page with every kind of block and every chart."""
    long = "a_long_name_without_any_space_in_it_" * 6
    figures = [
        report.Drawing(f"The {name}.", panels, signature="data:0123|n:4|seed:0")
        for name, panels in drawings.items()
    ]
    wide = report.Table(
        "Wide", [f"column {n}" for n in range(12)], [[f"row {n}", *range(11)] for n in range(4)]
    )
    extra = [report.Section("Drawings", figures, "A lead."), report.Section(long, [wide])]
    return report.render_page(
        "A benchmark", [*sections_of("Some words."), *extra], subtitle="Its proof.",
        signature=f"data:0123|n:4|{long}:1|seed:0|version:1", footer="The end.",
    )  # fmt: skip
