"""One's own perturbed problems: how they stand, and what can be done with them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.lineaged import child, root
from winosmith.web.judge.submissions import withdraw
from winosmith.web.problems.family import path_to
from winosmith.web.problems.models import Problem
from winosmith.web.problems.records import as_problem

pytestmark = pytest.mark.usefixtures("db")


def _page(client: Any, problem: Any = None) -> str:
    path = f"/write/mine/{problem.twin.ref}/" if problem else "/write/mine/"
    answer = client.get(path)
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_versions_stand_among_what_one_wrote(contributor: Any, visit: Any) -> None:
    """The list has a version with its parent, its depths and the way to its predictions."""
    ann = contributor()
    top = root()
    made = child(top, ann, new=("fit", "belong"), declared=2)
    for page in (_page(visit(ann)), _page(visit(ann), made)):
        assert f'href="/problems/{top.ref}/"' in page
        assert f'href="/perturb/made/{made.ref}/"' in page
        assert "declared 2, lineage 1, edit 1" in page
        assert "<del>" in page


def test_a_version_has_no_words_of_twins(contributor: Any, visit: Any) -> None:
    """The page of a version speaks of no half; revising it leads to the form that perturbs."""
    ann = contributor()
    made = child(root(), ann, new=("fit", "belong"), state="judging")
    page = _page(visit(ann), made).split("<main")[1].split("</main")[0]
    assert "half" not in page.lower().replace("behalf", "")
    assert "halves" not in page.replace('class="halves"', "")
    assert f'href="/perturb/{made.ref}/revise/"' in page
    answer = visit(ann).post(f"/write/mine/{made.twin.ref}/revise/")
    assert (answer.status_code, answer["Location"]) == (302, f"/perturb/{made.ref}/revise/")


def test_the_words_of_a_hidden_parent_are_not_shown(contributor: Any, visit: Any) -> None:
    """Once somebody else's parent is withdrawn, one's own version stays, without its words."""
    ann, bob = contributor("ann"), contributor("bob")
    middle = child(root(), bob, new=("not fit", "secretly fit"))
    made = child(middle, ann, new=("secretly fit", "truly fit"))
    assert "secretly" in _page(visit(ann), made)
    withdraw(bob, middle.twin)
    for page in (_page(visit(ann), made), _page(visit(ann))):
        assert "secretly" not in page
        assert middle.ref not in page
        assert "truly" in page


def test_children_outlive_what_was_withdrawn(contributor: Any) -> None:
    """Withdrawing a version withdraws it alone: what others made of it stays, its lineage true."""
    ann, bob = contributor("ann"), contributor("bob")
    top = root()
    middle = child(top, ann, new=("fit", "belong"))
    made = child(middle, bob)
    before = as_problem(made)
    withdraw(ann, middle.twin, "because")
    states = dict(Problem.objects.values_list("ref", "state"))
    assert states == {top.ref: "valid", middle.ref: "withdrawn", made.ref: "valid"}
    assert as_problem(Problem.objects.get(pk=made.pk)) == before
    assert path_to(made) == [top, middle, made]
