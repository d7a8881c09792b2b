"""Joining, sampling and nesting data sets keeps whole blocks."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from winosmith import Claim, Dataset, Problem, formats
from winosmith.errors import DataError
from winosmith.problem import Lineage
from winosmith.recast import to_claims
from winosmith.study import (
    draw_nested_parts,
    find_shared_sentences,
    hold_out,
    join_data,
    split_as_in_paper,
)
from winosmith.testing import make_twins


@given(st.integers(5, 40), st.integers(0, 10), st.integers(0, 3), st.data())
def test_held_out_part_and_rest_are_the_whole(
    twins: int, singles: int, seed: int, draw: st.DataObject
) -> None:
    data = make_twins(twins, singles=singles)
    size = draw.draw(st.integers(1, len(data) - 3))
    rest, part = hold_out(data, size, seed)
    assert {*rest.ids, *part.ids} == set(data.ids)
    assert len(rest) + len(part) == len(data)
    assert size <= len(part) <= size + 1
    assert len(part.twins) + len(rest.twins) == twins


def test_claims_on_one_text_stay_together() -> None:
    claims = to_claims(make_twins(12))
    rest, part = hold_out(claims, 6)
    assert len(rest) + len(part) == len(claims)
    assert not {claim.sentence for claim in rest} & {claim.sentence for claim in part}
    with pytest.raises(DataError, match="none would remain"):
        hold_out(claims, len(claims))


def test_joined_ids_are_distinct() -> None:
    """If ids collide, the part's number is their prefix; otherwise they are unchanged."""
    first, second = make_twins(3), make_twins(2, seed=1)
    both = join_data([first, second])
    assert isinstance(both, Dataset)
    assert len(both) == 10
    assert len(both.twins) == 5
    assert both.ids[0] == "1/0-0"
    named = [replace(p, id=f"q{at // 2}-{at % 2}", twin_id=None) for at, p in enumerate(first)]
    apart = join_data([Dataset(named[::2]), Dataset(named[1::2])])
    assert isinstance(apart, Dataset)
    assert len(apart.twins) == 3
    child = Problem("c", "A _ b.", ("x", "y"), lineage=Lineage("0-0", "0-0"))
    family = join_data([Dataset([*first, child]), second])
    assert isinstance(family, Dataset)
    assert family.families["1/0-0"] == (0, 6)
    assert join_data([first]) == first
    with pytest.raises(DataError, match="problems and claims"):
        join_data([first, to_claims(second)])


def test_joined_claims_with_equal_ids_have_separate_blanks() -> None:
    one = (Claim("1", "a _ b.", "x", True),)
    assert [claim.problem_id for claim in join_data([one, one])] == ["1/1", "2/1"]


def test_parts_are_nested_and_have_whole_twins() -> None:
    parts = draw_nested_parts(make_twins(2000))
    assert [len(part) for part in parts] == [160, 640, 2560, 4000]
    for smaller, larger in pairwise(parts):
        assert set(smaller.ids) < set(larger.ids)
        assert not smaller.singles


def test_splits_have_the_sizes_of_the_paper(data_dir: Path) -> None:
    """DPR is 1,200 and 122 in whole twins; COPA is 400 and 100, SuperGLUE's val."""
    dpr = formats.read(data_dir / "dpr" / "train.c.txt")
    train, dev = split_as_in_paper("dpr", dpr)
    assert (len(train), len(dev)) == (1200, 122)
    assert not {p.twin_id for p in train} & {p.twin_id for p in dev}
    train, dev = split_as_in_paper("copa", formats.read(data_dir / "copa" / "copa-dev.xml"))
    superglue = formats.read(data_dir / "superglue_copa" / "val.jsonl")
    assert [_normalize(p) for p in dev] == [_normalize(p) for p in superglue]
    assert len(train) == 400


def _normalize(problem: Problem) -> tuple[str, tuple[str, ...]]:
    """Return a sentence without its punctuation, which differs, and the options."""
    return "".join(filter(str.isalnum, problem.sentence.lower())), problem.options


def test_shared_sentences_are_found(data_dir: Path) -> None:
    """SuperGLUE-WSC contains Winograd schemas; DPR's train hardly contains any of its test."""
    wsc = formats.read(data_dir / "wsc" / "WSCollection.xml")
    claims = formats.read_claims(data_dir / "superglue_wsc" / "train.jsonl")
    assert len(find_shared_sentences(claims, wsc)) > 100
    train, test = (formats.read(data_dir / "dpr" / f"{part}.c.txt") for part in ("train", "test"))
    assert len(find_shared_sentences(train, test)) < 5
    assert find_shared_sentences(train, train[:7]) == [p.sentence for p in train[:7]]
