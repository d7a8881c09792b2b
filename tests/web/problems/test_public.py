"""Public problems: every page, file and count of the site follows one condition."""

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import count, product
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest
from django.db import connection
from django.utils import timezone

from tests.web import growing
from tests.web.api import calling
from tests.web.conftest import BOTH
from winosmith.web import _cache, exporting
from winosmith.web._lock import writing
from winosmith.web.families import lists
from winosmith.web.families.figures import get_answered_problems
from winosmith.web.families.lists import list_families
from winosmith.web.families.trees import _compute_stamp, load_tree
from winosmith.web.judge.models import Slot, Verdict
from winosmith.web.judge.votes import measure_agreement as judges_agree
from winosmith.web.people.privacy import save_agreement
from winosmith.web.predict.models import Model
from winosmith.web.problems.models import Problem, Twin, Version
from winosmith.web.problems.states import get_public_problems, is_visible_to, update_waits
from winosmith.web.read import downloads
from winosmith.web.read.downloads import FILES
from winosmith.web.read.public import get_stats
from winosmith.web.rounds.models import Round
from winosmith.web.rounds.running import write_pool

STATES = ("held", "judging", "valid", "rejected", "revised", "withdrawn")


class Case(NamedTuple):
    """The state of a half, and of the other half of its twin.

    Attributes:
        other: State of the other half; None without one.
        late: True if the decisions are 15 days old, otherwise one day.
    """

    state: str
    embargo: bool = False
    gold: bool = False
    other: str | None = None
    late: bool = False

    @property
    def public(self) -> bool:
        """The expected condition: valid, neither embargoed nor gold, and not ahead of the other."""
        return self.state == "valid" and not self.embargo and not self.gold and not self.waits

    @property
    def waits(self) -> bool:
        """Whether its outcome stays hidden because of the other half."""
        ahead = self.other in ("held", "judging") and not self.late
        return ahead and self.state in ("valid", "rejected")

    @property
    def rejected(self) -> bool:
        """Whether it is counted as rejected."""
        return self.state == "rejected" and not (self.embargo or self.gold or self.waits)

    @property
    def turned(self) -> Self:
        """The same twin, seen from its other half."""
        return type(self)(self.other or "", other=self.state, late=self.late)


CASES = (
    *(Case(*values) for values in product(STATES, (False, True), (False, True))),
    *(
        Case(state, other=other, late=late)
        for state, other, late in product(STATES, STATES, (False, True))
    ),
)


class World(NamedTuple):
    """A site with a half for each case, all versions of one root, with votes and predictions.

    Attributes:
        root: Public root of the family.
        words: Rows by the word that only their sentence contains.
        public: Words of the public sentences; those of versions end in "a".
        cases: The case of each half.
        author: Contributor of all problems.
    """

    root: Any
    words: dict[str, Any]
    public: set[str]
    cases: list[Case]
    author: Any

    @property
    def versions(self) -> set[str]:
        """The words of the public versions, without the root."""
        return {word for word in self.public if word.endswith("a")}


_numbers = count(1)


def _make_half(twin: Any, word: str, n: int, **columns: Any) -> Any:
    """Return an unsaved problem."""
    return Problem(
        ref=f"r{word}",
        twin=twin,
        sentence=f"The {word} cup did not fit in the jug because the _ was {('big', 'small')[n]}.",
        options=[f"{word} cup", "jug"],
        answer=n,
        **columns,
    )


def twins(cases: Iterable[Case], author: Any) -> Iterator[tuple[Case, Any, Any]]:
    """Store the halves of each case; yield the case and both rows, None for a missing half."""
    decided = {late: timezone.now() - timedelta(days=15 if late else 1) for late in (False, True)}
    for case in cases:
        number = next(_numbers)
        twin = Twin.objects.create(ref=f"t{number:04}", contributor=author, domain="physical")
        one = _make_half(
            twin, f"zq{number:04}a", 0, state=case.state, embargo=case.embargo, gold=case.gold,
            record={} if case.other else {"single": True}, decided=decided[case.late],
        )  # fmt: skip
        two = None
        if case.other:
            two = _make_half(
                twin, f"zq{number:04}b", 1, state=case.other, decided=decided[case.late]
            )
        keys = [Problem.objects.bulk_create([half])[0].pk for half in (one, two) if half]
        with writing():
            update_waits([twin.pk], newly_decided=keys)
        yield case, one, two


