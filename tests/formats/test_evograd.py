"""EvoGrad's table: families under their originals, with declared depths."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from winosmith import Dataset, Extra, Lineage, Problem, formats
from winosmith.errors import FormatError

HEADER = "index,sentence,option1,option2,answer,distance\n"
ORIGINAL = '0,"Although they ran at about the same speed, Sue beat Sally because _ had such a good start.",Sue,Sally,1,0\n'  # noqa: E501
SPRINTED = '1,"Although they sprinted at about the same speed, Sue beat Sally because _ had such a good start.",Sue,Sally,1,1\n'  # noqa: E501
ALTHOUGH = '2,"Although they sprinted at about the same speed, Sue beat Sally although _ had such a good start.",Sue,Sally,2,2\n'  # noqa: E501


def read(tmp_path: Path, *rows: str) -> Dataset:
    """Return what is read of a table with these rows (EvoGrad, appendix A.1)."""
    path = tmp_path / "evograd.csv"
    path.write_text(HEADER + "".join(rows))
    return formats.read(path)


def test_a_family_follows_its_original(tmp_path: Path) -> None:
    """The paper's two examples belong to its original, with depths 1 and 2."""
    original, sprinted, although = read(tmp_path, ORIGINAL, SPRINTED, ALTHOUGH)
    assert (original.id, original.lineage, original.answer) == ("0", None, 0)
    assert sprinted.lineage == Lineage("0", "0", declared=1)
    assert (although.lineage, although.answer) == (Lineage("0", "0", declared=2), 1)


def test_an_index_that_restarts_is_told_by_its_family(tmp_path: Path) -> None:
    """When the index starts again with each original, ids are family and index."""
    second = ORIGINAL.replace("ran", "walked")
    data = read(tmp_path, ORIGINAL, SPRINTED, second, SPRINTED)
    assert data.ids == ("0-0", "0-1", "1-0", "1-1")
    assert list(data.families) == ["0-0", "1-0"]


def test_a_row_before_any_original_has_no_root(tmp_path: Path) -> None:
    """A batch without its original keeps the declared distance in `extra`."""
    (problem,) = read(tmp_path, SPRINTED)
    assert problem.lineage is None
    assert problem.extra["evograd.distance"] == 1


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    """Families, depths and ids survive writing and reading."""
    data = read(tmp_path, ORIGINAL, SPRINTED, ALTHOUGH)
    formats.write(data.problems, tmp_path / "again.csv", "evograd")
    assert formats.read(tmp_path / "again.csv") == data


def test_an_undeclared_depth_is_the_token_distance(tmp_path: Path) -> None:
    """A problem that declares no depth gets its token edit distance to its root."""
    root = Problem("r", "The cup hit the jug and _ broke.", ("cup", "jug"), 1)
    changed = Problem(
        "c", "The mug hit the jar and _ broke.", ("mug", "jar"), 1, lineage=Lineage("r", "r")
    )
    formats.write([root, changed], tmp_path / "out.csv", "evograd")
    lineage = formats.read(tmp_path / "out.csv")[1].lineage
    assert lineage is not None
    assert lineage.declared == 2
    with pytest.raises(FormatError, match="'c' can't be written: it declares no depth"):
        formats.write([changed], tmp_path / "out.csv", "evograd")


def test_families_stand_together_whatever_the_order(tmp_path: Path) -> None:
    """Problems of families that are mixed are written family by family, and read back as theirs."""
    cup = Problem("a", "The cup hit the _ .", ("vase", "tray"), 0)
    jug = Problem("b", "The jug hit the _ .", ("vase", "tray"), 1)
    mug = Problem("c", "The mug hit the _ .", ("vase", "tray"), 0, lineage=Lineage("a", "a"))
    lost = Problem("d", "The pan hit the _ .", ("x", "y"), 1, lineage=Lineage("z", "z", (), 2))
    formats.write([cup, jug, mug, lost], tmp_path / "set.csv", "evograd")
    back = {problem.id: problem for problem in formats.read(tmp_path / "set.csv")}
    assert list(back) == ["d", "a", "c", "b"]
    assert back["c"].lineage == Lineage("a", "a", declared=1)
    assert (back["d"].lineage, dict(back["d"].extra)) == (None, {"evograd.distance": 2})
    found = formats.losses([cup, jug, mug, lost], list(back.values()))
    assert set(found.changed) <= {"lineage declared"}


def test_a_distance_beside_a_lineage_stands_in_for_the_root(tmp_path: Path) -> None:
    """Where neither a depth is declared nor the root is here, `evograd.distance` is written."""
    lost = Problem("d", "A _ b.", ("x", "y"), 1, lineage=Lineage("z", "z"))
    with pytest.raises(FormatError, match="its root is not here"):
        formats.write([lost], tmp_path / "set.csv", "evograd")
    known = replace(lost, extra=Extra({"evograd.distance": 3}))
    formats.write([known], tmp_path / "set.csv", "evograd")
    assert formats.read(tmp_path / "set.csv")[0].extra["evograd.distance"] == 3
