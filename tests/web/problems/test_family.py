"""Families: lineages in published data, without words of hidden problems, and embargoes."""

from typing import Any

import pytest

from tests.web.lineaged import child, root
from winosmith import Dataset, formats
from winosmith.errors import InputError
from winosmith.lineage import UNVALIDATED, Depths, check_lineages, depths
from winosmith.web._lock import writing
from winosmith.web.moderate.decisions import ACTIONS, decide, get_newest_events, undo
from winosmith.web.problems.family import lift_embargo, set_embargo
from winosmith.web.problems.records import as_problem, as_public
from winosmith.web.problems.states import get_public_problems

pytestmark = pytest.mark.usefixtures("db")


def _make_family(person: Any, **states: str) -> tuple[Any, Any, Any]:
    """Return a root, its child (with "secretly") and its grandchild, in the given states."""
    ann, bob = person("ann"), person("bob")
    top = root(ann, state=states.get("root", "valid"))
    middle = child(top, bob, new=("not fit", "secretly fit"), state=states.get("middle", "valid"))
    return top, middle, child(middle, bob, new=("secretly fit", "fit"))


def test_public_family_is_exported_with_its_lineage(person):
    data = Dataset(as_public(_make_family(person)))
    assert check_lineages(data) == {}
    assert [datum.root for datum in data] == [data[0].id] * 3
    assert [[e.new for e in d.lineage.edits] for d in data[1:]] == [["secretly"], [""]]


@pytest.mark.parametrize("state", ["held", "judging", "rejected", "withdrawn", "revised"])
def test_words_of_a_hidden_parent_are_not_exported(person, state):
    """The parent's id stays; the edits, which would spell its sentence, are omitted."""
    top, middle, last = _make_family(person, middle=state)
    (datum,) = as_public([last])
    assert (datum.lineage.root, datum.lineage.parent) == (top.ref, middle.ref)
    assert datum.lineage.edits == ()
    assert "secretly" not in repr(datum)


def test_depths_below_a_hidden_root_are_exported(person):
    _top, middle, last = _make_family(person, root="withdrawn")
    data = as_public(list(get_public_problems().order_by("pk")))
    assert [datum.id for datum in data] == [middle.ref, last.ref]
    assert [depths(Dataset(data))[at][1:] for at in (0, 1)] == [(1, 1), (1, 1)]
    assert [len(datum.lineage.edits) for datum in data] == [0, 1]


def test_declared_depth_is_exported_with_measured_depths(ann):
    top = root(ann, state="withdrawn")
    (datum,) = as_public([child(top, declared=4)])
    assert depths(Dataset([datum])) == (Depths(4, 1, 1),)


def test_exported_depths_equal_those_of_the_site(person, tmp_path):
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
def test_generated_problem_loses_its_mark_only_if_judged_valid(validated, state, marked):
    made = child(root(), state=state, extra={UNVALIDATED: True, "chat.turn": 2})
    made.record["validated"] = validated
    datum = as_problem(made)
    assert (UNVALIDATED in datum.extra) is marked
    assert datum.extra["chat.turn"] == 2


def _get_flags(*problems: Any) -> list[tuple[bool, bool]]:
    """Return for each problem whether it is embargoed, and whether only by inheritance."""
    for problem in problems:
        problem.refresh_from_db()
        problem.version.refresh_from_db()
    return [(problem.embargo, problem.version.covered) for problem in problems]


def _decide(moderator: Any, problem: Any, action: str) -> Any:
    seen = get_newest_events([problem]).get(problem.pk, 0)
    return decide(moderator, ACTIONS[action], problem, reason="so", seen=seen, batch="b1")


OPEN, OWN, COVERED = (False, False), (True, False), (True, True)


def test_embargo_covers_all_versions_below(eva):
    """When it is lifted, versions with an embargo of their own keep it."""
    top = root()
    middle = child(top, new=("fit", "belong"))
    last, beside = child(middle), child(top)
    under = child(last, new=("large", "huge"))
    _decide(eva, last, "embargo")
    assert _get_flags(top, middle, last, under, beside) == [OPEN, OPEN, OWN, COVERED, OPEN]
    _decide(eva, top, "embargo")
    assert _get_flags(top, middle, last, under, beside) == [OWN, COVERED, OWN, COVERED, COVERED]
    assert middle.events.filter(kind="cover", actor=eva).exists()
    _decide(eva, top, "lift")
    assert _get_flags(top, middle, last, under, beside) == [OPEN, OPEN, OWN, COVERED, OPEN]
    _decide(eva, last, "lift")
    assert _get_flags(last, under) == [OPEN, OPEN]


def test_inherited_embargo_cannot_be_lifted(eva):
    """Lifting an additional embargo of the version itself leaves the inherited one."""
    top = root()
    made = child(top)
    _decide(eva, top, "embargo")
    with pytest.raises(InputError, match="the problem that it was perturbed from is under embargo"):
        _decide(eva, made, "lift")
    event = _decide(eva, made, "embargo")
    assert _get_flags(made) == [OWN]
    undo(eva, event, reason="a slip", batch="b2")
    assert _get_flags(made) == [COVERED]
    _decide(eva, made, "embargo")
    _decide(eva, made, "lift")
    assert _get_flags(made) == [COVERED]
    _decide(eva, top, "lift")
    assert _get_flags(top, made) == [OPEN, OPEN]


def test_new_versions_inherit_the_embargo_of_their_parent():
    top = root()
    with writing():
        set_embargo(top)
    made = child(top)
    under = child(made, new=("fit", "belong"))
    child_of_own = child(top, new=("fit", "sit"), embargo=True)
    assert _get_flags(made, under, child_of_own) == [COVERED, COVERED, OWN]
    with writing():
        assert lift_embargo(top) == 2
    assert _get_flags(made, under, child_of_own) == [OPEN, OPEN, OWN]
