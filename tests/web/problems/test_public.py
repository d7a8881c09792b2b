"""What is public: one condition, and every surface of the site shows exactly what it says."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import count, product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.conftest import examples
from tests.waiting import LONGEST  # type: ignore[import-not-found]
from tests.web import growing  # type: ignore[import-not-found]
from tests.web.api.calling import Program  # type: ignore[import-not-found]
from tests.web.conftest import BOTH  # type: ignore[import-not-found]

STATES = ("held", "judging", "valid", "rejected", "revised", "withdrawn")


class Case(NamedTuple):
    """How a half stands, and the other half of its twin.

    Attributes:
        other: None where it has none.
        late: what is decided was 15 days ago; else yesterday.
    """

    state: str
    embargo: bool = False
    gold: bool = False
    other: str | None = None
    late: bool = False

    @property
    def public(self) -> bool:
        """The law, in words of its own: valid, kept back by nobody, and not ahead of the other."""
        return self.state == "valid" and not self.embargo and not self.gold and not self.waits

    @property
    def waits(self) -> bool:
        """Whether what became of it is not to be told, because of the other half."""
        ahead = self.other in ("held", "judging") and not self.late
        return ahead and self.state in ("valid", "rejected")

    @property
    def rejected(self) -> bool:
        """Whether it is counted as judged in vain."""
        return self.state == "rejected" and not (self.embargo or self.gold or self.waits)

    @property
    def turned(self) -> Case:
        """The same twin from the side of its other half."""
        return Case(self.other or "", other=self.state, late=self.late)


CASES = (
    *(Case(*values) for values in product(STATES, (False, True), (False, True))),
    *(
        Case(state, other=other, late=late)
        for state, other, late in product(STATES, STATES, (False, True))
    ),
)


class World(NamedTuple):
    """A site with a half in each case, all of them versions of one root, with votes and answers.

    Attributes:
        root: of the family; it is public.
        words: the word that only one sentence has → the row.
        public: those words that everyone may read.
        versions: those of the family's versions among them, the root aside.
        rejected: how many are counted as not found valid.
        told: of how many everyone is told that they are decided, or could be.
        author: who wrote it all.
    """

    root: Any
    words: dict[str, Any]
    public: set[str]
    versions: set[str]
    rejected: int
    told: int
    author: Any


_numbers = count(1)


def _half(twin: Any, word: str, n: int, **columns: Any) -> Any:
    """Return a row that is not stored yet."""
    from winosmith.web.problems.models import Problem

    return Problem(
        ref=f"r{word}",
        twin=twin,
        sentence=f"The {word} cup did not fit in the jug because the _ was {('big', 'small')[n]}.",
        options=[f"{word} cup", "jug"],
        answer=n,
        **columns,
    )


def _twins(cases: Iterable[Case], author: Any) -> Iterator[tuple[Case, Any, Any]]:
    """Store the halves of each case; yield it with both rows, None for one that is not there."""
    from django.utils import timezone

    from winosmith.web._lock import writing
    from winosmith.web.problems.models import Problem, Twin
    from winosmith.web.problems.states import settle

    decided = {late: timezone.now() - timedelta(days=15 if late else 1) for late in (False, True)}
    for case in cases:
        number = next(_numbers)
        twin = Twin.objects.create(ref=f"t{number:04}", contributor=author, domain="physical")
        one = _half(
            twin, f"zq{number:04}a", 0, state=case.state, embargo=case.embargo, gold=case.gold,
            record={} if case.other else {"single": True}, decided=decided[case.late],
        )  # fmt: skip
        two = None
        if case.other:
            two = _half(twin, f"zq{number:04}b", 1, state=case.other, decided=decided[case.late])
        keys = [Problem.objects.bulk_create([half])[0].pk for half in (one, two) if half]
        with writing():
            settle([twin.pk], new=keys)
        yield case, one, two


def _world(author: Any, judge: Any) -> World:
    from django.utils import timezone

    from winosmith.web.judge.models import Slot, Verdict
    from winosmith.web.problems.models import Version

    alpha = growing.made_model("alpha")
    root = growing.made_version(None, "The zq0000r cup hit the jug so the _ broke.", by=author)
    words, public, versions = {"zq0000r": root}, {"zq0000r"}, set()
    growing.said(alpha, root)
    cases = []
    for case, one, two in _twins(CASES, author):
        Version.objects.create(
            problem=one, root=root, parent=root, step=1, declared=1, lineage=1, edit=1,
            digest=one.ref,
        )  # fmt: skip
        growing.said(alpha, one, right=False)
        words[one.ref[1:]] = one
        cases += [case, case.turned] if two else [case]
        public |= {one.ref[1:]} if case.public else set()
        versions |= {one.ref[1:]} if case.public else set()
        if two is not None:
            words[two.ref[1:]] = two
            public |= {two.ref[1:]} if case.turned.public else set()
    now = timezone.now()
    Slot.objects.bulk_create(
        Slot(
            problem=row, n=1, place=row.pk, twin=row.twin, contributor=author, open=False,
            holder=judge, shown=[0, 1], choice=row.answer, answered_at=now,
        )
        for row in words.values()
    )  # fmt: skip
    Verdict.objects.bulk_create(
        Verdict(problem=row, counts="1", valid=True, at=now) for row in words.values()
    )
    rejected, told = sum(case.rejected for case in cases), sum(not case.waits for case in cases)
    return World(root, words, public, versions, rejected, told + 1, author)


@pytest.fixture
def world(
    db: Any, person: Callable[..., Any], forgotten: None, monkeypatch: pytest.MonkeyPatch
) -> World:
    """Return the site with each case; lists are counted anew, and nobody downloads too much."""
    from winosmith.web import _background
    from winosmith.web.families import lists, views
    from winosmith.web.read import downloads

    monkeypatch.setattr(_background, "QUICK", 3600.0)
    for module in (downloads, views):
        monkeypatch.setattr(module, "MOST", 10_000)
    lists._ENTRIES.forget()
    lists._FAMILIES.forget()
    return _world(person("ann"), person("judy", is_judge=True))


def _said(body: bytes) -> set[str]:
    return {word.decode() for word in re.findall(rb"zq\d{4}[abr]", body)}


def _body(client: Any, path: str) -> bytes:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def _pages(client: Any, path: str) -> set[str]:
    """Return the words on all pages of a list."""
    said: set[str] = set()
    more: str | None = path
    while more:
        body = _body(client, more)
        said |= _said(body)
        found = re.search(rb'href="[^"]*\?([^"]*\bafter=[0-9a-f]+[^"]*)"', body)
        more = f"{path.split('?')[0]}?{found[1].decode().replace('&amp;', '&')}" if found else None
    return said


def _program(path: str) -> set[str]:
    """Return the words on all pages of a list of the API."""
    said: set[str] = set()
    after: str | None = ""
    while after is not None:
        answer = Program().get(f"{path}{'&' if '?' in path else '?'}after={after}")
        assert answer.status_code == 200, answer.content
        said |= _said(answer.content)
        after = answer.json()["next"]
    return said


def _opened(client: Any, world: World, path: str) -> set[str]:
    """Return the words of problems that have such a page."""
    refs = {word: row.ref for word, row in world.words.items()}
    got = {word: client.get(path.format(ref)).status_code for word, ref in refs.items()}
    assert set(got.values()) == {200, 404}
    return {word for word, status in got.items() if status == 200}


def _of(rows: Iterable[Any]) -> set[str]:
    return {word for row in rows for word in _said(row.sentence.encode())}


def _lists(client: Any, reader: Any, world: World, folder: Path) -> Iterator[tuple[str, set[str]]]:
    """Yield each surface that shows problems of any kind, with the words that it shows."""
    from winosmith.web import hosting
    from winosmith.web.read.downloads import FILES
    from winosmith.web.rounds.models import Round
    from winosmith.web.rounds.running import handed_over

    yield "browse", _pages(client, "/problems/")
    yield "search", _pages(client, "/problems/?q=cup")
    yield "judged", _pages(client, "/problems/?agreement=all")
    yield "problem pages", _opened(client, world, "/problems/{}/")
    yield "perturb", _pages(client, "/perturb/?kind=")
    yield "perturb a problem", _opened(reader, world, "/perturb/{}/")
    yield "API list", _program("problems")
    yield "API search", _program("problems?q=cup")
    yield "API problems", {w for w, row in world.words.items()
                           if Program().get(f"problems/{row.ref}").status_code == 200}  # fmt: skip
    for name in FILES:
        if found := _said(_body(client, f"/download/{name}?fitting=1")):
            yield name, found
    votes = _body(client, "/download/votes.csv")
    yield "votes", {word for word, row in world.words.items() if f"{row.ref}," in votes.decode()}
    hosting.export(folder / "export", public=True)
    yield "export", _said((folder / "export" / "problems.jsonl").read_bytes())
    pool = handed_over(
        Round.objects.create(name="first", recipe={}, started_by=world.author), lambda _: None
    )
    yield "round", _said((pool / "problems.jsonl").read_bytes())


def _versions(client: Any, world: World) -> Iterator[tuple[str, set[str]]]:
    """Yield each surface of families and models, with the words of versions that it shows."""
    from winosmith.web.families.measuring import _due, answered_by
    from winosmith.web.families.trees import tree_of
    from winosmith.web.predict.models import Model

    tree = tree_of(world.root, None)
    words = {row.pk: word for word, row in world.words.items()}
    yield "tree", {words[row] for row in tree.rows.tolist()}
    yield "public in the tree", {words[row] for row in tree.rows[tree.public].tolist()}
    yield "API versions", _program(f"families/{world.root.ref}/versions")
    yield "families' data", _said(_body(client, "/families/data/problems.jsonl"))
    said = _body(client, "/families/data/alpha.jsonl")
    yield "predictions", {word for row, word in words.items()
                          if world.words[word].ref in said.decode()}  # fmt: skip
    yield "measured", _of(answered_by(Model.objects.get()))
    yield "tagged", {*_of(version.problem for version in _due()), "zq0000r"}
    yield "browse a family", _pages(client, f"/problems/?family={world.root.ref}")


def _counts(client: Any, world: World) -> Iterator[tuple[str, int, int]]:
    """Yield each count that everyone sees: its name, what it is, and what the law says."""
    from django.db import connection

    from winosmith.web.families.lists import entries, families
    from winosmith.web.families.measuring import kinds_over_all
    from winosmith.web.families.models import EditKind
    from winosmith.web.families.trees import _stamp
    from winosmith.web.judge.votes import agreement as judges_agree
    from winosmith.web.predict.models import Model
    from winosmith.web.problems.models import Problem
    from winosmith.web.read.public import agreement, figures
    from winosmith.web.write.page import counts

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM read_search WHERE read_search MATCH 'cup'")
        (indexed,) = cursor.fetchone()
    public, versions, model = len(world.public), len(world.versions), Model.objects.get()
    found = figures()
    yield "figures", found.problems, public
    yield "words that can be found", indexed, public
    yield "rejected", found.rejected, world.rejected
    yield "judges agree", judges_agree().problems, world.told
    yield (
        "whole twins",
        found.twins,
        sum(f"{word[:-1]}b" in world.public for word in world.versions),
    )
    yield "domains", sum(found.domains.values()), public
    yield "perturbed", found.perturbed, versions
    yield "agreement", agreement().problems, public  # type: ignore[union-attr]
    yield "site", counts(world.author).site, public
    yield "API", Program().get("figures").json()["problems"], public
    (family,) = families()
    yield "versions of a family", family.versions, versions
    yield "fooling", family.fooling, versions
    (entry,) = entries()
    yield "board", entry.versions, versions
    yield "fooled on the board", entry.fooled, versions
    yield "stamp of a tree", _stamp(world.root)[0], versions + 1
    for row in Problem.objects.filter(version__parent__isnull=False):
        EditKind.objects.create(problem=row, kind="noun", by="x")
    (kinds, *_rest) = kinds_over_all(model)
    yield "edits", kinds["n"], versions


def test_every_surface_shows_what_is_public(
    world: World, visit: Callable[..., Any], person: Callable[..., Any], tmp_path: Path
) -> None:
    """Pages, searches, files, the API, families and rounds show what the condition says, no more.

    Over every state with embargo and gold, and beside another half in every state, before and
    after it has waited long enough.
    """
    from winosmith.web.people.privacy import agree

    bob, client = person("bob"), visit()
    agree(bob)
    shown = dict(_lists(client, visit(bob), world, tmp_path))
    law = world.public
    assert {name: found ^ law for name, found in shown.items() if found != law} == {}
    assert len(shown) > 20
    grown = dict(_versions(client, world))
    expected = world.versions | {"zq0000r"}
    assert {name: found ^ expected for name, found in grown.items() if found != expected} == {}
    told = list(_counts(client, world))
    assert [(name, is_) for name, is_, _ in told] == [(name, law) for name, _, law in told]
    for path in ("/", "/card/", "/families/", f"/families/{world.root.ref}/", "/families/board/"):
        assert _said(_body(client, path)) <= world.public, path


@BOTH
def test_the_database_says_what_the_condition_says(
    database: Any, person: Callable[..., Any]
) -> None:
    """The column, the query and the rule for one person say the same, on both databases."""
    from winosmith.web.problems.models import Problem
    from winosmith.web.problems.states import public_problems, visible_to

    halves = {}
    for case, one, two in _twins(CASES, person("ann")):
        halves[one.ref] = case
        if two:
            halves[two.ref] = case.turned
    rows = Problem.objects.filter(ref__in=halves)
    law = {ref for ref, case in halves.items() if case.public}
    assert {row.ref for row in rows if row.public} == law
    assert {row.ref for row in rows if visible_to(None, row)} == law
    assert set(public_problems().filter(ref__in=halves).values_list("ref", flat=True)) == law


def _judged(author: Any = None, **columns: Any) -> list[Any]:
    """Store a twin that judges hold; return both halves."""
    _case, *halves = next(_twins([Case("judging", other="judging")], author))
    for half in halves:
        type(half).objects.filter(pk=half.pk).update(decided=None, **columns)
    return halves


def _to(half: Any, state: str) -> None:
    """Move a half, as a verdict or a moderator would."""
    from winosmith.web.problems.models import State
    from winosmith.web.problems.states import move

    move(half, State(state), by=None, kind="verdict")


def _later(halves: Iterable[Any], **time: float) -> None:
    """Let time pass for a twin, and the hourly look come round."""
    from django.db.models import F

    from winosmith.web.problems.states import publish_due

    rows = type(next(iter(halves))).objects.filter(pk__in=[half.pk for half in halves])
    rows.update(decided=F("decided") - timedelta(**time))
    publish_due()


def _public(*halves: Any) -> list[bool]:
    for half in halves:
        half.refresh_from_db()
    return [half.public for half in halves]


def _kinds(half: Any) -> list[str]:
    return list(half.events.values_list("kind", flat=True))


@pytest.mark.parametrize("end", ["valid", "rejected", "withdrawn", "revised"])
def test_a_twin_becomes_public_as_a_whole(
    db: Any, person: Callable[..., Any], visit: Callable[..., Any], end: str
) -> None:
    """A half found valid is nobody's to read before the other is decided, whatever comes of it.

    Its contributor and moderators read it meanwhile, and so does nobody who judges the other.
    """
    ann, judy = person("ann"), person("judy", is_judge=True)
    eva = person("eva", is_moderator=True)
    one, two = _judged(ann)
    _to(one, "valid")

    def readers() -> list[int]:
        path = f"/problems/{one.ref}/"
        return [visit(who).get(path).status_code for who in (None, judy, ann, eva)]

    assert (_public(one, two), readers()) == ([False, False], [404, 404, 200, 200])
    _to(two, end)
    assert (_public(one, two), readers()) == ([True, end == "valid"], [200] * 4)
    assert "late" not in _kinds(one)


def test_a_half_that_waited_long_enough_is_public(db: Any) -> None:
    """After 14 days, and never before, nothing is waited for; the log says once that it was so."""
    for stalls in ("judging", "held"):
        one, two = _judged()
        _to(one, "valid")
        if stalls == "held":
            _to(two, "held")
        _later([one], days=13, hours=23, minutes=59)
        assert _public(one, two) == [False, False]
        assert "late" not in _kinds(one)
        _later([one], minutes=2)
        assert _public(one, two) == [True, False]
        _later([one], hours=1)
        assert _kinds(one).count("late") == 1
        if stalls == "held":
            _to(two, "judging")
        _to(two, "valid")
        assert _public(one, two) == [True, True]


def test_the_days_of_waiting_are_a_setting(db: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `wait_days` 2 a half waits for two days, with 0 not at all."""
    from django.conf import settings as site

    monkeypatch.setattr(site, "RULES", replace(site.RULES, wait_days=2))
    one, two = _judged()
    _to(one, "valid")
    _later([one], days=1)
    assert _public(one) == [False]
    monkeypatch.setattr(site, "RULES", replace(site.RULES, wait_days=0))
    _to(two, "held")
    assert _public(one) == [True]
    three, _four = _judged()
    _to(three, "valid")
    assert _public(three) == [True]


