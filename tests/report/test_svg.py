"""Charts: deterministic, self-describing, small and safe."""

import re
from concurrent.futures import ThreadPoolExecutor
from xml.etree.ElementTree import Element

import matplotlib as mpl
import numpy as np
import pytest
from defusedxml.ElementTree import fromstring
from hypothesis import given, strategies as st

from tests.conftest import examples
from tests.report.conftest import draw_all
from winosmith import report
from winosmith.report import _svg
from winosmith.report._svg import COLOURS

Drawings = dict[str, tuple[report.Svg, ...]]

ALONG = report.DepthCurve([0, 2], [1, 0.75], [1, 0.5], [1, 0.9], [3])


def a_funnel(name: str = "valid") -> report.Svg:
    """Return a small chart with a given text in it."""
    return report.draw_funnel([("collected", 70), (name, 40)], title=name)


def tag(element: Element) -> str:
    """Return an element's name without its namespace."""
    return element.tag.rpartition("}")[2]


def test_charts_do_not_depend_on_matplotlib_settings():
    first = a_funnel()
    with mpl.rc_context({"font.size": 31, "axes.facecolor": "red", "svg.hashsalt": "other"}):
        second = a_funnel()
        assert mpl.rcParams["font.size"] == 31
    assert first == second


def test_fixed_title_position_is_matplotlibs_own(drawings, monkeypatch):
    """No chart has anything above its axes that would move the title."""
    monkeypatch.setitem(_svg._SETTINGS, "axes.titley", None)
    assert draw_all() == drawings


def test_threads_draw_the_same_charts():
    names = [f"stage {number}" for number in range(6)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(a_funnel, names)) == [a_funnel(name) for name in names]


@pytest.fixture
def panels(drawings: Drawings) -> list[report.Svg]:
    """Return all panels of all charts."""
    return [panel for panels in drawings.values() for panel in panels]


def test_charts_have_a_title_and_a_description(panels):
    """Their label refers to both."""
    for panel in panels:
        root = fromstring(panel.markup)
        assert root.get("role") == "img"
        told = {e.get("id"): e.text for e in root if tag(e) in ("title", "desc")}
        label = [told[key] for key in root.get("aria-labelledby", "").split()]
        assert label == [panel.title, panel.description]
        assert all(label)


def test_charts_load_nothing_and_run_nothing(panels):
    allowed = {"svg", "title", "desc", "g", "path", "text", "use", "defs", "clipPath", "rect",
               "pattern"}  # fmt: skip
    for panel in panels:
        root = fromstring(panel.markup)
        assert {tag(element) for element in root.iter()} <= allowed
        values = [v for e in root.iter() for k, v in e.attrib.items() if k.endswith("href")]
        assert all(value.startswith("#") for value in values)
        assert panel.markup.count("http") == 1  # the name of the SVG namespace


def test_references_have_unique_targets(panels):
    """Every id except title and description is used, inline too."""
    for panel in panels:
        for markup, prefix in ((panel.markup, ""), (panel.inline("f1"), "f1-")):
            ids = re.findall(r' id="([^"]+)"', markup)
            used = re.findall(r'(?:url\(|href=")#([^")]+)', markup)
            assert len(ids) == len(set(ids))
            assert set(used) == set(ids) - {f"{prefix}title", f"{prefix}desc"}


def test_inline_charts_use_the_pages_colour_variables(panels):
    css = report.render_page("x", [])
    for role in COLOURS:
        assert css.count(f"--{role}:") == 2, "one for light pages, one for dark ones"
    for panel in panels:
        assert not re.search(r"[:\"] ?#[0-9a-f]{6}", panel.inline("f1"))
        assert "var(" not in panel.markup


def test_scatter_of_1500_points_takes_less_than_60_kb():
    """All points are drawn."""
    rng = np.random.default_rng(0)
    (panel,) = report.draw_scatter_plots(
        [report.ScatterPanel("all", rng.normal(size=(1500, 2)), np.arange(1500) % 2)]
    )
    assert len(panel.markup) < 60_000
    dots = re.findall(r'<path d="((?:M[^M"]+L[^M"]+){20,})"', panel.markup)
    assert sum(path.count("M") for path in dots) == 1500


def test_panels_share_their_axes():
    """So they can be compared."""
    near = report.ScatterPanel("near", [[0, 0], [1, 1]], [0, 1])
    far = report.ScatterPanel("far", [[0, 0], [90, 1]], [0, 1])
    ticks = [
        re.findall(r">([\d.−]+)</text>", p.markup) for p in report.draw_scatter_plots([near, far])
    ]
    assert ticks[0] == ticks[1]
    assert "80" in ticks[0]


