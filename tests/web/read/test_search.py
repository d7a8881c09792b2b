"""The full-text index: what it finds, and that it is in step whatever is done to the table."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from tests.web.conftest import BOTH
from winosmith.web.problems.models import Problem
from winosmith.web.problems.search import create_index
from winosmith.web.read.public import Filters


def _found(text: str) -> set[str]:
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
"""What is typed, and whether it finds the sentence; "not" is one of its words."""


@pytest.mark.parametrize("rare", [1, 1000])
@BOTH
def test_words_are_found(
    database: Any, twin: Any, monkeypatch: pytest.MonkeyPatch, rare: int
) -> None:
    """Both databases find the same: whole words in any case, phrases, and not what has a minus.

    So they do for words that are rare and for words that count as common.
    """
    monkeypatch.setattr("winosmith.web.problems.search.RARE", rare)
    halves = {half.ref for half in twin()}
    found = {text: _found(text) == halves for text in SEARCHES}
    assert found == SEARCHES
    assert all(_found(text) in (set(), halves) for text in SEARCHES)


@BOTH
def test_the_index_follows_every_change(database: Any, twin: Any) -> None:
    """A row is found from when it becomes public until it stops being so, by any statement."""
    first, second = twin(state=("judging", "valid"))
    assert _found("trophy") == {second.ref}
    Problem.objects.filter(pk=first.pk).update(state="valid")
    assert _found("trophy") == {first.ref, second.ref}
    for hidden in ({"embargo": True}, {"gold": True}, {"state": "withdrawn"}):
        Problem.objects.filter(pk=second.pk).update(**hidden)
        assert _found("trophy") == {first.ref}
        Problem.objects.filter(pk=second.pk).update(embargo=False, gold=False, state="valid")
        assert _found("trophy") == {first.ref, second.ref}
    Problem.objects.filter(pk=first.pk).update(sentence="A piano is where the _ was.")
    assert (_found("trophy"), _found("piano")) == ({second.ref}, {first.ref})
    Problem.objects.filter(pk=second.pk).delete()
    assert _found("trophy") == set()


@BOTH
def test_the_index_comes_back_after_the_table_was_rebuilt(database: Any, twin: Any) -> None:
    """If a migration dropped the index, the next start makes it again, with what is public.

    One that ends before SQLite's index is filled leaves none.
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
    with contextlib.suppress(KeyboardInterrupt), connection.execute_wrapper(stop):
        create_index()
    create_index()
    create_index()
    assert _found("trophy") == {first.ref}
    second.state = "valid"
    second.save()
    assert _found("trophy") == {first.ref, second.ref}


def test_what_was_searched_for_is_marked(db: Any, visit: Any, twin: Any) -> None:
    """The words that were found are marked in the sentence, no parts of words."""
    twin(word="hat")
    page = visit().get("/problems/?q=hat").content.decode()
    assert page.count("<mark>hat</mark>") == 2
    assert "w<mark>" not in page