def test_what_was_published_stays(db: Any) -> None:
    """A half that is public stays so when the other is judged again; it goes by itself alone.

    Judged again itself, it waits again.
    """
    one, two = _judged()
    _to(one, "valid")
    _to(two, "valid")
    _to(two, "judging")
    _later([one, two], hours=1)
    assert _public(one, two) == [True, False]
    _to(one, "rejected")
    assert _public(one) == [False]
    _to(one, "valid")
    assert _public(one, two) == [False, False]
    _to(two, "valid")
    assert _public(one, two) == [True, True]


def test_an_attention_question_stalls_nothing(db: Any) -> None:
    """A half that was an attention question, and is retired, is waited for by nobody."""
    from winosmith.web.judge.models import Gold
    from winosmith.web.judge.trust import add_gold

    one, two = _judged()
    add_gold(two, "A small jug holds little.")
    Gold.objects.update(retired=True)
    _to(one, "valid")
    assert _public(one, two) == [True, False]


def test_what_tells_the_answer_of_an_attention_question_is_not_public(
    db: Any, person: Callable[..., Any], visit: Callable[..., Any]
) -> None:
    """The other half of one that is asked waits; it is public with the question's end."""
    from winosmith.web.judge.models import Contest, Judge, Slot
    from winosmith.web.judge.trust import add_gold
    from winosmith.web.judge.trust import settle_contest as settle
    from winosmith.web.problems.states import publish_due, waits_until

    one, two = _judged(person("ann"))
    add_gold(two, "A small jug holds little.")
    _to(one, "valid")
    _later([one], days=30)
    assert _public(one) == [False]
    assert (publish_due(), waits_until(one)) == (0, None)
    page = visit(one.twin.contributor).get(f"/problems/{one.ref}/").content.decode()
    assert "It waits for the other half" in page
    assert "No day is set for it yet." in page
    judy = person("judy", is_judge=True)
    Judge.objects.create(person=judy)
    slot = Slot.objects.create(
        problem=two, twin=two.twin, n=judy.pk, place=0, gold=True, open=False, holder=judy,
        right=False, choice=0, ref="asked",
    )  # fmt: skip
    contested = Contest.objects.create(slot=slot, text="The jug may be big.")
    settle(contested, person("eva", is_moderator=True), upheld=True)
    assert _public(one, two) == [True, False]


