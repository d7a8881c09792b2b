"""EvoGrad's table: families after their originals, with declared depths."""

from pathlib import Path

import pytest

from winosmith import Dataset, Lineage, formats
from winosmith.errors import FormatError

HEADER = "index,sentence,option1,option2,answer,distance\n"
ORIGINAL = '0,"Although they ran at about the same speed, Sue beat Sally because _ had such a good start.",Sue,Sally,1,0\n'  # noqa: E501
SPRINTED = '1,"Although they sprinted at about the same speed, Sue beat Sally because _ had such a good start.",Sue,Sally,1,1\n'  # noqa: E501
ALTHOUGH = '2,"Although they sprinted at about the same speed, Sue beat Sally although _ had such a good start.",Sue,Sally,2,2\n'  # noqa: E501


def read(tmp_path: Path, *rows: str) -> Dataset:
    """Read a table with these rows (EvoGrad, appendix A.1)."""
    path = tmp_path / "evograd.csv"
    path.write_text(HEADER + "".join(rows))
    return formats.read(path)


def test_family_has_its_original_as_root_and_declared_depths(tmp_path):
    """The rows are the paper's two examples."""
    deep = ALTHOUGH.replace(",2,2\n", ",2,5\n")
    original, sprinted, although = read(tmp_path, ORIGINAL, SPRINTED, deep)
    assert (original.id, original.lineage, original.answer) == ("0", None, 0)
    assert sprinted.lineage == Lineage("0", "0", declared=1)
    assert (although.lineage, although.answer) == (Lineage("0", "0", declared=5), 1)


def test_ids_include_the_family_if_the_index_restarts(tmp_path):
    second = ORIGINAL.replace("ran", "walked")
    data = read(tmp_path, ORIGINAL, SPRINTED, second, SPRINTED)
    assert data.ids == ("0-0", "0-1", "1-0", "1-1")
    assert list(data.families) == ["0-0", "1-0"]


def test_row_before_any_original_has_no_lineage(tmp_path):
    """It keeps the declared distance in `extra`."""
    (problem,) = read(tmp_path, SPRINTED)
    assert problem.lineage is None
    assert problem.extra["evograd.distance"] == 1


def test_row_numbers_of_pandas_are_ignored(tmp_path):
    """They don't make every row an original."""
    rows = (HEADER, ORIGINAL, SPRINTED)
    (tmp_path / "pandas.csv").write_text(
        "".join(f"{'' if at < 1 else at},{row}" for at, row in enumerate(rows))
    )
    assert formats.read(tmp_path / "pandas.csv")[1].lineage == Lineage("0", "0", declared=1)


def test_shuffled_rows_are_refused(tmp_path):
    """Families follow from the order, so a shuffled row would get an incorrect root."""
    second = ORIGINAL.replace("0,", "3,", 1).replace("ran", "walked")
    with pytest.raises(FormatError, match="the index 1 follows 3: the rows were sorted or shuff"):
        read(tmp_path, ORIGINAL, second, SPRINTED)
