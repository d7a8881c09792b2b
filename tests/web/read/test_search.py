"""The full-text index: what it finds, and that it follows every change of the table."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from tests.web.conftest import BOTH
from winosmith.web.problems.models import Problem
from winosmith.web.problems.search import index_creators
from winosmith.web.read.public import Filters


def _search(text: str) -> set[str]:
    return set(Filters({"q": text}).apply().values_list("ref", flat=True))


SEARCHES = {
    "trophy": True,
    "TROPHY": True,
    "troph": False,
    "trophy shelf": True,
    '"trophy did not"': True,
    '"did trophy"': False,
    "trophy -shelf": False,
    "trophy -piano": True,
    "trophy -": True,
    'trophy "': True,
    "-trophy": False,
    "_ ... !": False,
    "trophy OR piano": False,
    "trophy AND": False,
    "trop*": False,
    "sentence:trophy": False,
    "NEAR(trophy shelf)": False,
    "trophy' OR 1=1 --": False,
    '"trophy" NOT': True,
    "the _ was": True,
}
"""Queries, and whether they find the sentence, which contains the word "not" itself."""


@pytest.mark.parametrize("rare", [1, 1000])
@BOTH
def test_both_databases_find_the_same_words(database, twin, monkeypatch, rare):
    """The result doesn't depend on whether words count as rare or as common."""
    monkeypatch.setattr("winosmith.web.problems.search.RARE", rare)
    halves = {half.ref for half in twin()}
    found = {text: _search(text) == halves for text in SEARCHES}
    assert found == SEARCHES
    assert all(_search(text) in (set(), halves) for text in SEARCHES)


@BOTH
def test_index_follows_every_change(database, twin):
    first, second = twin(state=("judging", "valid"))
    assert _search("trophy") == {second.ref}
    Problem.objects.filter(pk=first.pk).update(state="valid")
    assert _search("trophy") == {first.ref, second.ref}
    for hidden in ({"embargo": True}, {"gold": True}, {"state": "withdrawn"}):
        Problem.objects.filter(pk=second.pk).update(**hidden)
        assert _search("trophy") == {first.ref}
        Problem.objects.filter(pk=second.pk).update(embargo=False, gold=False, state="valid")
        assert _search("trophy") == {first.ref, second.ref}
    Problem.objects.filter(pk=first.pk).update(sentence="A piano is where the _ was.")
    assert (_search("trophy"), _search("piano")) == ({second.ref}, {first.ref})
    Problem.objects.filter(pk=second.pk).delete()
    assert _search("trophy") == set()


@BOTH
def test_dropped_index_is_created_again(database, twin):
    """A migration that rebuilds the table may drop the index.

    A start that is interrupted before SQLite's index is filled leaves no index.
    """

    def stop(execute: Callable[..., Any], query: str, *rest: Any) -> Any:
        if "FROM problems_problem p" in query:
            raise KeyboardInterrupt
        return execute(query, *rest)

    first, second = twin(state=("valid", "held"))
    parts = [f"TRIGGER read_search_{name}" for name in ("insert", "update", "delete")]
    parts.append("TABLE read_search")
    if connection.vendor == "postgresql":
        parts = ["INDEX read_search"]
    with connection.cursor() as cursor:
        for part in parts:
            cursor.execute(f"DROP {part}")
    create_index, *_others = index_creators
    with contextlib.suppress(KeyboardInterrupt), connection.execute_wrapper(stop):
        create_index()
    create_index()
    create_index()
    assert _search("trophy") == {first.ref}
    second.state = "valid"
    second.save()
    assert _search("trophy") == {first.ref, second.ref}


def test_found_words_are_marked_but_not_parts_of_words(db, visit, twin):
    twin(word="hat")
    page = visit().get("/problems/?q=hat").text
    assert page.count("<mark>hat</mark>") == 2
    assert "w<mark>" not in page
