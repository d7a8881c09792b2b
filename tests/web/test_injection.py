"""Hostile texts in the form for twins: stored unchanged, and never run."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from tests.web.hostile import TEXTS, Page
from tests.web.world import taken_back
from winosmith.topics import Topic
from winosmith.web.api import app
from winosmith.web.people.accounts import invite
from winosmith.web.people.models import Person
from winosmith.web.people.privacy import save_agreement
from winosmith.web.problems.models import Problem
from winosmith.web.write.rules import start_draft

FRAME = (
    "In the garden number {n}, Ann gave water to the bucket and also to {text} since the _ was {t}."
)


def _form(n: int, text: str) -> dict[str, str]:
    """Return the form of a twin with a text in its sentences and as an option."""
    return {
        "domain": "physical",
        "option_1": text,
        "option_2": "bucket",
        "sentence_1": FRAME.format(n=n, text=text, t="empty"),
        "answer_1": "0",
        "sentence_2": FRAME.format(n=n, text=text, t="full"),
        "answer_2": "1",
    }


@pytest.fixture(scope="module")
def sent(ready_site: Any) -> Iterator[list[dict[str, str]]]:
    """Submit a twin for each text by the contributors' form, and make all of them valid."""
    forms, client = [], Client()
    with taken_back():
        for n, text in enumerate(TEXTS):
            if n % 40 == 0:
                ann = Person.objects.create_user(f"ann{n}")
                save_agreement(ann)
                client.force_login(ann)
            draft = start_draft(
                ann, Topic("Garden", "Water the garden each evening.", ("water", "garden"))
            )
            form = _form(n, text)
            answer = client.post(
                f"/write/{draft.ref}/", {**form, "version": str(draft.version), "do": "submit"}
            )
            assert answer.status_code == 302, (text, _complaints(answer))
            mine = client.get(answer["Location"])
            assert Page(mine.text).faults == []
            forms.append(form)
        Problem.objects.update(state="valid")
        yield forms


@pytest.fixture
def filled(sent: list[dict[str, str]]) -> Iterator[list[dict[str, str]]]:
    """Return the submitted forms, and roll back what the test writes."""
    with taken_back():
        yield sent


def _complaints(answer: Any) -> list[str]:
    return re.findall(r'class="(?:error|fault)[^>]*>([^<]+)', answer.text)


def test_at_least_60_different_texts_have_no_blank():
    assert len(set(TEXTS)) == len(TEXTS) >= 60
    assert not any("_" in text for text in TEXTS)


def test_list_and_problem_pages_show_texts_unchanged(filled, visit):
    shown: set[str] = set()
    path: str | None = "/problems/"
    client = visit()
    while path:
        html = client.get(path).text
        page = Page(html)
        assert page.faults == []
        shown |= set(page.sentences)
        older = re.search(r'rel="next" href="([^"]+)"', html)
        path = "/problems/" + older[1].replace("&amp;", "&") if older else None
    assert shown == {form[f"sentence_{half}"] for form in filled for half in (1, 2)}
    for problem in Problem.objects.all()[::2]:
        page = Page(client.get(f"/problems/{problem.ref}/").text)
        assert page.faults == []
        assert problem.sentence in page.sentences
        assert set(problem.options) <= {option.strip() for option in page.options}


def test_hostile_query_parameters_are_inert(db, visit):
    """Only the list of problems shows its parameters; other pages get every fifth text."""
    names = ("q", "domain", "twins", "contributor", "since", "after", "before", "next", "agreement")
    asked = {"/problems/": TEXTS}
    asked |= dict.fromkeys(("/download/", "/people/login/", "/people/join/"), TEXTS[::5])
    for path, texts in asked.items():
        for text in texts:
            answer = visit().get(path, dict.fromkeys(names, text))
            assert answer.status_code in (200, 422), (path, text)
            assert Page(answer.text).faults == [], (path, text)
            said = answer.headers.values()
            assert not any("evil" in value or "ran=1" in value for value in said)


def test_hostile_account_names_are_refused(db, visit):
    for text in TEXTS:
        form = {"name": text[:60], "password": "twins-and-cups", "again": "twins-and-cups"}
        answer = visit().post("/people/join/", form)
        if answer.status_code != 302:
            assert Page(answer.text).faults == [], text
    allowed = re.compile(r"[\w.@+-]+")
    assert all(allowed.fullmatch(name) for name in Person.objects.values_list("name", flat=True))


def test_download_has_a_fixed_name_and_type(filled, visit):
    for text in TEXTS[:12]:
        answer = visit().get("/download/problems.jsonl", {"q": text, "name": text})
        assert answer["Content-Disposition"] == 'attachment; filename="problems.jsonl"'
        assert answer["Content-Type"] == "application/x-ndjson"
        assert answer["X-Content-Type-Options"] == "nosniff"
        for line in answer.getvalue().splitlines():
            json.loads(line)


def test_logged_path_is_escaped_into_one_line(site, visit, caplog, monkeypatch):
    """The API's error is JSON without details."""
    monkeypatch.setattr(app, "resolver", None)
    client = visit()
    client.raise_request_exception = False
    answer = client.get("/api/v1/problems/x%0AERROR%20forged%1B%5B2J/")
    assert (answer.status_code, answer["Content-Type"]) == (500, "application/problem+json")
    assert "resolve" not in answer.text
    assert caplog.messages == [r"Internal Server Error: /api/v1/problems/x\nERROR forged\x1b[2J/"]


def test_log_contains_the_route_instead_of_a_secret_link(db, visit, caplog):
    """The link may still work."""
    client, link = visit(), invite("contributor", 30)
    client.raise_request_exception = False
    with taken_back(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE people_invitation RENAME TO gone")
        assert client.get(link).status_code >= 500
    assert client.get(link).status_code == 200
    assert "/people/join/<str:token>/" in caplog.messages[0]
    assert link.split("/")[-2] not in caplog.text
