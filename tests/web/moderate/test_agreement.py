"""Agreement of pairs of judges: the counted votes, kappa, its interval, and pseudonyms."""

import csv
import io
from collections import Counter
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given, strategies as st

from tests.conftest import examples
from tests.web.hostile import TEXTS, Page
from tests.web.making import vote
from winosmith.web.moderate import agreement as m
from winosmith.web.moderate.agreement import MIN_SHARED, list_pairs, rank_pairs
from winosmith.web.people.models import get_pseudonym

pytestmark = pytest.mark.usefixtures("forgotten")

Tables = dict[tuple[int, int], Counter[tuple[int | None, int | None]]]


def _halves(twin: Any, n: int) -> list[Any]:
    return [twin(None, state="rejected")[0] for _ in range(n)]


def test_pairs_count_each_shared_problem_once(database: Any, person: Any, twin: Any) -> None:
    """Votes that are excluded, open, or on gold don't count."""
    ann, bob, cem = (person(name) for name in ("ann", "bob", "cem"))
    for at, half in enumerate(_halves(twin, 20)):
        anns = None if at == 19 else at % 2
        vote(ann, half, anns, 1)
        vote(bob, half, 1 if at in (16, 18) else anns, 2, provisional=at < 3)
        if at:
            vote(cem, half, at % 2, 3)
    for fields in ({"gold": True}, {"excluded": True}, {"open": True, "answered_at": None}):
        for half in _halves(twin, 3):
            vote(ann, half, 0, 1)
            vote(bob, half, 0, 2, **fields)
            vote(cem, half, 0, 3, **fields)
    [(one, other, pair)] = list_pairs()
    assert (one, other) == (get_pseudonym(ann), get_pseudonym(bob))
    assert (pair.n, pair.same, pair.waits) == (20, 18, 3)
    assert pair.chance == pytest.approx((10 * 8 + 9 * 11 + 1 * 1) / 400)
    assert pair.kappa == pytest.approx((0.9 - 0.45) / 0.55)


def test_page_of_a_judge_has_those_with_most_shared_problems(
    db: Any, person: Any, twin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most MAX_JUDGES judges are on a page."""
    monkeypatch.setattr(m, "MAX_JUDGES", 2)
    ann, bob, cem, dora = (person(name) for name in ("ann", "bob", "cem", "dora"))
    for at, half in enumerate(_halves(twin, 70)):
        for n, who in enumerate((cem, dora) if at < 45 else (ann, bob) if at < 67 else (ann, cem)):
            vote(who, half, 0, n + 1)

    def shown(who: Any = None) -> set[str]:
        return {name for *names, _pair in m.list_pairs(who) for name in names}

    assert shown() == {get_pseudonym(cem), get_pseudonym(dora)}
    assert shown(ann) == {get_pseudonym(ann), get_pseudonym(bob)}


def test_erased_judges_are_in_no_pair(db: Any, ann: Any, bob: Any, twin: Any) -> None:
    for half in _halves(twin, 20):
        vote(ann, half, 0, 1)
        vote(bob, half, 0, 2)
    assert len(list_pairs()) == 1
    type(bob).objects.filter(pk=bob.pk).update(erased=timezone.now())
    assert list_pairs() == []


TABLE = st.lists(st.integers(0, 30), min_size=9, max_size=9).map(
    lambda counts: Counter(
        {(a, b): n for (a, b), n in zip(np.ndindex(3, 3), counts, strict=True) if n}
    )
)
TABLES = st.fixed_dictionaries({(a, b): TABLE for a in range(4) for b in range(a + 1, 4)})


@given(TABLES)
@examples(40)
def test_kappa_equals_that_of_statsmodels(site: Any, tables: Tables) -> None:
    """Pairs are sorted by kappa.

    If each problem counts twice, kappa stays the same and intervals are narrower.
    """
    from statsmodels.stats.inter_rater import cohens_kappa

    once = rank_pairs(tables, {})
    doubled = {key: Counter({k: 2 * n for k, n in table.items()}) for key, table in tables.items()}
    twice = {(pair.one, pair.other): pair for pair in rank_pairs(doubled, {})}
    enough = {key for key, table in tables.items() if table.total() >= MIN_SHARED}
    assert {(pair.one, pair.other) for pair in once} == enough
    known = [pair.kappa for pair in once if pair.kappa is not None]
    assert known == sorted(known, reverse=True)
    for pair in once:
        table, again = tables[pair.one, pair.other], twice[pair.one, pair.other]
        assert (again.share, again.kappa) == (pair.share, pair.kappa)
        assert np.ptp(again.interval) < np.ptp(pair.interval)
        if pair.kappa is not None:
            square = [[table[a, b] for b in range(3)] for a in range(3)]
            assert pair.kappa == pytest.approx(cohens_kappa(square, return_results=False))
            low, high = pair.kappa_interval
            assert low <= pair.kappa <= high


@pytest.mark.parametrize("kappa", [0.0, 0.6, 0.9])
def test_kappa_intervals_cover_about_95_percent(site: Any, kappa: float) -> None:
    shares = np.array([0.4, 0.6])
    both = (1 - kappa) * np.outer(shares, shares) + kappa * np.diag(shares)
    rng = np.random.default_rng(7)
    for n in (20, 200):
        drawn = rng.multinomial(n, both.ravel(), size=2000).reshape(-1, 2, 2)
        tables = {
            (0, at): {(a, b): int(count) for (a, b), count in np.ndenumerate(table)}
            for at, table in enumerate(drawn, 1)
        }
        ends = [pair.kappa_interval for pair in rank_pairs(tables, {}) if pair.kappa_interval]
        inside = np.mean([low <= kappa <= high for low, high in ends])
        assert 0.92 < inside < 0.98


def test_agreement_page_and_csv_contain_only_pseudonyms(
    db: Any, person: Any, eva: Any, twin: Any, visit: Any
) -> None:
    names = [text for text in TEXTS if "<" in text or text.startswith(("=", "@"))][:3]
    judges = [person(name[:60]) for name in (*names, "cem", "dora")]
    for at, half in enumerate(_halves(twin, 40)):
        for n, judge in enumerate(judges):
            wrong = at % 5 < 2 if n < 2 else at % 9 == n
            vote(judge, half, int(at % 2 == wrong), n + 1)
    client = visit(eva)
    for query in ("", f"?who={get_pseudonym(judges[0])}"):
        page = Page(text := client.get(f"/moderate/agreement/{query}").content.decode())
        assert page.faults == []
        assert not any(name in text for name in names)
        assert f"{get_pseudonym(judges[0])} {get_pseudonym(judges[1])}1.00 (" in page.text
    body = client.get("/moderate/agreement.csv").getvalue().decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(body)))
    assert len(rows) == 10
    first = rows[0]
    assert {first["judge"], first["other_judge"]} == {get_pseudonym(one) for one in judges[:2]}
    assert (first["both_judged"], first["same"], first["kappa"]) == ("40", "40", "1.0000")
    assert not any(name in body for name in names)
    assert (
        "Nobody has this name or pseudonym."
        in client.get("/moderate/agreement/?who=<b>").content.decode()
    )


def test_query_count_does_not_grow_with_judges(db: Any, person: Any, twin: Any) -> None:
    halves = _halves(twin, 20)

    def asked(names: str) -> int:
        for name in names:
            n = ord(name)
            judge = person(name)
            for half in halves:
                vote(judge, half, 0, n)
        with CaptureQueriesContext(connection) as queries:
            list_pairs()
        return len(queries)

    assert asked("abc") == asked("defgh")