def _make_world(author: Any, judge: Any) -> World:
    alpha = growing.model("alpha")
    root = growing.version(None, "The zq0000r cup hit the jug so the _ broke.", by=author)
    words, public, cases = {"zq0000r": root}, {"zq0000r"}, []
    growing.says(alpha, root)
    for case, one, two in twins(CASES, author):
        Version.objects.create(
            problem=one, root=root, parent=root, step=1, declared=1, lineage=1, edit=1,
            digest=one.ref,
        )  # fmt: skip
        growing.says(alpha, one, right=False)
        for row, its in ((one, case), (two, case.turned)) if two else ((one, case),):
            words[row.ref[1:]] = row
            cases.append(its)
            public |= {row.ref[1:]} if its.public else set()
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
    return World(root, words, public, cases, author)


@pytest.fixture
def world(
    db: Any, person: Any, forgotten: None, monkeypatch: pytest.MonkeyPatch, ann: Any
) -> World:
    """Return the site with each case, with empty caches and a high limit of downloads."""
    monkeypatch.setattr(_cache, "QUICK_SECONDS", 3600.0)
    monkeypatch.setattr(downloads, "MAX_DOWNLOADS_PER_HOUR", 10_000)
    lists._FAMILIES.clear()
    return _make_world(ann, person("judy", is_judge=True))


def _find_words(body: bytes) -> set[str]:
    return {word.decode() for word in re.findall(rb"zq\d{4}[abr]", body)}


def _get_body(client: Any, path: str) -> bytes:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return answer.getvalue()


def _find_words_on_pages(client: Any, path: str) -> set[str]:
    """Return the words on all pages of a list."""
    said: set[str] = set()
    more: str | None = path
    while more:
        body = _get_body(client, more)
        said |= _find_words(body)
        found = re.search(rb'href="[^"]*\?([^"]*\bafter=[0-9a-f]+[^"]*)"', body)
        more = f"{path.split('?')[0]}?{found[1].decode().replace('&amp;', '&')}" if found else None
    return said


def _find_words_in_api(path: str) -> set[str]:
    """Return the words on all pages of a list of the API."""
    said: set[str] = set()
    after: str | None = ""
    while after is not None:
        answer = calling.get(f"{path}{'&' if '?' in path else '?'}after={after}")
        assert answer.status_code == 200, answer.content
        said |= _find_words(answer.content)
        after = answer.json()["next"]
    return said


def _find_pages(client: Any, world: World, path: str) -> set[str]:
    """Return the words of the problems that have such a page."""
    refs = {word: row.ref for word, row in world.words.items()}
    got = {word: client.get(path.format(ref)).status_code for word, ref in refs.items()}
    assert set(got.values()) == {200, 404}
    return {word for word, status in got.items() if status == 200}


def _lists(client: Any, reader: Any, world: World, folder: Path) -> Iterator[tuple[str, set[str]]]:
    """Yield each surface that shows problems of any kind, with the words on it."""
    yield "browse", _find_words_on_pages(client, "/problems/")
    yield "search", _find_words_on_pages(client, "/problems/?q=cup")
    yield "judged", _find_words_on_pages(client, "/problems/?agreement=all")
    yield "problem pages", _find_pages(client, world, "/problems/{}/")
    yield "perturb", _find_words_on_pages(client, "/perturb/?kind=")
    yield "perturb a problem", _find_pages(reader, world, "/perturb/{}/")
    yield "API list", _find_words_in_api("problems")
    yield "API search", _find_words_in_api("problems?q=cup")
    yield "API problems", {w for w, row in world.words.items()
                           if calling.get(f"problems/{row.ref}").status_code == 200}  # fmt: skip
    for name in FILES:
        if found := _find_words(_get_body(client, f"/download/{name}?fitting=1")):
            yield name, found
    votes = _get_body(client, "/download/votes.csv")
    yield "votes", {word for word, row in world.words.items() if f"{row.ref}," in votes.decode()}
    exporting.export(folder / "export", public=True)
    yield "export", _find_words((folder / "export" / "problems.jsonl").read_bytes())
    pool = write_pool(Round.objects.create(name="first", recipe={}, started_by=world.author))
    yield "round", _find_words((pool / "problems.jsonl").read_bytes())


