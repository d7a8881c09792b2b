"""The report of an assessment: the same numbers as in its JSON."""

from dataclasses import asdict

import numpy as np
import pytest

from winosmith import Dataset, Problem, report
from winosmith.debias._assess import Assessment, AssessmentSettings, assess
from winosmith.debias._clues import (
    Associations,
    find_associations,
    make_assessment_blocks,
    make_clue_table,
    make_passages,
)


@pytest.fixture(scope="module")
def assessment() -> Assessment:
    """Return an assessment of two subsets, one of them without a KL divergence."""
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 100)
    X = rng.normal(size=(200, 5)) * [5, 4, 3, 2, 1]
    X[:, 0] += 6 * y
    subsets = {"all": range(200), "<AFLite>": range(0, 200, 2)}
    settings = AssessmentSettings(draws=20, points=50)
    return assess(X, y, subsets, flips_sign=False, settings=settings)


@pytest.fixture(scope="module")
def found() -> Associations:
    """Return the clues of twelve twins whose answers one word reveals."""
    halves = [
        Problem(f"{n}{t}", f"Topic {n} & more: the _ was {t}.", options, options.index(o), str(n))
        for n in range(12)
        for options in [("stone", "leaf") if n % 2 else ("leaf", "stone")]
        for t, o in (("heavy", "stone"), ("light", "leaf"))
    ]
    return find_associations(Dataset(halves))


def test_table_shows_the_numbers_of_the_json(assessment: Assessment) -> None:
    *drawings, table = make_assessment_blocks(assessment, "data:0")
    assert isinstance(table, report.Table)
    held = asdict(assessment)["subsets"][0]
    for row, which in zip(table.rows, ("d1", "axis"), strict=False):
        null = held[which]["null"]
        assert list(row[3:5]) == [held[which]["kl"], null["mean"]]
        assert row[5] == f"{null['low']:.3f}–{null['high']:.3f}"
        assert row[6] == null["p"]
    assert [row[3] for row in table.rows[2:]] == [None, None]
    assert all(isinstance(drawing, report.Drawing) for drawing in drawings)


def test_histograms_state_that_problems_count_in_both_orders() -> None:
    """Only vectors that change sign with the order of the options are counted twice."""
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.tile([0, 1], 30)
    for flips_sign in (True, False):
        found = assess(
            X, y, {"all": range(60)}, flips_sign=flips_sign, settings=AssessmentSettings(draws=20)
        )
        told = [str(block) for block in make_assessment_blocks(found)]
        assert any("in both orders of its options" in text for text in told) == flips_sign


def test_charts_cover_each_subset_and_describe_its_divergence(assessment: Assessment) -> None:
    blocks = make_assessment_blocks(assessment, "data:0")
    clouds, histograms, axes = (b for b in blocks if isinstance(b, report.Drawing))
    assert [len(drawing.charts) for drawing in (clouds, histograms, axes)] == [2] * 3
    kl = assessment.subsets[0].d1.kl
    assert f"KL {kl:.3f} (noise " in histograms.charts[0].description
    assert "KL is undefined, because one answer is missing" in histograms.charts[1].description


def test_note_states_that_d1_is_within_the_null(assessment: Assessment) -> None:
    def notes(found: Assessment) -> list[str]:
        blocks = make_assessment_blocks(found)
        return [block.paragraphs[0] for block in blocks if isinstance(block, report.Text)]

    rng = np.random.default_rng(1)
    blind = assess(rng.normal(size=(60, 4)), np.tile([0, 1], 30), {"raw": range(60)},
                   settings=AssessmentSettings(draws=20))  # fmt: skip
    assert notes(assessment) == []
    (note,) = notes(blind)
    assert "no further apart in “raw” than by chance" in note


def test_subset_names_are_escaped_on_the_page(assessment: Assessment) -> None:
    blocks = make_assessment_blocks(assessment, "data:0")
    html = report.render_page("t", [report.Section("s", blocks)])
    assert "<AFLite>" not in html
    assert html.count("&lt;AFLite&gt;") >= 5
    assert html.count('class="signature"') == 3


def test_marked_passages_join_to_the_sentence(found: Associations) -> None:
    (group,) = make_passages(
        found.select_strongest(range(24), 1), {0: ("removed in phase 2", False)}
    )
    assert len(group) == 2
    assert "".join(part.text for part in group[0].parts) == found.dataset[0].sentence
    assert [(part.text, part.mark) for part in group[0].parts if part.mark] == [("heavy", "toward")]
    assert (group[0].status, group[0].kept) == ("removed in phase 2", False)
    assert (group[1].status, group[1].kept) == ("", None)
    assert group[0].clues[0] == "“stone” + “heavy” → stone: correct in 11 of 11 other problems"


def test_clue_table_counts_directions_by_subset(found: Associations) -> None:
    """Counts and fractions: clues that point to the answer, and clues that point away from it."""
    table = make_clue_table(found, {"all": range(24), "none": []})
    assert [list(row) for row in table.rows] == [
        ["all", 24, 24, 1.0, 0, 0.0],
        ["none", 0, 0, 0.0, 0, 0.0],
    ]
