"""Data sets: order, twins, singles, families, digest; and what filters return."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winosmith import Dataset, Extra, Lineage, Problem
from winosmith.errors import DataError
from winosmith.testing import made_twins


def a_problem(identity: str, twin_id: str | None = None, **fields: object) -> Problem:
    """Return a problem without an answer."""
    return Problem(identity, "The _ fell.", ("cup", "jug"), twin_id=twin_id, **fields)  # type: ignore[arg-type]


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    """Draw a data set whose problems share twin ids in any way."""
    twin_ids = draw(st.lists(st.none() | st.sampled_from("abcde"), max_size=12))
    return Dataset(a_problem(str(number), twin_id) for number, twin_id in enumerate(twin_ids))


@st.composite
def drops(draw: st.DrawFn) -> tuple[Dataset, dict[int, str]]:
    """Draw a data set and reasons to drop some of its rows."""
    dataset = draw(datasets())
    rows = st.sets(st.integers(0, len(dataset) - 1)) if len(dataset) else st.just(set[int]())
    return dataset, {row: f"reason {row}" for row in draw(rows)}


@given(drops())
def test_kept_and_dropped_are_the_input(case: tuple[Dataset, dict[int, str]]) -> None:
    """What a filter kept and dropped is together what went in, in its order."""
    dataset, reasons = case
    result = dataset.drop(reasons, "a stage")
    assert result.input() == dataset
    assert {entry.row: entry.reason for entry in result.dropped} == reasons
    assert len(result.kept) + len(result.dropped) == len(dataset)


@pytest.mark.parametrize("row", [-1, 3])
def test_a_row_that_is_not_there_cannot_be_dropped(row: int) -> None:
    """Dropping a row that the data set does not have is refused, not ignored."""
    with pytest.raises(DataError, match=f"there is no row {row} to drop; there are 3 rows"):
        Dataset(map(a_problem, "abc")).drop({row: "why"}, "a stage")


@given(datasets())
def test_twins_and_singles_are_all_problems(dataset: Dataset) -> None:
    """Each problem is half of one twin, or a single, and never both."""
    rows = [row for twin in dataset.twins for row in twin] + list(dataset.singles)
    assert sorted(rows) == list(range(len(dataset)))


@given(datasets())
def test_a_twin_is_two_problems_and_no_third(dataset: Dataset) -> None:
    """Two problems are a twin exactly when they, and no third, have their twin id."""
    for first, second in dataset.twins:
        sharing = [p for p in dataset if p.twin_id == dataset[first].twin_id]
        assert sharing == [dataset[first], dataset[second]]
    for row in dataset.singles:
        twin_id = dataset[row].twin_id
        assert twin_id is None or sum(p.twin_id == twin_id for p in dataset) != 2


@given(datasets(), st.text(), st.text())
def test_the_name_is_not_part_of_the_digest(dataset: Dataset, one: str, other: str) -> None:
    """The digest covers the problems alone: a data set's name does not change it."""
    assert Dataset(dataset, one).digest == Dataset(dataset, other).digest


def test_the_digest_depends_on_every_field_and_on_the_order() -> None:
    """Changing any field of a problem, or the order of problems, changes the digest."""
    problem, other = a_problem("1", "t"), a_problem("2", "t")
    changed = [
        replace(problem, id="3"),
        replace(problem, sentence="The _ fell !"),
        replace(problem, options=("jug", "cup")),
        replace(problem, answer=0),
        replace(problem, answer=1),
        replace(problem, twin_id=None),
        replace(problem, pronoun="it"),
        replace(problem, lineage=Lineage("1", "1")),
        replace(problem, embargo=True),
        replace(problem, extra=Extra({"a.b": 1})),
        replace(problem, extra=Extra({"a.b": "1"})),
        replace(problem, extra=Extra({"a.b": True})),
    ]
    digests = {Dataset([first, other]).digest for first in (problem, *changed)}
    digests.add(Dataset([other, problem]).digest)
    assert len(digests) == len(changed) + 2


def test_the_digest_is_fixed() -> None:
    """The digest is the SHA-256 of the records, one line each, so it is the same everywhere."""
    line = '{"id":"1","sentence":"The _ fell.","options":["cup","jug"],"answer":0}\n'
    dataset = Dataset([Problem("1", "The _ fell.", ("cup", "jug"), 0)])
    assert dataset.digest == hashlib.sha256(line.encode()).hexdigest()


def test_ids_are_distinct() -> None:
    """A data set in which an id occurs twice is refused by the id."""
    with pytest.raises(DataError, match="the id 'a' occurs twice"):
        Dataset([a_problem("a"), a_problem("b"), a_problem("a")])


def test_problems_are_found_by_row_slice_and_id() -> None:
    """Rows, slices and ids lead to the same problems."""
    dataset = Dataset(map(a_problem, "abcd"), "letters")
    assert dataset[1:3].ids == ("b", "c")
    assert dataset[1:3].name == "letters"
    assert dataset[dataset.row("c")].id == "c"
    assert "c" in dataset.ids
    assert dataset[0] in dataset
    assert replace(dataset[0], answer=1) not in dataset
    assert dataset.select([3, 0]).ids == ("d", "a")
    with pytest.raises(DataError, match="there is no problem with the id 'z'"):
        dataset.row("z")


def test_a_family_is_a_root_and_what_was_made_from_it() -> None:
    """Problems belong to the family of their lineage's root; a problem without one is a root."""
    child = a_problem("b", lineage=Lineage("a", "a"))
    dataset = Dataset([a_problem("a"), child, a_problem("c")])
    assert dataset.families == {"a": (0, 1), "c": (2,)}


def test_a_blind_data_set_has_no_answers() -> None:
    """A data set made blind has no answer and keeps ids and order."""
    dataset = made_twins(5)
    assert set(dataset.blind().answers) == {None}
    assert dataset.blind().ids == dataset.ids


def test_a_data_set_survives_a_worker_process() -> None:
    """A pickled data set is equal to itself, with its name."""
    dataset = Dataset(made_twins(3), "made")
    again = pickle.loads(pickle.dumps(dataset))  # noqa: S301 - our own bytes
    assert (again, again.name) == (dataset, "made")
