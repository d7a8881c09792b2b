"""Which judges agree with whom: what is counted, what stands out, who sees it."""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import examples
from tests.web.hostile import TEXTS, Page  # type: ignore[import-not-found]

pytestmark = pytest.mark.usefixtures("forgotten")

Tables = dict[tuple[int, int], Counter[tuple[int | None, int | None]]]


def _vote(person: Any, half: Any, choice: int | None, n: int, **fields: Any) -> None:
    from django.utils import timezone

    from winosmith.web.judge.models import Slot

    Slot.objects.create(
        problem=half, twin=half.twin, n=n, place=n, holder=person, choice=choice,
        **{"open": False, "answered_at": timezone.now(), **fields},
    )  # fmt: skip


def _halves(twin: Any, n: int) -> list[Any]:
    return [twin(None, state="rejected")[0] for _ in range(n)]


def test_pairs_are_counted_as_they_voted(database: Any, person: Any, twin: Any) -> None:
    """Of 20 problems that both judged, each counts once; gold, open, excluded votes never do."""
    from winosmith.web.moderate.matrix import matrix
    from winosmith.web.people.models import pseudonym

    ann, bob, cem = (person(name) for name in ("ann", "bob", "cem"))
    for at, half in enumerate(_halves(twin, 20)):
        anns = None if at == 19 else at % 2
        _vote(ann, half, anns, 1)
        _vote(bob, half, 1 if at in (16, 18) else anns, 2, provisional=at < 3)
        if at:
            _vote(cem, half, at % 2, 3)
    for fields in ({"gold": True}, {"excluded": True}, {"open": True, "answered_at": None}):
        for half in _halves(twin, 3):
            _vote(ann, half, 0, 1)
            _vote(bob, half, 0, 2, **fields)
            _vote(cem, half, 0, 3, **fields)
    found = matrix()
    [(one, other, pair)] = found.pairs
    assert (one, other) == (pseudonym(ann), pseudonym(bob))
    assert (pair.n, pair.same, pair.waits) == (20, 18, 3)
    assert pair.chance == pytest.approx((10 * 8 + 9 * 11 + 1 * 1) / 400)
    assert pair.kappa == pytest.approx((0.9 - 0.45) / 0.55)
    assert pair.expected is None, "neither has enough problems with anybody else"
    assert [(name, late) for name, late, _y in sorted(found.judges)] == sorted(
        [(pseudonym(ann), False), (pseudonym(bob), True)]
    )
    assert [cell.text for cell in found.cells] == ["90"]


