"""The queue of moderation: filters, pages, and indexes."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.http import QueryDict
from django.utils import timezone

from winosmith.web.moderate import queue
from winosmith.web.moderate.decisions import appeal
from winosmith.web.moderate.queue import QueueFilters, filter_queue, get_page
from winosmith.web.people.models import get_pseudonym
from winosmith.web.problems import search
from winosmith.web.problems.models import Problem


def _refs(query: str) -> set[str]:
    return set(filter_queue(QueueFilters.read(query)).values_list("ref", flat=True))


@pytest.mark.parametrize("rare", [1, 1000])
def test_filters_find_only_matching_problems(
    database: Any, ann: Any, twin: Any, monkeypatch: pytest.MonkeyPatch, rare: int
) -> None:
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
def test_pages_contain_each_problem_once_in_order(db: Any, twin: Any, oldest: str) -> None:
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
def test_invalid_page_mark_shows_the_first_page(db: Any, twin: Any, mark: str) -> None:
    twin()
    assert len(get_page(QueueFilters.read("state=held"), mark).problems) == 2


def test_filters_round_trip_through_the_query(db: Any) -> None:
    """Unknown values are ignored."""
    where = QueueFilters.read("state=valid&text=a%26b&age=week&only=nonsense&oldest=1")
    assert (where.only, where.text) == ("", "a&b")
    assert QueueFilters.read(where.make_query()) == where


def test_search_finds_only_the_current_text(db: Any, twin: Any) -> None:
    """An erasure, for example, changes texts."""
    half = twin(state="withdrawn")[0]
    half.sentence = "erased"
    half.save()
    assert _refs("text=erased") == {half.ref}
    assert half.ref not in _refs("text=shelf")


def test_queue_pages_are_read_from_an_index(db: Any) -> None:
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
