"""`winosmith admin test` opens, closes, exports and publishes rounds of a served site."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests import forking
from tests.conftest import installed
from tests.web import serving
from winosmith import formats, practice

TAKE = """
from winosmith.web.people.models import Person
from winosmith.web.take.models import Round
from winosmith.web.take.sheets import assign_sheet, read_sheet, store_answer, submit_sheet
made = Round.objects.get()
for turn, who in enumerate(Person.objects.order_by("name")):
    sitting = assign_sheet(who, made, {"native": "yes"})
    for item in read_sheet(sitting.sheet).items:
        store_answer(who, sitting.ref, item.number, "AB"[(turn + item.number) % 2], 5.0)
    submit_sheet(who, sitting.ref)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a site with four people that is ready, but not served."""
    installed("django")
    folder = tmp_path_factory.mktemp("site")
    (folder / "site.toml").write_text("hold_pace_seconds = 0\n", "utf-8")  # nobody reads here
    made = serving.Served(serving.prepared(folder))
    made.people("ann", "bob", "cem", "dora")
    return made


def _run(line: str, code: int = 0) -> str:
    """Run `winosmith` in its own process; return its output and error stream."""
    done = forking.run(tuple(line.split()), {**os.environ, "COLUMNS": "120"})
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_round_is_opened_answered_closed_exported_and_published(site, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    formats.write(practice.read_handwritten()[:24].problems, "twins.jsonl")
    test = f"admin test {site.folder}"
    opened = _run(f"{test} open twins.jsonl --name spring --ask age=Age?")
    assert re.search(r"a-1-\w{4} +12", opened)
    assert "/tests/round/spring/" in opened
    for words, reason in (
        ("open twins.jsonl --name spring", "already exists; choose another name"),
        ("open twins.jsonl --name x --ask age", "a name and a question"),
        ("publish spring", "open; close it first"),
        ("close autumn", "there is no round 'autumn'"),
    ):
        assert reason in _run(f"{test} {words}", code=2)
    site.do(TAKE)
    closed = _run(f"{test} close spring")
    assert "4 sheets submitted, 0 abandoned" in closed
    share = re.search(r"([\d.]+ %) of the answers", closed)
    assert share
    written = _run(f"{test} results spring out")
    line = re.search(r"winosmith (humans results .*)$", written, re.MULTILINE)
    assert line
    assert f"{share[1]} of the answers are the intended ones" in _run(line[1])
    assert "4 people" in Path("results.html").read_text("utf-8")
    again = _run("humans enter out/sheets --answers out/answers --out again")
    assert "48 answers of 4 people" in again
    responses, subjects = (
        [Path(folder, f"{name}.jsonl").read_bytes() for folder in ("again", "out")]
        for name in ("responses", "subjects")
    )
    assert responses[0] == responses[1]
    people = [[json.loads(row) for row in text.splitlines()] for text in subjects]
    assert people[0] == people[1]
    published = _run(f"{test} publish spring")
    assert "24 problems are released (24 used, 0 alternates); 0 stay under embargo" in published
    assert "winosmith canary" in published
