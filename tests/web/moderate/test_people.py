"""People as moderators see them: agreement of judges, the list, and changes of roles and votes."""

import os
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
from tests.web.making import fresh, vote
from tests.web.working import work_off
from winosmith.errors import InputError
from winosmith.web import _cache
from winosmith.web.jobs import Job
from winosmith.web.judge.models import Gold, Slot
from winosmith.web.judge.turns import lease_next_problem
from winosmith.web.moderate import people
from winosmith.web.moderate.people import (
    MIN_SHARED,
    change_person,
    count_problems_of_people,
    get_member_page,
    get_unfinished_decisions,
    list_members,
    list_pairs,
    rank_pairs,
)
from winosmith.web.people.models import Person, get_pseudonym

pytestmark = pytest.mark.usefixtures("forgotten")

Tables = dict[tuple[int, int], Counter[tuple[int | None, int | None]]]


def _halves(twin: Any, n: int) -> list[Any]:
    return [twin(None, state="rejected")[0] for _ in range(n)]


def test_pairs_count_each_shared_problem_once(database, person, twin):
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


def test_page_of_a_judge_has_those_with_most_shared_problems(person, twin, monkeypatch):
    """At most MAX_JUDGES judges are on a page."""
    monkeypatch.setattr(people, "MAX_JUDGES", 2)
    ann, bob, cem, dora = (person(name) for name in ("ann", "bob", "cem", "dora"))
    for at, half in enumerate(_halves(twin, 70)):
        for n, who in enumerate((cem, dora) if at < 45 else (ann, bob) if at < 67 else (ann, cem)):
            vote(who, half, 0, n + 1)

    def shown(who: Any = None) -> set[str]:
        return {name for *names, _pair in list_pairs(who) for name in names}

    assert shown() == {get_pseudonym(cem), get_pseudonym(dora)}
    assert shown(ann) == {get_pseudonym(ann), get_pseudonym(bob)}


def test_erased_judges_are_in_no_pair(ann, bob, twin):
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
def test_kappa_equals_that_of_statsmodels(site, tables):
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
def test_kappa_intervals_cover_about_95_percent(site, kappa):
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


def test_agreement_page_contains_only_pseudonyms(person, eva, twin, visit):
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
    none = client.get("/moderate/agreement/?who=<b>").content.decode()
    assert "Nobody has this name or pseudonym." in none


def test_query_count_does_not_grow_with_judges(person, twin):
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


def _judge(person: Any, half: Any, choice: int, n: int, **fields: Any) -> None:
    vote(person, half, choice, n, right=choice == half.answer, **fields)


@pytest.fixture
def crowd(person: Any, ann: Any, bob: Any, twin: Any) -> dict[str, Any]:
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


def test_list_of_people_equals_their_own_records(crowd):
    shown = {one["person"].name: one for one in get_member_page()[0]}
    assert shown == {name: list_members([person])[0] for name, person in crowd.items()}
    wrote = {name: one["written"] for name, one in shown.items() if one["written"].total}
    states = {name: (one.valid, one.rejected, one.held) for name, one in wrote.items()}
    assert states == {"ann": (2, 0, 0), "bob": (0, 2, 2)}
    judged = {name: one["judged"] for name, one in shown.items() if one["judged"].answers}
    agrees = {
        name: (one.answers, one.agreement.right, one.agreement.n, one.agreement.ties)
        for name, one in judged.items()
    }
    assert agrees == {"cem": (3, 2, 2, 1), "dora": (3, 2, 3, 0), "emil": (3, 2, 2, 1)}
    gold = shown["emil"]["judged"].gold
    assert (gold.right, gold.n) == (0, 1)
    assert not any(one["judged"].held for one in shown.values())


def test_query_count_of_the_list_does_not_grow_with_people(person, twin):
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


def test_counts_of_prolific_contributors_are_cached(ann, bob, twin, monkeypatch):
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


def test_moderators_grant_and_revoke_the_judge_role(eva, bob):
    change_person(eva, bob, "judge", "reads well")
    assert fresh(bob).is_judge
    change_person(eva, bob, "no-judge", "asked for it")
    assert not fresh(bob).is_judge
    assert [(a.kind, a.actor, a.reason) for a in bob.appointments.order_by("pk")] == [
        ("judge", eva, "reads well"),
        ("no-judge", eva, "asked for it"),
    ]


