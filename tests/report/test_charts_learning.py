"""The drawings of learning curves and of calibration say what they show."""

from __future__ import annotations

from winosmith import report

POINTS = [(160.0, 0.515), (640.0, 0.586), (2558.0, 0.669)]


def test_a_learning_curve_tells_its_points_and_names_its_continuations() -> None:
    """The description has the accuracies by size, the legend each continuation."""
    lines = {"logarithm": ([160.0, 1e6], [0.5, 0.9]), "power <law>": ([160.0, 1e6], [0.5, 0.8])}
    drawn = report.learning(POINTS, runs=POINTS[:1], lines=lines, level=0.94)
    assert "51.5\u00a0% at 160; 58.6\u00a0% at 640" in drawn.description
    assert ">logarithm<" in drawn.markup
    assert "power &lt;law&gt;" in drawn.markup
    assert drawn.markup == report.learning(POINTS, runs=POINTS[:1], lines=lines, level=0.94).markup


def test_a_reliability_diagram_tells_each_point() -> None:
    """The description has how many are right at each confidence."""
    rows = [report.Stated(0.6, 0.5, 0.4, 0.6, 80), report.Stated(0.95, 0.7, 0.6, 0.8, 1200)]
    drawn = report.reliability(rows, name="toy", note="calibration error 0.2")
    assert drawn.title == "toy: calibration"
    assert "70\u00a0% right of 1,200 at 95\u00a0%" in drawn.description
    assert "calibration error 0.2" in drawn.markup