def test_the_picture_of_one_judge_has_those_of_the_same_problems(
    db: Any, person: Any, twin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where few fit in, one's own picture has them with who judged most of the same problems."""
    from winosmith.web.moderate import matrix as m
    from winosmith.web.people.models import pseudonym

    monkeypatch.setattr(m, "MOST", 2)
    ann, bob, cem, dora = (person(name) for name in ("ann", "bob", "cem", "dora"))
    for at, half in enumerate(_halves(twin, 70)):
        for n, who in enumerate((cem, dora) if at < 45 else (ann, bob) if at < 67 else (ann, cem)):
            _vote(who, half, 0, n + 1)

    def shown(who: Any = None) -> set[str]:
        return {name for name, _late, _y in m.matrix(who).judges}

    assert shown() == {pseudonym(cem), pseudonym(dora)}
    assert shown(ann) == {pseudonym(ann), pseudonym(bob)}


def test_who_was_erased_is_in_no_picture(db: Any, person: Any, twin: Any) -> None:
    """Votes of people who had themselves erased are compared with nobody's."""
    from django.utils import timezone

    from winosmith.web.moderate.matrix import matrix

    ann, bob = person("ann"), person("bob")
    for half in _halves(twin, 20):
        _vote(ann, half, 0, 1)
        _vote(bob, half, 0, 2)
    assert len(matrix().pairs) == 1
    type(bob).objects.filter(pk=bob.pk).update(erased=timezone.now())
    assert matrix().pairs == []


TABLE = st.lists(st.integers(0, 30), min_size=9, max_size=9).map(
    lambda counts: Counter(
        {(a, b): n for (a, b), n in zip(np.ndindex(3, 3), counts, strict=True) if n}
    )
)
TABLES = st.fixed_dictionaries({(a, b): TABLE for a in range(4) for b in range(a + 1, 4)})


@given(TABLES, st.permutations(range(4)))
@examples(40)
def test_other_names_for_judges_change_nothing(
    site: Any, tables: Tables, names: Sequence[int]
) -> None:
    """Judges by other keys have the same figures, each pair its own."""
    from winosmith.web.moderate.matrix import paired

    def figures(pair: Any) -> list[Any]:
        numbers = (pair.same, pair.n, pair.kappa, pair.expected, pair.p_value)
        return [None if one is None else pytest.approx(one, abs=1e-6) for one in numbers]

    renamed = {(names[a], names[b]): table for (a, b), table in tables.items()}
    found = {frozenset((pair.one, pair.other)): pair for pair in paired(renamed).pairs}
    before = {
        frozenset((names[pair.one], names[pair.other])): pair for pair in paired(tables).pairs
    }
    assert found.keys() == before.keys()
    for key, pair in before.items():
        other = found[key]
        assert [other.same, other.n, other.kappa, other.expected, other.p_value] == figures(pair)


@given(TABLES)
@examples(40)
def test_every_problem_twice_keeps_the_shares(site: Any, tables: Tables) -> None:
    """With each problem twice, shares and kappas stay, and kappa is that of statsmodels."""
    from statsmodels.stats.inter_rater import cohens_kappa

    from winosmith.web.moderate.matrix import LEAST, paired

    once = {(pair.one, pair.other): pair for pair in paired(tables).pairs}
    doubled = {key: Counter({k: 2 * n for k, n in table.items()}) for key, table in tables.items()}
    twice = {(pair.one, pair.other): pair for pair in paired(doubled).pairs}
    assert once.keys() == {key for key, table in tables.items() if table.total() >= LEAST}
    for key, pair in once.items():
        assert (twice[key].share, twice[key].kappa) == (pair.share, pair.kappa)
        low, high = twice[key].interval
        assert high - low < pair.interval[1] - pair.interval[0]
        if pair.kappa is not None:
            square = [[tables[key][a, b] for b in range(3)] for a in range(3)]
            assert pair.kappa == pytest.approx(cohens_kappa(square, return_results=False))


def test_groups_stand_together(site: Any) -> None:
    """Two groups, each of one mind, are beside themselves, whatever keys their judges have."""
    from winosmith.web.moderate.matrix import paired

    tables: Tables = {}
    for a in range(12):
        for b in range(a + 1, 12):
            alike = 27 if a % 2 == b % 2 else 9
            tables[a, b] = Counter(
                {(0, 0): alike, (0, 1): 15 - alike // 2, (1, 0): 15 - alike // 2}
            )
    order = [key % 2 for key in paired(tables).order]
    assert order in ([0] * 6 + [1] * 6, [1] * 6 + [0] * 6)


def _crowd(seed: int, accounts: int) -> Tables:
    """Return what 16 judges of different care agree on, of whom the first accounts are one person.

    3,000 problems, some harder than others, have three judges each.
    """
    rng = np.random.default_rng(seed)
    care, tables = rng.uniform(0.5, 1, 16), defaultdict[Any, Counter[Any]](Counter)
    care[:accounts] = 0.7
    for hard in rng.beta(2, 1, 3000):
        judges = np.sort(rng.choice(16, 3, replace=False))
        truth = rng.integers(2)
        chosen = np.where(rng.random(3) < (1 + care[judges] * hard) / 2, truth, 1 - truth)
        chosen[judges < accounts] = chosen[0]
        for i, j in ((0, 1), (0, 2), (1, 2)):
            tables[int(judges[i]), int(judges[j])][int(chosen[i]), int(chosen[j])] += 1
    return dict(tables)


@pytest.mark.long
def test_two_accounts_of_one_person_stand_out(site: Any) -> None:
    """Of 16 judges two accounts of one person are the one pair that stands out, if any does."""
    from winosmith.web.moderate.matrix import paired

    found = [
        {(pair.one, pair.other): pair.stands for pair in paired(_crowd(seed, 2)).pairs}
        for seed in range(10)
    ]
    told = Counter((pair, how) for stands in found for pair, how in stands.items() if how)
    assert told[(0, 1), "more"] >= 7
    assert told.total() - told[(0, 1), "more"] <= 2


@pytest.mark.long
def test_honest_judges_do_not_stand_out(site: Any) -> None:
    """Among honest judges of different care, on problems of different difficulty, nobody does."""
    from winosmith.web.moderate.matrix import paired

    alarms = sum(any(pair.stands for pair in paired(_crowd(seed, 0)).pairs) for seed in range(20))
    assert alarms <= 3


def test_who_answers_by_other_rules_stands_out_below(site: Any) -> None:
    """A pair that agrees on half, each with everybody else on nine tenths, agrees less."""
    from winosmith.web.moderate.matrix import paired

    tables: Tables = {}
    for a in range(8):
        for b in range(a + 1, 8):
            apart = 50 if (a, b) == (0, 1) else 10
            tables[a, b] = Counter(
                {(0, 0): 50 - apart // 2, (1, 1): 50 - apart // 2, (0, 1): apart}
            )
    standing = [(pair.one, pair.other, pair.stands) for pair in paired(tables).pairs if pair.stands]
    assert standing == [(0, 1, "less")]


def test_names_stay_off_the_page_and_the_file(
    db: Any, person: Any, moderator: Any, twin: Any, visit: Any
) -> None:
    """Hostile account names are on no page and in no cell, and the page has its pairs in words."""
    from winosmith.web.people.models import pseudonym

    names = [text for text in TEXTS if "<" in text or text.startswith(("=", "@"))][:3]
    judges = [person(name[:60]) for name in (*names, "cem", "dora")]
    for at, half in enumerate(_halves(twin, 40)):
        for n, judge in enumerate(judges):
            wrong = at % 5 < 2 if n < 2 else at % 9 == n
            _vote(judge, half, int(at % 2 == wrong), n + 1)
    client = visit(moderator())
    for query in ("", f"?who={pseudonym(judges[0])}"):
        page = Page(text := client.get(f"/moderate/agreement/{query}").content.decode())
        assert page.faults == []
        assert not any(name in text for name in names)
        told = f"{pseudonym(judges[0])} and {pseudonym(judges[1])}: the same on 40 of 40"
        assert told in page.text
    body = b"".join(client.get("/moderate/agreement.csv").streaming_content).decode()
    rows = list(csv.DictReader(io.StringIO(body)))
    assert len(rows) == 10
    first = rows[0]
    assert {first["judge"], first["other_judge"]} == {pseudonym(one) for one in judges[:2]}
    assert (first["both_judged"], first["same"], first["stands_out"]) == ("40", "40", "more")
    assert not any(name in body for name in names)
    assert "Nobody is known by that" in client.get("/moderate/agreement/?who=<b>").content.decode()


def test_more_judges_ask_no_more_of_the_database(db: Any, person: Any, twin: Any) -> None:
    """The picture of eight judges takes as many statements as that of three."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from winosmith.web.moderate.matrix import matrix

    halves = _halves(twin, 20)

    def asked(names: str) -> int:
        for name in names:
            n = ord(name)
            judge = person(name)
            for half in halves:
                _vote(judge, half, 0, n)
        with CaptureQueriesContext(connection) as queries:
            matrix()
        return len(queries)

    assert asked("abc") == asked("defgh")