def test_no_attention_question_is_asked_beside_what_is_public(db: Any) -> None:
    """A public half keeps the other from becoming a question; one from before is not asked."""
    from winosmith.errors import InputError
    from winosmith.web.judge.models import Gold
    from winosmith.web.judge.trust import add_gold, askable

    one, two = _judged()
    _to(one, "valid")
    _later([one], days=15)
    with pytest.raises(InputError, match="is public and tells its answer"):
        add_gold(two, "A small jug holds little.")
    type(two).objects.filter(pk=two.pk).update(gold=True)
    Gold.objects.create(problem=two, explanation="A small jug holds little.")
    assert not askable().exists()
    _to(one, "rejected")
    assert list(askable()) == [two]


def test_lifting_an_embargo_publishes_no_half_ahead_of_the_other(
    db: Any, person: Callable[..., Any]
) -> None:
    """A half whose embargo ends while judges hold the other waits like one just found valid."""
    from winosmith.web._lock import writing
    from winosmith.web.problems.family import lift, put_under

    one, two = _judged()
    _to(one, "valid")
    _to(two, "valid")
    with writing():
        put_under(one)
        _to(two, "judging")
        lift(one)
    assert _public(one, two) == [False, False]
    _to(two, "rejected")
    assert _public(one, two) == [True, False]
    three, four = _judged()
    _to(three, "valid")
    with writing():
        put_under(four)
        lift(three)
        assert _public(three) == [False]
        _to(four, "valid")
    assert _public(three, four) == [True, False]


