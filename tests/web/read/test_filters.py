"""Public pages: filters, and links from page to page."""

import re
from datetime import UTC, datetime

import pytest
from django.http import QueryDict

from winosmith.web.judge.models import Verdict
from winosmith.web.people import models
from winosmith.web.people.models import find_person, get_pseudonym
from winosmith.web.people.privacy import erase
from winosmith.web.problems.models import Problem, Twin
from winosmith.web.read.public import Filters, decrypt_key, encrypt_key

pytestmark = pytest.mark.usefixtures("db")


def test_each_filter_selects_its_problems(twin, ann):
    social = twin(ann, domain="social")
    single = twin(domain="physical", state=("valid", "rejected"))[:1]
    other = twin(domain="farm")
    old = datetime(2026, 1, 31, 23, 59, tzinfo=UTC)
    Twin.objects.filter(pk=social[0].twin_id).update(created=old)
    Verdict.objects.create(problem=social[0], counts="3", valid=True)
    Verdict.objects.create(problem=social[1], counts="2,1", valid=True)
    s, one, o = ({row.ref for row in rows} for rows in (social, single, other))
    expected = {
        "": s | one | o,
        "domain=social": s,
        "domain=physical": one,
        "domain=other": o,
        "twins=twins": s | o,
        "twins=singles": one,
        f"contributor={get_pseudonym(ann)}": s,
        "contributor=p-000000000000": set(),
        "until=2026-01-31": s,
        "until=2026-01-30": set(),
        "since=2026-02-01": one | o,
        "since=2026-01-31": s | one | o,
        "since=0001-01-01&until=9999-12-31": s | one | o,
        "agreement=all": {social[0].ref},
        "agreement=most": {social[1].ref},
        "agreement=none": one | o,
        "domain=social&agreement=all&q=large": {social[0].ref},
    }
    found = {query: Filters(QueryDict(query)).apply() for query in expected}
    assert {query: {row.ref for row in rows} for query, rows in found.items()} == expected


def test_pseudonym_without_public_problems_looks_unknown(visit, twin, ann):
    """Moderators find the person anyway, by `find_person`."""
    twin(ann, state=("judging", "held"))
    pages = [
        visit().get(f"/problems/?contributor={name}").text.replace(name, "")
        for name in (get_pseudonym(ann), "p-000000000000")
    ]
    assert pages[0] == pages[1]
    assert find_person(get_pseudonym(ann)) == ann


def test_unknown_pseudonym_recomputes_only_new_and_erased(person, monkeypatch):
    """Otherwise each guess at a pseudonym would recompute all of them."""
    monkeypatch.setattr(models, "_cached_keys", {})
    old, gone = person("old"), person("gone")
    assert models.find_person(models.get_pseudonym(old)) == old
    erase(gone, texts=False)
    gone.refresh_from_db()
    new = person("new")
    monkeypatch.setattr(models, "_RECHECKED", 0)
    made, make = [], models.get_pseudonym
    monkeypatch.setattr(models, "get_pseudonym", lambda who: made.append(who.pk) or make(who))
    assert models.find_person("p-000000000000") is None
    assert set(made) == {gone.pk, new.pk}
    assert models.find_person(make(gone)) == gone


@pytest.mark.parametrize(
    "query",
    [
        {"domain": "nowhere"},
        {"contributor": "ann"},
        {"since": "yesterday"},
        {"since": "2026-02-01", "until": "2026-01-01"},
        {"q": "x" * 201},
        {"twins": "3"},
    ],
)
def test_invalid_filter_is_refused_without_problems(visit, twin, query):
    twin()
    for path in ("/problems/", "/download/", "/download/problems.csv"):
        answer = visit().get(path, query)
        assert (answer.status_code, b"shelf" in answer.content) == (422, False)


def test_older_and_newer_links_page_through_all_problems(visit, twin):
    for _ in range(26):
        twin()
    client, path, seen, pages = visit(), "/problems/?q=trophy", [], []
    while path:
        page = client.get(path).text
        pages.append(re.findall(r"/problems/(p\d+[ab])/", page))
        seen += [ref for found in client.get(path).context["groups"] for ref in found[2][::-1]]
        older = re.search(r'rel="next" href="([^"]+)"', page)
        path = "/problems/" + older[1].replace("&amp;", "&") if older else ""
    assert [len(page) > 0 for page in pages] == [True, True, True]
    assert [row.pk for row in seen] == sorted((row.pk for row in seen), reverse=True)
    assert len({row.pk for row in seen}) == len(seen) == 52
    back = page
    for expected in pages[1::-1]:
        newer = re.search(r'rel="prev" href="([^"]+)"', back)
        back = client.get("/problems/" + newer[1].replace("&amp;", "&")).text
        assert re.findall(r"/problems/(p\d+[ab])/", back) == expected


def test_page_key_round_trips_and_forgeries_are_rejected():
    assert [decrypt_key(encrypt_key(n)) for n in (1, 2, 10**12)] == [1, 2, 10**12]
    mark = encrypt_key(5)
    assert len(mark) == 32
    assert decrypt_key("") is decrypt_key("5") is decrypt_key("é" * 32) is None
    assert decrypt_key(mark[:-1] + ("0" if mark[-1] != "0" else "1")) is None


def test_first_page_shows_the_twin_with_most_unanimous_votes(visit, twin, forgotten):
    """A twin without votes is not shown; with a split vote or a hidden half, neither."""

    def shown() -> list[str]:
        page = visit().get("/").text
        return re.findall(r'<p class="sentence".*?(lamp|harp|kite|desk)', page, re.DOTALL)

    kinds = {"lamp": ("3", "3"), "harp": ("10", "7"), "kite": ("2,1", "9"), "desk": ()}
    halves = {word: twin(word=word) for word in kinds}
    for word, counts in kinds.items():
        for half, chosen in zip(halves[word], counts, strict=False):
            Verdict.objects.create(problem=half, counts=chosen, valid=True)
    assert shown() == ["harp", "harp"]
    Problem.objects.filter(pk=halves["harp"][1].pk).update(embargo=True)
    assert shown() == ["lamp", "lamp"]
    Verdict.objects.all().delete()
    assert shown() == []


@pytest.mark.parametrize("path", ["/problems/", "/perturb/"])
def test_empty_list_states_when_problems_become_public(db, visit, rules, path):
    """A valid half waits for the other half, unless `wait_days` is 0."""
    assert "after 14 days" in visit().get(path).text
    rules(wait_days=0)
    assert "once judges find it valid.</p>" in visit().get(path).text.replace("\n", "")
