"""People as moderators see them: what each one wrote and how each one judges, read at once."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.web.making import vote
from winosmith.web import _cache
from winosmith.web.judge.models import Gold
from winosmith.web.moderate.people import (
    count_problems_of_people,
    get_member_page,
    get_member_record,
)

pytestmark = pytest.mark.usefixtures("forgotten")


def _judge(person: Any, half: Any, choice: int, n: int, **fields: Any) -> None:
    vote(person, half, choice, n, right=choice == half.answer, **fields)


@pytest.fixture
def crowd(db: Any, person: Any, ann: Any, bob: Any, twin: Any) -> dict[str, Any]:
    """Return people: ann and bob wrote, three judged three problems, dora disagrees once."""
    judges = [person(name, is_judge=True) for name in ("cem", "dora", "emil")]
    problems = [*twin(ann, state="valid"), *twin(bob, state="rejected")][:3]
    twin(bob, state="held")
    for at, half in enumerate(problems):
        for n, judge in enumerate(judges, 1):
            missed = judge is judges[1] and at == 0
            _judge(judge, half, 1 - half.answer if missed else half.answer, n)
    gold = twin(None, state="valid", gold=True)[0]
    Gold.objects.create(problem=gold, explanation="because")
    _judge(judges[2], gold, 1 - gold.answer, 1, gold=True)
    return {one.name: one for one in (ann, bob, *judges)}


def test_everybody_on_the_page_is_as_on_their_own(crowd: dict[str, Any]) -> None:
    """What is read at once for all is what is read for each of them alone."""
    shown = {one["person"].name: one for one in get_member_page()[0]}
    assert shown == {name: get_member_record(person) for name, person in crowd.items()}
    wrote = {name: one["written"] for name, one in shown.items() if one["written"].total}
    assert {name: (one.valid, one.rejected, one.held) for name, one in wrote.items()} == {
        "ann": (2, 0, 0),
        "bob": (0, 2, 2),
    }
    judged = {name: one["judged"] for name, one in shown.items() if one["judged"].answers}
    told = {name: (one.answers, one.agreement) for name, one in judged.items()}
    assert {
        name: (n, found.right, found.n, found.ties)
        for name, (n, found) in told.items()
        if found is not None
    } == {"cem": (3, 2, 2, 1), "dora": (3, 2, 3, 0), "emil": (3, 2, 2, 1)}
    gold = shown["emil"]["judged"].gold
    assert (gold.right, gold.n) == (0, 1)
    assert not any(one["judged"].held for one in shown.values())


def test_more_people_ask_no_more_of_the_database(db: Any, person: Any, twin: Any) -> None:
    """A page of thirty who wrote takes as many statements as a page of two."""

    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            get_member_page()
        return len(queries)

    for number in range(2):
        twin(person(f"author {number}"), state="valid")
    few = asked()
    for number in range(2, 30):
        twin(person(f"author {number}"), state="valid")
    assert asked() == few


def test_who_wrote_much_is_counted_now_and_then(
    db: Any, ann: Any, bob: Any, twin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody's figures are of a moment ago once they have written much, others' of now."""
    monkeypatch.setattr(_cache, "PROBLEMS_PER_SECOND", 3)
    for who, times in ((ann, 2), (bob, 1)):
        for _ in range(times):
            twin(who, state="held")

    def problems() -> list[int]:
        return [written.total for written in count_problems_of_people([ann, bob]).values()]

    assert sorted(problems()) == [2, 4]
    for who in (ann, bob):
        twin(who, state="held")
    assert sorted(problems()) == [4, 4]