def _versions(client: Any, world: World) -> Iterator[tuple[str, set[str]]]:
    """Yield each surface of families and models, with the words of the versions on it."""
    tree = load_tree(world.root, None)
    words = {row.pk: word for word, row in world.words.items()}
    yield "tree", {words[row] for row in tree.rows.tolist()}
    yield "public in the tree", {words[row] for row in tree.rows[tree.public].tolist()}
    yield "API versions", _find_words_in_api(f"families/{world.root.ref}/versions")
    yield "families' data", _find_words(_get_body(client, "/families/data/problems.jsonl"))
    said = _get_body(client, "/families/data/alpha.jsonl")
    yield "predictions", {word for row, word in words.items()
                          if world.words[word].ref in said.decode()}  # fmt: skip
    measured = get_answered_problems(Model.objects.get())
    yield "measured", {word for row in measured for word in _find_words(row.sentence.encode())}
    yield "browse a family", _find_words_on_pages(client, f"/problems/?family={world.root.ref}")


def _counts(client: Any, world: World) -> Iterator[tuple[str, int, int]]:
    """Yield each public count: its name, value and expected value."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM read_search WHERE read_search MATCH 'cup'")
        (indexed,) = cursor.fetchone()
    public, versions = len(world.public), len(world.versions)
    found = get_stats()
    yield "figures", found["problems"], public
    yield "words that can be found", indexed, public
    yield "rejected", found["rejected"], sum(case.rejected for case in world.cases)
    yield (
        "judges agree",
        judges_agree()["problems"],
        1 + sum(not (c.waits or c.embargo) for c in world.cases),
    )
    whole = sum(f"{word[:-1]}b" in world.public for word in world.versions)
    yield "whole twins", found["twins"], whole
    yield "domains", sum(found["domains"].values()), public
    yield "perturbed", found["perturbed"], versions
    yield "API", calling.get("figures").json()["problems"], public
    (family,) = list_families()
    yield "versions of a family", family.versions, versions
    yield "fooling", family.error_count, versions
    yield "stamp of a tree", _compute_stamp(world.root)[0], versions + 1


def test_every_surface_shows_exactly_the_public_problems(world, visit, bob, tmp_path):
    """The cases are every state with embargo and gold, and every pair of states of two halves.

    Pairs are tested before and after the waiting time.
    """
    client = visit()
    save_agreement(bob)
    shown = dict(_lists(client, visit(bob), world, tmp_path))
    law = world.public
    assert {name: found ^ law for name, found in shown.items() if found != law} == {}
    assert len(shown) == 15
    grown = dict(_versions(client, world))
    expected = world.versions | {"zq0000r"}
    assert {name: found ^ expected for name, found in grown.items() if found != expected} == {}
    told = list(_counts(client, world))
    assert [(name, is_) for name, is_, _ in told] == [(name, law) for name, _, law in told]
    for path in ("/", "/card/", "/families/", f"/families/{world.root.ref}/"):
        assert _find_words(_get_body(client, path)) <= world.public, path


@BOTH
def test_column_query_and_rule_agree_on_public_problems(database, ann):
    halves = {}
    for case, one, two in twins(CASES, ann):
        halves[one.ref] = case
        if two:
            halves[two.ref] = case.turned
    rows = Problem.objects.filter(ref__in=halves)
    law = {ref for ref, case in halves.items() if case.public}
    assert {row.ref for row in rows if row.public} == law
    assert {row.ref for row in rows if is_visible_to(None, row)} == law
    assert set(get_public_problems().filter(ref__in=halves).values_list("ref", flat=True)) == law
