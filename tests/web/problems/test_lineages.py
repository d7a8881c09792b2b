"""Lineages in published data: correct, and without words of hidden problems."""

from pathlib import Path
from typing import Any

import pytest

from tests.web.lineaged import child, root
from winosmith import Dataset, formats
from winosmith.lineage import UNVALIDATED, Depths, check_lineages, depths
from winosmith.web.problems.records import as_problem, as_public
from winosmith.web.problems.states import get_public_problems

pytestmark = pytest.mark.usefixtures("db")


def _make_family(person: Any, **states: str) -> tuple[Any, Any, Any]:
    """Return a root, its child (with "secretly") and its grandchild, in the given states."""
    ann, bob = person("ann"), person("bob")
    top = root(ann, state=states.get("root", "valid"))
    middle = child(top, bob, new=("not fit", "secretly fit"), state=states.get("middle", "valid"))
    return top, middle, child(middle, bob, new=("secretly fit", "fit"))


def test_public_family_is_exported_with_its_lineage(person: Any) -> None:
    data = Dataset(as_public(_make_family(person)))
    assert check_lineages(data) == {}
    assert [datum.root for datum in data] == [data[0].id] * 3
    assert [[e.new for e in d.lineage.edits] for d in data[1:]] == [["secretly"], [""]]


@pytest.mark.parametrize("state", ["held", "judging", "rejected", "withdrawn", "revised"])
def test_words_of_a_hidden_parent_are_not_exported(person: Any, state: str) -> None:
    """The parent's id stays; the edits, which would spell its sentence, are omitted."""
    top, middle, last = _make_family(person, middle=state)
    (datum,) = as_public([last])
    assert (datum.lineage.root, datum.lineage.parent) == (top.ref, middle.ref)
    assert datum.lineage.edits == ()
    assert "secretly" not in repr(datum)


def test_depths_below_a_hidden_root_are_exported(person: Any) -> None:
    _top, middle, last = _make_family(person, root="withdrawn")
    data = as_public(list(get_public_problems().order_by("pk")))
    assert [datum.id for datum in data] == [middle.ref, last.ref]
    assert [depths(Dataset(data))[at][1:] for at in (0, 1)] == [(1, 1), (1, 1)]
    assert [len(datum.lineage.edits) for datum in data] == [0, 1]


def test_declared_depth_is_exported_with_measured_depths(ann: Any) -> None:
    top = root(ann, state="withdrawn")
    (datum,) = as_public([child(top, declared=4)])
    assert depths(Dataset([datum])) == (Depths(4, 1, 1),)


def test_exported_depths_equal_those_of_the_site(person: Any, tmp_path: Path) -> None:
    """Depths are added to the data only below a hidden version, in every format that keeps them."""
    for state, hidden in (("valid", False), ("judging", True), ("withdrawn", True)):
        top, _middle, last = _make_family(
            lambda name, state=state: person(name + state), middle=state
        )
        under = child(child(last, new=("shelf", "board")), new=("big", "large"))
        family = get_public_problems().filter(version__root=top).order_by("pk")
        data = as_public(list(family))
        measured = {row.ref: (row.version.lineage, row.version.edit) for row in family}
        assert measured[under.ref] == (3, 3)
        for name in ("set.jsonl", "set.csv"):
            formats.write(data, tmp_path / name)
            back = formats.read(tmp_path / name)
            found = {one.id: of[1:] for one, of in zip(back, depths(Dataset(back)), strict=True)}
            assert found == measured
        told = {datum.id for datum in data if "depth.lineage" in datum.extra}
        below = {last.ref, under.ref, under.version.parent.ref}
        assert told == (below if hidden else set())
        assert ("secretly" in repr(data)) is not hidden


@pytest.mark.parametrize(("validated", "state", "marked"), [
    (True, "valid", False), (True, "rejected", True), (False, "valid", True),
])  # fmt: skip
def test_generated_problem_loses_its_mark_only_if_judged_valid(
    validated: bool, state: str, marked: bool
) -> None:
    made = child(root(), state=state, extra={UNVALIDATED: True, "chat.turn": 2})
    made.record["validated"] = validated
    datum = as_problem(made)
    assert (UNVALIDATED in datum.extra) is marked
    assert datum.extra["chat.turn"] == 2