@pytest.mark.parametrize("kind", ["judge", "no-judge", "moderator", "no-moderator", "pause"])
def test_moderators_cannot_change_admins_visitors_or_themselves(eva, kind, adam):
    other = Person.objects.create_user("abel", is_superuser=True)
    visitor = Person.objects.create_anonymous()
    for who, whom in ((eva, adam), (eva, eva), (adam, adam), (adam, other), (eva, visitor)):
        with pytest.raises(InputError, match="can’t make this change"):
            change_person(who, whom, kind, "because")


@pytest.mark.parametrize("kind", ["moderator", "no-moderator"])
def test_only_admins_grant_and_revoke_the_moderator_role(person, eva, kind, adam):
    bob = person("bob", is_moderator=kind == "no-moderator")
    with pytest.raises(InputError, match="can’t make this change"):
        change_person(eva, bob, kind, "because")
    change_person(adam, bob, kind, "because")
    assert fresh(bob).is_moderator == (kind == "moderator")


def test_paused_judge_gets_no_problem_until_resumed(bob, eva, twin, do):
    do(eva, "let-through", twin()[0])
    change_person(eva, bob, "pause", "gold missed")
    assert lease_next_problem(bob) is None
    with pytest.raises(InputError):
        change_person(eva, bob, "pause", "because")
    change_person(eva, bob, "resume", "talked it over")
    assert lease_next_problem(bob) is not None


def test_page_of_a_person_says_if_everyone_can_judge(rules, bob, eva, visit):
    """Then revoking the judge role has no effect; only a hold stops the person."""
    said = "Anyone with an account can judge on this site, even without the judge role."
    for everybody in (True, False):
        rules(open_judging=everybody)
        page = visit(eva).get(f"/moderate/people/{get_pseudonym(bob)}/").content.decode()
        assert (said in page) is everybody


@pytest.fixture
def six_votes(bob: Any, twin: Any) -> None:
    """Make votes of bob on six problems."""
    for half in [*twin(state="judging"), *twin(state="judging"), *twin(state="judging")]:
        vote(bob, half)


def _excluded(judge: Any) -> int:
    return Slot.objects.filter(holder=judge, excluded=True).count()


def test_worker_excludes_many_votes(six_votes, eva, bob, visit):
    """The judge's page shows the progress. Any moderator can stop and resume the job."""
    path = f"/moderate/people/{get_pseudonym(bob)}/"
    form = {"key": os.urandom(16).hex(), "kind": "exclude", "reason": "guesses"}
    assert visit(eva).post(f"{path}appoint/", form).headers["Location"] == path
    (made,) = get_unfinished_decisions(bob)
    assert (made.job.total, _excluded(bob)) == (6, 0)
    to = f"/moderate/jobs/{made.job.mark}/"
    assert f'hx-get="{to}"' in visit(eva).get(path).content.decode()
    assert "The job is queued" in visit(eva).get(to).content.decode()
    for do, state in (("stop", "stopped"), ("retry", "running")):
        sent = visit(eva).post(to, {"key": os.urandom(16).hex(), "do": do})
        assert sent.headers["Location"] == path
        assert Job.objects.get().state == state
    work_off()
    assert (_excluded(bob), get_unfinished_decisions(bob)) == (6, [])
    assert "6 of the votes are excluded, and do not count." in visit(eva).get(path).content.decode()
    assert visit(eva).get(to).headers["HX-Refresh"] == "true"
    assert Job.objects.values_list("state", "done").get() == ("done", 6)


def test_overruled_decision_changes_nothing_when_run_again(six_votes, eva, bob):
    """A decision applies only to votes that were given before it."""
    first = change_person(eva, bob, "exclude", "guesses")
    work_off()
    change_person(eva, bob, "include", "a mistake")
    work_off()
    Job.objects.filter(pk=first.job.pk).update(state="running")
    work_off()
    assert _excluded(bob) == 0
    later = change_person(eva, bob, "exclude", "guesses")
    Slot.objects.filter(holder=bob, problem=Slot.objects.latest("pk").problem).update(
        answered_at=later.at.replace(year=later.at.year + 1)
    )
    work_off()
    assert _excluded(bob) == 5
