"""The queue of moderation: filters, pages, indexes, and families of perturbed problems."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.web.lineaged import child, root
from tests.web.making import has_seen
from winosmith.web.moderate import queue
from winosmith.web.moderate.batches import (
    apply_to_matching,
    get_newest_event_and_problem,
    undo_batch,
)
from winosmith.web.moderate.decisions import appeal
from winosmith.web.moderate.people import count_problems_by_state
from winosmith.web.moderate.queue import QueueFilters, filter_queue, get_page, list_problem_rows
from winosmith.web.people.models import Person, get_pseudonym
from winosmith.web.predict.models import Model, Prediction, Status
from winosmith.web.problems import search
from winosmith.web.problems.lookalikes import index_problems
from winosmith.web.problems.models import Event, Problem, State, Version


def _refs(query: str) -> set[str]:
    return set(filter_queue(QueueFilters.read(query)).values_list("ref", flat=True))


@pytest.mark.parametrize("rare", [1, 1000])
def test_filters_find_only_matching_problems(database, ann, twin, monkeypatch, rare):
    """Rare and common words and domains take different queries; the results are the same."""
    monkeypatch.setattr(search, "RARE", rare)
    monkeypatch.setattr(queue, "RARE_LIMIT", rare)
    plain = twin(state="valid")
    hinted = twin(ann, hints=["names: Ada Lovelace"], domain="social")
    appealed = twin(ann, state="rejected")
    appeal(ann, appealed[0], "Look again.")
    old = twin(state="valid", embargo=True)
    Problem.objects.filter(twin=old[0].twin).update(created=timezone.now() - timedelta(days=40))
    gold = twin(state="valid", gold=True)
    word = hinted[0].sentence.split()[2]

    def refs(*halves: Any) -> set[str]:
        return {half.ref for half in halves}

    assert _refs("state=held") == refs(*hinted)
    assert _refs("hint=lovelace") == refs(*hinted)
    assert _refs("only=hinted") == refs(*hinted)
    assert _refs("domain=Social") == refs(*hinted)
    assert _refs(f"by={get_pseudonym(ann)}") == refs(*hinted, *appealed)
    assert _refs("only=appeal") == refs(appealed[0])
    assert _refs("age=over-month") == _refs("only=embargo") == refs(*old)
    assert _refs("age=day") == refs(*plain, *hinted, *appealed, *gold)
    assert _refs("only=gold") == _refs("state=valid&only=gold") == refs(*gold)
    assert _refs("state=valid") == refs(*plain, *old)
    assert _refs(f'text="day {word} the" -small') == refs(hinted[0])
    assert _refs("hint=LOVE&only=hinted&domain=SOCIAL&text=trophy") == refs(*hinted)
    assert _refs("by=p-000000000000") == _refs("text=-trophy") == _refs("text=zebra") == set()
    assert _refs("only=close") == set()


@pytest.mark.parametrize("oldest", ["", "1"])
def test_pages_contain_each_problem_once_in_order(twin, oldest):
    """Several problems have the same time."""
    now = timezone.now()
    for n in range(6):
        for half in twin():
            Problem.objects.filter(pk=half.pk).update(created=now - timedelta(hours=n // 3))
    where = QueueFilters.read(f"state=held&oldest={oldest}")
    order = ("created", "pk") if oldest else ("-created", "-pk")
    expected = list(Problem.objects.order_by(*order))
    met, mark, pages = [], "", []
    while True:
        shown = get_page(where, mark, size=5)
        met += shown.problems
        pages.append(shown)
        if not shown.older:
            break
        mark = _after(shown.older)
    assert met == expected
    assert pages[0].newer == ""
    back = get_page(where, _after(pages[-1].newer), size=5)
    assert back.problems == pages[-2].problems
    assert get_page(where, _after(back.newer), size=5).newer == ""


def _after(query: str) -> str:
    return str(QueryDict(query)["after"])


@pytest.mark.parametrize("mark", ["x", "-", "--1", "-x", "9" * 18])
def test_invalid_page_mark_shows_the_first_page(twin, mark):
    twin()
    assert len(get_page(QueueFilters.read("state=held"), mark).problems) == 2


def test_filters_round_trip_through_the_query():
    """Unknown values are ignored."""
    where = QueueFilters.read("state=valid&text=a%26b&age=week&only=nonsense&oldest=1")
    assert (where.only, where.text) == ("", "a&b")
    assert QueueFilters.read(where.make_query()) == where


def test_search_finds_only_the_current_text(twin):
    """An erasure, for example, changes texts."""
    half = twin(state="withdrawn")[0]
    half.sentence = "erased"
    half.save()
    assert _refs("text=erased") == {half.ref}
    assert half.ref not in _refs("text=shelf")


def test_queue_pages_are_read_from_an_index():
    for query in (
        "state=held",
        "state=",
        "state=valid&age=week",
        "state=held&age=over-day",
        "only=hinted",
        "hint=ada",
        "only=gold",
        "only=embargo",
    ):
        rows = filter_queue(QueueFilters.read(query)).order_by("-created", "-pk")[:26]
        sql, params = rows.query.sql_with_params()
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
            plan = " / ".join(row[-1] for row in cursor.fetchall())
        assert "TEMP B-TREE" not in plan
        assert "problems_problem USING INDEX moderate_" in plan


def test_queue_filters_by_kind(database, twin):
    halves = {problem.ref for problem in twin()}
    top = root(state="rejected")
    made = [child(top, state="held"), child(top, new=("fit", "belong"))]
    assert _refs("kind=original") == {top.ref, *halves}
    assert _refs("kind=twin") == halves
    assert _refs("kind=perturbed") == {one.ref for one in made}
    assert _refs("kind=perturbed&state=held") == {made[0].ref}


def test_queue_filters_by_family(database, ann, bob):
    """Any problem selects its family. With a contributor, only their problems are found."""
    top, other = root(ann), root(bob)
    one = child(top, bob, state="held")
    two = child(one, ann, new=("fit", "belong"), state="judging")
    child(other, bob)
    for ref in (top.ref, one.ref, two.ref):
        assert _refs(f"family={ref}") == {top.ref, one.ref, two.ref}
    assert _refs(f"family={two.ref}&by={get_pseudonym(bob)}") == {one.ref}
    assert _refs("family=nobody") == set()
    lone = root()
    assert _refs(f"family={lone.ref}") == {lone.ref}


def test_batch_changes_only_one_persons_versions_of_a_family(database, eva, ann, bob):
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


def test_version_page_shows_the_path_from_the_root(ann, eva, visit):
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


def test_similar_sentences_of_the_family_are_not_listed(eva, visit):
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


def test_moderator_who_saw_a_version_cannot_judge_its_parents(person, visit):
    eva = person("eva", is_moderator=True, is_judge=True)
    middle = child(root(), state="judging")
    made = child(middle, new=("fit", "belong"), state="judging")
    visit(eva).get(f"/moderate/problems/{made.ref}/")
    assert has_seen(eva, middle)
    assert has_seen(eva, made)


def test_record_of_a_contributor_counts_perturbed_problems(ann, eva, visit):
    child(root(ann), ann)
    written = count_problems_by_state(ann)
    assert (written.total, written.perturbed, written.valid) == (2, 1, 2)
    page = visit(eva).get(f"/moderate/people/{get_pseudonym(ann)}/").content.decode()
    assert "of these perturbed" in page


@pytest.mark.long
def test_query_count_does_not_grow_with_the_family():
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