def test_imported_halves_wait_for_nothing_but_those_that_are_judged(db: Any) -> None:
    """Imported as valid, a twin is public at once; beside a half that is judged, it waits."""
    from winosmith import Dataset, Problem
    from winosmith.web import hosting
    from winosmith.web.problems.models import Problem as Row

    one, two = (
        Problem(
            f"of-a-file-{letter}", f"The cup did not fit in the jug since the _ was {word}.",
            ("cup", "jug"), answer, "of-a-file",
        )
        for letter, word, answer in (("a", "big", 0), ("b", "small", 1))
    )  # fmt: skip
    hosting.import_problems(Dataset([one]), "judging")
    hosting.import_problems(Dataset([one, two]), "valid")
    rows = [Row.objects.get(ref=datum.id) for datum in (one, two)]
    assert _public(*rows) == [False, False]
    _to(rows[0], "valid")
    assert _public(*rows) == [True, True]


@BOTH
def test_verdicts_on_both_halves_at_once_publish_the_twin(
    database: Any, person: Callable[..., Any]
) -> None:
    """Of two verdicts at once the later sees the earlier: neither half is left to wait."""
    from django.db import connection

    from winosmith.web._lock import writing

    one, two = _judged(person("ann"))
    started = threading.Event()

    def other() -> None:
        started.set()
        try:
            _to(two, "valid")
        finally:
            connection.close()

    thread = threading.Thread(target=other)
    with writing():
        _to(one, "valid")
        thread.start()
        started.wait(LONGEST)
        time.sleep(0.3)
    thread.join(LONGEST)
    assert _public(one, two) == [True, True]


