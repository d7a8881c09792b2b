"""Judging of perturbed problems, whose family is not revealed to judges."""

from typing import Any

import pytest

from tests.web.judge.making import give
from tests.web.lineaged import child, root
from tests.web.making import fresh
from winosmith import Dataset, Problem
from winosmith.lineage import UNVALIDATED, make_child
from winosmith.web.importing import import_problems
from winosmith.web.judge.models import mark_seen
from winosmith.web.judge.turns import lease_next_problem, store_local_answer
from winosmith.web.people.privacy import save_agreement
from winosmith.web.problems.models import Problem as Row
from winosmith.web.problems.records import as_problem


def _judges(person: Any, count: int = 3) -> list[Any]:
    return [person(f"judge{n}", is_judge=True) for n in range(count)]


@pytest.mark.parametrize("both", [False, True])
def test_perturbed_problem_is_decided_by_k_votes(
    database: Any, rules: Any, person: Any, both: bool, ann: Any
) -> None:
    rules(both_halves=both)
    top = root()
    made = child(top, ann, state="judging")

    assert lease_next_problem(ann) is None
    for judge in _judges(person):
        assert give(judge).problem == made
    assert (fresh(made).state, made.reasons, made.verdict.valid) == ("valid", [], True)
    assert lease_next_problem(person("late", is_judge=True)) is None


def test_judges_get_versions_of_a_family_except_their_own(
    database: Any, bob: Any, ann: Any
) -> None:
    """Whether they have seen the root does not matter."""
    top = root(ann)
    mark_seen(bob, top)
    theirs = [child(top, ann, new=("big", word), state="judging") for word in ("large", "huge")]
    child(theirs[0], bob, new=("fit", "belong"), state="judging")
    got = {give(bob).problem for _ in theirs}
    assert got == set(theirs)
    assert lease_next_problem(bob) is None


@pytest.mark.usefixtures("db")
def test_judging_pages_do_not_reveal_the_family(person: Any, visit: Any) -> None:
    middle = child(root(), new=("not fit", "barely fit"))
    made = child(middle, new=("barely fit", "fully fit"), state="judging", declared=7)
    judge = person("judge", is_judge=True)

    save_agreement(judge)
    slot = lease_next_problem(judge)
    assert slot.problem == made
    pages = [visit(judge).get("/judge/").content.decode()]
    store_local_answer(judge, slot.ref, 0)
    pages.append(visit(judge).get("/judge/").content.decode())
    assert "fully fit" in pages[1]
    for page in pages:
        main = page.split("<main")[1].split("</main")[0]
        for told in (middle.ref, middle.version.root.ref, "barely", "lineage", "parent", "perturb"):
            assert told not in main.lower()


@pytest.mark.parametrize(("ambiguous", "marked"), [(False, False), (True, True)])
def test_valid_verdict_removes_the_mark_of_generated_problems(
    database: Any, person: Any, ambiguous: bool, marked: bool
) -> None:
    top = Problem("r", "Sue beat Sally because _ ran well.", ("Sue", "Sally"), 0)
    text = "Sue beat Sally because _ sprinted well."
    made = make_child(top, text, top.options, 0, source="chat")
    import_problems(Dataset([top]), "valid")
    found = import_problems(Dataset([made]), "judging")
    assert (found.versions, found.apart) == (1, 0)
    row = Row.objects.get(ref=made.id)
    assert as_problem(row).extra[UNVALIDATED] is True
    for judge in _judges(person):
        give(judge, ambiguous=ambiguous)
    assert (UNVALIDATED in as_problem(fresh(row)).extra) is marked
    assert row.version.root.ref == "r"
