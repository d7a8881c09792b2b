"""Moderation of perturbed problems: the queue's filters, and the path from the root."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.web.lineaged import child, root
from tests.web.making import has_seen
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


def _filter_refs(query: str) -> set[str]:
    return set(filter_queue(QueueFilters.read(query)).values_list("ref", flat=True))


def test_queue_filters_by_kind(database: Any, twin: Any) -> None:
    halves = {problem.ref for problem in twin()}
    top = root(state="rejected")
    made = [child(top, state="held"), child(top, new=("fit", "belong"))]
    assert _filter_refs("kind=original") == {top.ref, *halves}
    assert _filter_refs("kind=twin") == halves
    assert _filter_refs("kind=perturbed") == {one.ref for one in made}
    assert _filter_refs("kind=perturbed&state=held") == {made[0].ref}


def test_queue_filters_by_family(database: Any, ann: Any, bob: Any) -> None:
    """Any problem selects its family. With a contributor, only their problems are found."""
    top, other = root(ann), root(bob)
    one = child(top, bob, state="held")
    two = child(one, ann, new=("fit", "belong"), state="judging")
    child(other, bob)
    for ref in (top.ref, one.ref, two.ref):
        assert _filter_refs(f"family={ref}") == {top.ref, one.ref, two.ref}
    assert _filter_refs(f"family={two.ref}&by={get_pseudonym(bob)}") == {one.ref}
    assert _filter_refs("family=nobody") == set()
    lone = root()
    assert _filter_refs(f"family={lone.ref}") == {lone.ref}


def test_batch_changes_only_one_persons_versions_of_a_family(
    database: Any, eva: Any, ann: Any, bob: Any
) -> None:
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
def test_version_page_shows_the_path_from_the_root(ann: Any, eva: Any, visit: Any) -> None:
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
def test_similar_sentences_of_the_family_are_not_listed(eva: Any, visit: Any) -> None:
    """Versions of one family are always similar."""
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
def test_moderator_who_saw_a_version_cannot_judge_its_parents(person: Any, visit: Any) -> None:
    eva = person("eva", is_moderator=True, is_judge=True)
    middle = child(root(), state="judging")
    made = child(middle, new=("fit", "belong"), state="judging")
    visit(eva).get(f"/moderate/problems/{made.ref}/")
    assert has_seen(eva, middle)
    assert has_seen(eva, made)


@pytest.mark.usefixtures("db")
def test_record_of_a_contributor_counts_perturbed_problems(ann: Any, eva: Any, visit: Any) -> None:
    child(root(ann), ann)
    written = count_problems_by_state(ann)
    assert (written.total, written.perturbed, written.valid) == (2, 1, 2)
    page = visit(eva).get(f"/moderate/people/{get_pseudonym(ann)}/").content.decode()
    assert "of these perturbed" in page


@pytest.mark.long
@pytest.mark.usefixtures("db")
def test_query_count_does_not_grow_with_the_family() -> None:
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