def test_what_is_public_and_what_waits_is_found_by_small_indexes(db: Any) -> None:
    """SQLite, which has no statistics, walks the public problems and those that wait, not all."""
    from django.db import connection

    from winosmith.web.problems.models import Problem
    from winosmith.web.problems.states import _due, public_problems

    with connection.cursor() as cursor:  # what ran before on this site may have left some
        cursor.execute("ANALYZE sqlite_master")
        if "sqlite_stat1" in connection.introspection.table_names(cursor):
            cursor.execute("DELETE FROM sqlite_stat1")
            cursor.execute("ANALYZE sqlite_master")
    waiting = Problem.objects.filter(waits=True).order_by("-created", "-pk")
    plans = {
        "problem_public": public_problems().order_by("-id")[:20].explain(),
        "problem_waits": _due().values_list("twin", flat=True).explain(),
        "problem_waits ": waiting[:20].explain(),
    }
    assert [name for name, plan in plans.items() if f"INDEX {name.strip()}" not in plan] == []


def test_lifting_an_embargo_that_is_not_there_hides_nothing(db: Any) -> None:
    """A public half stays public when its other half is judged again and "lift" is pressed."""
    from winosmith.web.problems.family import lift

    one, other = _judged()
    for half in (one, other):
        _to(half, "valid")
    _to(one, "judging")
    before = _public(one, other)
    assert before[1]
    lift(other)
    assert _public(one, other) == before


