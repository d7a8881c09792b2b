"""Published rows are as printed, and impossible fractions of the questions are marked."""

from decimal import Decimal
from pathlib import Path

import pytest

from winosmith import formats
from winosmith.study import PUBLISHED, PUBLISHED_GENDER, PUBLISHED_STABILITY, TARGETS, get_published

OURS = {  # WinoGrande's own rows of table 6, and Winogender of section 1
    "wsc": ["83.1", "90.1", "96.5"],
    "pdp": ["86.3", "87.5", "92.5"],
    "superglue-wsc": ["83.6", "85.6"],
    "dpr": ["84.9", "91.7", "92.5", "93.1", "95.2"],
    "knowref": ["84.2", "85.6"],
    "copa": ["84.4", "86.4", "90.6"],
}


@pytest.mark.parametrize("data", OURS)
def test_own_rows_of_table_6_are_complete(data):
    """These are the rows measured by WinoGrande's authors, in printed order."""
    assert [row.printed for row in get_published(6, data) if row.own] == OURS[data]


def test_marks_of_table_6_are_as_printed():
    names = {row.name for row in get_published(6)}
    assert {"RoBERTa-WinoGrande-ft", "RoBERTa-ft ‡", "HNN (He et al. 2019) †"} <= names
    assert sum("-ft" in row.marks for row in get_published(6)) == 6
    assert sum("*" in row.marks for row in get_published(6)) == 10
    assert sum("‡" in row.marks for row in get_published(6)) == 1


def test_tables_have_the_printed_number_of_rows():
    """Table 3 has 9 systems on dev and test, table 4 has 5 sizes, table 6 has 39 rows."""
    assert [len(get_published(table)) for table in (3, 4, 6, 0)] == [18, 10, 39, 1]
    assert len(PUBLISHED_GENDER) == 5
    assert {row.data for row in PUBLISHED} == set(TARGETS)
    assert all(row.own for row in (*get_published(3), *get_published(4)))


def test_printed_accuracies_have_one_decimal():
    for row in PUBLISHED:
        assert row.printed == "100" or row.printed[-2] == "."
        assert 0 < row.accuracy <= 1


def test_impossible_accuracies_are_found():
    """Four rows on WSC273 and one on DPR are no k/n; each PDP row fits 60 or 80 questions."""
    impossible = {(row.data, row.printed): row.count_note for row in PUBLISHED if row.is_impossible}
    assert impossible == {
        ("wsc", "52.8"): "52.8 is impossible for 273 questions; 144 are 52.75",
        ("wsc", "63.8"): "63.8 is impossible for 273 questions; 174 are 63.74",
        ("wsc", "83.1"): "83.1 is impossible for 273 questions; 227 are 83.15",
        ("wsc", "96.5"): "96.5 is impossible for 273 questions",
        ("dpr", "92.5"): "92.5 is impossible for 564 questions; 522 are 92.55",
    }
    pdp = {row.printed: row.count_note for row in get_published(6, "pdp") if row.count_note}
    assert pdp["61.7"] == "61.7 is impossible for 80 questions; 37 of 60 is possible"
    assert pdp["87.5"] == "87.5 is impossible for 60 questions; 70 of 80 is possible"


@pytest.mark.parametrize(
    ("system", "cells", "counts"),
    [
        ("RULE (Lee et al. 2011)", (28.3, 14.2), (28.3, 14.2)),
        ("STATS (Durrett and Klein 2013)", (5.0, 21.7), (5.0, 21.7)),
        ("NEURAL (Clark and Manning 2016)", (14.1, 2.5), (14.2, 2.5)),
        ("RoBERTa-DPR", (1.6, 0.9), (1.7, 0.8)),
        ("RoBERTa-WG", (0.8, -0.8), (0.8, -0.8)),
    ],
)
def test_gaps_of_table_7_are_those_of_its_cells(system, cells, counts):
    """Some gaps computed from the counts of 120 differ by 0.1."""
    (row,) = (row for row in PUBLISHED_GENDER if row.system == system)
    printed = zip(row.plain, row.gotcha, strict=True)
    assert tuple(float(Decimal(one) - Decimal(other)) for one, other in printed) == cells
    assert tuple(round(gap, 1) for gap in row.signed_gaps) == counts
    assert tuple(map(abs, cells)) == tuple(map(float, row.gap))


FITS = {  # EvoGrad's table 4: errors of 202 or 526, and the sum of their depths
    "60.4": (80, 553),
    "58.4": (84, 568),
    "55.4": (90, 629),
    "59.41": (82, 584),
    "67.33": (66, 466),
    "60.3": (209, 1406),
    "57.2": (225, 1542),
    "56.08": (231, 1560),
    "65.02": (184, 1333),
}


@pytest.mark.parametrize("printed", FITS)
def test_cells_of_evograd_fit_one_count_and_one_depth_sum(printed):
    (row,) = (row for row in PUBLISHED_STABILITY if row.accuracy == printed)
    assert (row.error_counts, row.depth_sums) == ((FITS[printed][0],), (FITS[printed][1],))


def test_only_one_depth_of_evograd_is_impossible():
    unfit = [
        row for row in PUBLISHED_STABILITY if row.depth and row.error_counts and not row.depth_sums
    ]
    assert [(row.system, row.depth, row.error_counts) for row in unfit] == [
        ("BERT", "6.867", (237,))
    ]


def test_evograd_rows_without_accuracies_are_complete():
    """Models trained on WinoGrande have only depths, twelve of them; 6.286 occurs twice."""
    depths = [row.depth for row in PUBLISHED_STABILITY if row.depth and not row.accuracy]
    assert depths == (
        "7.302 7.258 7.308 7.232 6.286 6.393 6.286 6.652 7.971 7.670 8.000 7.694".split()
    )
    dev = [row for row in PUBLISHED_STABILITY if row.data == "winogrande-dev"]
    right = (795, 799, 798, 964, 964, 971, 819, 817, 819)
    assert [row.error_counts for row in dev] == [(1267 - count,) for count in right]
    for before, *after in (right[:3], right[3:6], right[6:]):  # a model, trained further on M, L
        assert max(abs(count - before) for count in after) <= 7


def test_evograd_table_in_the_docs_matches_the_data():
    page = Path(__file__).parents[2].joinpath("docs/papers.md").read_text("utf-8")
    table = page.partition("## EvoGrad's table 4")[2].partition("## The arithmetic")[0]
    columns = ("winogrande-dev", "evograd-m-val", "evograd-l-val")
    held = {
        (row.system, row.trained, row.data): row.accuracy
        if row.data == "winogrande-dev"
        else f"{row.accuracy or '—'} ({row.depth})"
        for row in PUBLISHED_STABILITY
    }
    shown = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[0] not in ("model", "---"):
            shown |= {
                (cells[0], cells[1], name): cell
                for name, cell in zip(columns, cells[2:], strict=True)
                if cell
            }
    assert shown == held


@pytest.mark.data
def test_more_than_half_of_the_released_problems_are_singles(data_dir):
    """Of 12,282 debiased, dev and test problems 6,918 are singles; appendix A says a third."""
    folder = data_dir / "winogrande"
    parts = [formats.read(folder / f"{name}.jsonl") for name in ("train_debiased", "dev", "test")]
    singles = sum(len(group) == 1 for part in parts for group in part.groups)
    assert (sum(map(len, parts)), singles) == (12_282, 6_918)