def test_descriptions_state_the_numbers():
    """For readers who can't see a chart."""
    assert a_funnel().description == "collected: 70; valid: 40"
    phases = report.draw_phase_sizes([400, 300], [100, 50])
    assert phases.description == (
        "400 problems at the start of phase 1, 250 left after phase 2; 150 were removed."
    )
    chance = report.draw_phase_chance([300, 90], [(100.2, 120), (101, 119.6)])
    assert chance.description == (
        "phase 1: 300 found, 100 by chance (limit 120); "
        "phase 2: 90 found, 101 by chance (limit 120)"
    )
    score = report.draw_scores([0, 0.5, 0.75, 1], [5, 3, 2], 0.75, removed=[0, 0, 1])
    assert score.description == (
        "2 of 10 problems are in bins at or above the threshold 0.75; number removed: 1."
    )


def test_charts_of_empty_data_are_drawn():
    empty = [
        report.draw_funnel([]),
        report.draw_phase_sizes([], []),
        report.draw_phase_chance([], []),
        report.draw_phase_chance([0], [(0, 0)]),
        *report.draw_scatter_plots([report.ScatterPanel("none", np.empty((0, 2)), [])]),
        *report.draw_histograms([report.HistogramPanel("none", [0, 1], [[0], [0]])]),
    ]
    assert all(panel.markup.startswith("<svg") for panel in empty)


def test_axis_of_depths_has_no_fractions():
    """Even if only roots are drawn."""
    roots = {"toy": report.DepthCurve([0], [0.5])}
    texts = re.findall(r">([^<]*)</text>", report.draw_depth_accuracy(roots, [(0, 9)]).markup)
    assert texts[texts.index("accuracy") + 1 : texts.index("depth")] == ["0"]


def test_long_names_end_in_an_ellipsis():
    """Even without spaces."""
    assert f">{'x' * 39}…</text>" in a_funnel("x" * 90).markup


@pytest.mark.parametrize(
    ("draw", "most", "what"),
    [
        (lambda names: report.draw_survival(dict.fromkeys(names, ALONG)), 5, "solvers"),
        (lambda names: report.draw_depth_accuracy(dict.fromkeys(names, ALONG), []), 5, "solvers"),
        (lambda names: report.draw_learning_curve(
            [(160.0, 0.5)], lines=dict.fromkeys(names, ([1.0], [0.5]))),
         5, "extrapolations"),
    ],
)  # fmt: skip
def test_too_many_lines_for_one_chart_are_refused(draw, most, what):
    names = list("abcdefg")
    with pytest.raises(
        ValueError,
        match=f"{most + 1} {what} can't be distinguished in one chart; use at most {most}",
    ):
        draw(names[: most + 1])
    assert draw(names[:most]).markup.startswith("<svg")


@examples(25)
@given(st.text(min_size=1, max_size=60))
def test_any_name_is_drawn_as_text(name):
    """Markup and mathematics don't change the elements."""
    hostile, plain = a_funnel(name), a_funnel()
    tags = [[tag(e) for e in fromstring(s.inline("k")).iter()] for s in (hostile, plain)]
    assert tags[0] == tags[1] or not name.strip()


@pytest.mark.parametrize("name", ["$x<y$", "</text><script>", "a & b", "$\\frac{", "日本\u0000"])
def test_hostile_names_are_drawn_unchanged(name):
    """Only NUL is replaced."""
    texts = [e.text for e in fromstring(a_funnel(name).markup).iter() if tag(e) == "text"]
    assert name.replace("\x00", "\ufffd") in texts


def test_long_names_of_dots_are_wrapped():
    long = "contradiction, where the hypothesis has few of its words in the premise"
    short, tall = (
        report.draw_dots_over_chance(
            [report.FractionWithInterval(name, 0.4, 0.2, 0.35, expected=0.3)], title="Cues"
        )
        for name in ("the longest", long)
    )
    drawn = " ".join(re.findall(r"<text[^>]*>([^<]+)</text>", tall.markup))
    assert long in drawn
    assert "…" not in drawn
    heights = [float(re.findall(r'viewBox="0 0 [\d.]+ ([\d.]+)"', svg.markup)[0])
               for svg in (short, tall)]  # fmt: skip
    assert heights[1] > heights[0]


def test_learning_curve_describes_points_and_names_fits():
    points = [(160.0, 0.515), (640.0, 0.586), (2558.0, 0.669)]
    lines = {"logarithm": ([160.0, 1e6], [0.5, 0.9]), "power <law>": ([160.0, 1e6], [0.5, 0.8])}
    drawn, again = (
        report.draw_learning_curve(points, runs=points[:1], lines=lines, level=0.94)
        for _ in range(2)
    )
    assert drawn == again
    assert "51.5\u00a0% at 160; 58.6\u00a0% at 640" in drawn.description
    assert ">logarithm<" in drawn.markup
    assert "power &lt;law&gt;" in drawn.markup


def test_reliability_diagram_describes_each_point():
    rows = [
        report.ConfidenceBin(0.6, 0.5, 0.4, 0.6, 80),
        report.ConfidenceBin(0.95, 0.7, 0.6, 0.8, 1200),
    ]
    drawn = report.draw_reliability(rows, name="toy", note="calibration error 0.2")
    assert drawn.title == "toy: calibration"
    assert "70\u00a0% correct of 1,200 at 95\u00a0%" in drawn.description
    assert "calibration error 0.2" in drawn.markup
