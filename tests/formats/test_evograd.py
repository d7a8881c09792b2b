"""EvoGrad's table: families under their originals, with declared depths."""

from pathlib import Path

import pytest

from winosmith import Dataset, Lineage, formats
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
    """The paper's two examples belong to its original; the depths are those that are declared."""
    deep = ALTHOUGH.replace(",2,2\n", ",2,5\n")
    original, sprinted, although = read(tmp_path, ORIGINAL, SPRINTED, deep)
    assert (original.id, original.lineage, original.answer) == ("0", None, 0)
    assert sprinted.lineage == Lineage("0", "0", declared=1)
    assert (although.lineage, although.answer) == (Lineage("0", "0", declared=5), 1)


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


def test_the_row_numbers_of_pandas_are_no_other_format(tmp_path: Path) -> None:
    """A first column without a name does not turn every row into an original."""
    rows = (HEADER, ORIGINAL, SPRINTED)
    (tmp_path / "pandas.csv").write_text(
        "".join(f"{'' if at < 1 else at},{row}" for at, row in enumerate(rows))
    )
    assert formats.read(tmp_path / "pandas.csv")[1].lineage == Lineage("0", "0", declared=1)


def test_rows_in_another_order_have_no_known_original(tmp_path: Path) -> None:
    """The order assigns families, so shuffled rows are refused and not given a wrong root."""
    second = ORIGINAL.replace("0,", "3,", 1).replace("ran", "walked")
    with pytest.raises(FormatError, match="the index 1 follows 3: the rows were sorted or shuff"):
        read(tmp_path, ORIGINAL, second, SPRINTED)
