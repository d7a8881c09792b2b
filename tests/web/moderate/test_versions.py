"""Perturbed problems before a moderator: the queue by kind and family, the way from the root."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.web.lineaged import child, root
from winosmith.web.judge.models import has_seen
from winosmith.web.moderate.batches import (
    apply_to_matching,
    get_newest_event_and_problem,
    undo_batch,
)
from winosmith.web.moderate.dossier import list_problem_rows
from winosmith.web.moderate.people import count_problems_by_state
from winosmith.web.moderate.queue import QueueFilters, filter_queue, get_page
from winosmith.web.people.models import Person, get_pseudonym
from winosmith.web.predict.models import Model, Prediction, Status
from winosmith.web.problems.lookalikes import index_problems
from winosmith.web.problems.models import Event, Problem, State, Version


def _found(query: str) -> set[str]:
    return set(filter_queue(QueueFilters.read(query)).values_list("ref", flat=True))


def test_the_queue_is_parted_by_kind(database: Any, twin: Any) -> None:
    """Originals, halves of twins and perturbed problems are each found apart."""
    halves = {problem.ref for problem in twin()}
    top = root(state="rejected")
    made = [child(top, state="held"), child(top, new=("fit", "belong"))]
    assert _found("kind=original") == {top.ref, *halves}
    assert _found("kind=twin") == halves
    assert _found("kind=perturbed") == {one.ref for one in made}
    assert _found("kind=perturbed&state=held") == {made[0].ref}


def test_the_queue_shows_a_family(database: Any, ann: Any, bob: Any) -> None:
    """A family is found by any of its problems; with a contributor, what that one wrote of it."""
    top, other = root(ann), root(bob)
    one = child(top, bob, state="held")
    two = child(one, ann, new=("fit", "belong"), state="judging")
    child(other, bob)
    for ref in (top.ref, one.ref, two.ref):
        assert _found(f"family={ref}") == {top.ref, one.ref, two.ref}
    assert _found(f"family={two.ref}&by={get_pseudonym(bob)}") == {one.ref}
    assert _found("family=nobody") == set()
    lone = root()
    assert _found(f"family={lone.ref}") == {lone.ref}


def test_all_of_a_person_in_a_family_is_done_undone_and_logged(
    database: Any, eva: Any, ann: Any, bob: Any
) -> None:
    """A batch on one person's versions of one family leaves all others alone, and is taken back."""
    top, other = root(ann), root(ann)
    one = child(top, bob, state="judging")
    two = child(one, bob, new=("fit", "belong"))
    child(one, ann, new=("fit", "go"))
    child(other, bob)
    before = dict(Problem.objects.values_list("ref", "state"))
    where = QueueFilters.read(f"state=&family={top.ref}&by={get_pseudonym(bob)}")
    batch = apply_to_matching(
        eva, "withdraw", where, "spam", newest=get_newest_event_and_problem(), expected=2
    )
    assert batch.done == 2
    after = dict(Problem.objects.values_list("ref", "state"))
    assert {ref for ref in before if before[ref] != after[ref]} == {one.ref, two.ref}
    assert one.slots.filter(open=True).count() == 0
    undo_batch(eva, batch, "no spam")
    assert dict(Problem.objects.values_list("ref", "state")) == before
    assert one.slots.filter(open=True).count() == 3
    kinds = list(Event.objects.filter(actor=eva, problem=one).values_list("kind", flat=True))
    assert kinds == ["withdraw", "undo"]


@pytest.mark.usefixtures("db")
def test_a_version_is_shown_with_its_way_from_the_root(ann: Any, eva: Any, visit: Any) -> None:
    """The page has each step with its edits and depths, predictions, and the family's queue."""
    top = root()
    middle = child(top, new=("not fit", "barely fit"), state="rejected")
    made = child(middle, ann, new=("big", "large"), state="held", declared=3)
    model = Model.objects.create(name="bert", solver="encoder", revision="1", digest="d")
    Prediction.objects.create(
        problem=made, model=model, stand=Status.DONE, scores=[0, 1], choice=1, right=False
    )
    page = visit(eva).get(f"/moderate/problems/{made.ref}/").content.decode()
    assert "barely" in page
    assert "declared 3, lineage 2, edit 2" in page
    assert "declared –, lineage 1, edit 1" in page
    assert page.count("</ins>") == 2
    assert "bert" in page
    assert "The models’ answers" in page
    assert "This half" not in page
    assert f"family={top.ref}&amp;by={get_pseudonym(ann)}" in page


@pytest.mark.usefixtures("db")
def test_near_copies_inside_the_family_are_none(eva: Any, visit: Any) -> None:
    """Only sentences of other families are listed: versions of one family are always similar."""
    top = root()
    kin = child(top, new=("big", "huge"))
    made = child(top, new=("big", "large"), state="held")
    index_problems(top, kin, made)

    def near() -> str:
        page = visit(eva).get(f"/moderate/problems/{made.ref}/").content.decode()
        return str(page.split("Similar sentences")[1].split("</section>")[0])

    assert "No other sentence" in near()
    copy = root()
    copy.sentence = made.sentence
    copy.save()
    index_problems(copy)
    assert f">{copy.ref}</a>" in near()
    assert kin.ref not in near()


@pytest.mark.usefixtures("db")
def test_who_read_the_way_to_a_version_judges_none_of_it(person: Any, visit: Any) -> None:
    """A moderator who looks at a version has read its parents, and is not asked about them."""
    eva = person("eva", is_moderator=True, is_judge=True)
    middle = child(root(), state="judging")
    made = child(middle, new=("fit", "belong"), state="judging")
    visit(eva).get(f"/moderate/problems/{made.ref}/")
    assert has_seen(eva, middle)
    assert has_seen(eva, made)


@pytest.mark.usefixtures("db")
def test_versions_are_counted_with_what_somebody_wrote(ann: Any, eva: Any, visit: Any) -> None:
    """A contributor's record tells how many of their problems are perturbed ones."""
    child(root(ann), ann)
    written = count_problems_by_state(ann)
    assert (written.total, written.perturbed, written.valid) == (2, 1, 2)
    page = visit(eva).get(f"/moderate/people/{get_pseudonym(ann)}/").content.decode()
    assert "of these perturbed" in page


@pytest.mark.long
@pytest.mark.usefixtures("db")
def test_a_family_of_ten_thousand_is_a_quick_filter() -> None:
    """A page of the queue asks a fixed number of times, however large the family is."""
    top = root()
    first = child(top)

    def grow(count: int) -> None:
        start = Problem.objects.count()
        made = Problem.objects.bulk_create(
            Problem(
                ref=f"big{start + n}", twin=first.twin, sentence=first.sentence,
                options=first.options, answer=0, state=State.VALID,
            )
            for n in range(count)
        )  # fmt: skip
        Version.objects.bulk_create(
            Version(problem=one, root=top, parent=top, step=1, digest=str(one.pk)) for one in made
        )

    counts = []
    for size in (30, 10_000):
        grow(size)
        with CaptureQueriesContext(connection) as asked:
            shown = get_page(QueueFilters.read(f"family={first.ref}&kind=perturbed"))
            list_problem_rows(Person(is_moderator=True, pk=0), shown.problems)
        assert len(shown.problems) == 25
        counts.append(len(asked))
    assert counts[0] == counts[1]