ACTS = st.one_of(
    st.tuples(st.sampled_from("ab"), st.sampled_from((*STATES, "embargo", "lift"))),
    st.tuples(st.just("time"), st.integers(1, 20)),
)


@given(st.lists(ACTS, max_size=12))
@examples(60, suppress_health_check=list(HealthCheck))
def test_no_half_is_ever_published_ahead_of_the_other(
    ready_site: Any, acts: list[tuple[str, Any]]
) -> None:
    """Whatever is done in whatever order: public is only what may be, and nothing waits in vain.

    A half that becomes public has no other half with the judges or a moderator, unless it was
    decided 14 days ago; and what is valid waits only while the other half does.
    """
    from django.db import transaction

    from winosmith.errors import InputError
    from winosmith.web.problems.family import lift, put_under

    with transaction.atomic():
        halves = dict(zip("ab", _judged(), strict=True))
        days = dict.fromkeys("ab", 0)
        for who, what in acts:
            before = _public(*halves.values())
            if who == "time":
                _later(halves.values(), days=what)
                days = {name: spent + what for name, spent in days.items()}
            elif what in ("embargo", "lift"):
                (put_under if what == "embargo" else lift)(halves[who])
            else:
                with contextlib.suppress(InputError):
                    _to(halves[who], what)
                    days[who] = 0 if what in ("valid", "rejected") else days[who]
            after = _public(*halves.values())
            for name, other, was, now in zip("ab", "ba", before, after, strict=True):
                half = halves[name]
                may = half.state == "valid" and not half.embargo
                free = halves[other].state not in ("held", "judging")
                late = days[name] >= 14
                assert now <= may
                assert now or not (may and (free or was))
                assert free or late or was or not now
        transaction.set_rollback(True)
