"""The moderators' list of people: what each one wrote, and how each one judges."""

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
    list_members,
)

pytestmark = pytest.mark.usefixtures("forgotten")


def _judge(person: Any, half: Any, choice: int, n: int, **fields: Any) -> None:
    vote(person, half, choice, n, right=choice == half.answer, **fields)


@pytest.fixture
def crowd(db: Any, person: Any, ann: Any, bob: Any, twin: Any) -> dict[str, Any]:
    """Return people by name: ann and bob wrote, three judged, and dora disagreed once."""
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


def test_list_of_people_equals_their_own_records(crowd: dict[str, Any]) -> None:
    shown = {one["person"].name: one for one in get_member_page()[0]}
    assert shown == {name: list_members([person])[0] for name, person in crowd.items()}
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


def test_query_count_does_not_grow_with_people(db: Any, person: Any, twin: Any) -> None:
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


def test_counts_of_prolific_contributors_are_cached(
    db: Any, ann: Any, bob: Any, twin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The counts of other contributors are always current."""
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
