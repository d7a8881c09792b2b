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
from winosmith.web.take.sheets import store_answer, submit_sheet
from winosmith.web.take.sheets import assign_sheet
from winosmith.web.take.models import Round
from winosmith.web.take.sheets import read_sheet
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


def _run(*words: str | Path, code: int = 0) -> str:
    """Run `winosmith` in its own process; return its output and error stream."""
    done = forking.run(tuple(map(str, words)), {**os.environ, "COLUMNS": "120"})
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_round_is_opened_answered_closed_exported_and_published(site: Any, tmp_path: Path) -> None:
    data = tmp_path / "twins.jsonl"
    formats.write(practice.read_handwritten()[:24].problems, data)
    test = ("admin", "test", site.folder)
    opened = _run(*test, "open", data, "--name", "spring", "--ask", "age=How old are you?")
    assert re.search(r"a-1-\w{4} +12", opened)
    assert "/tests/round/spring/" in opened
    assert "already exists; choose another name" in _run(
        *test, "open", data, "--name", "spring", code=2
    )
    assert "a name and a question" in _run(
        *test, "open", data, "--name", "x", "--ask", "age", code=2
    )
    site.do(TAKE)
    assert "open; close it first" in _run(*test, "publish", "spring", code=2)
    closed = _run(*test, "close", "spring")
    assert "4 sheets submitted, 0 abandoned" in closed
    share = re.search(r"([\d.]+ %) of the answers", closed)
    assert share
    out = tmp_path / "out"
    written = _run(*test, "results", "spring", out)
    line = re.search(r"winosmith (humans results .*)$", written, re.MULTILINE)
    assert line
    words = line[1].replace("results.html", str(tmp_path / "results.html")).split()
    assert f"{share[1]} of the answers are the intended ones" in _run(*words)
    assert "4 people" in (tmp_path / "results.html").read_text("utf-8")
    again = _run("humans", "enter", out / "sheets", "--answers", out / "answers", "--out",
                 tmp_path / "again")  # fmt: skip
    assert "48 answers of 4 people" in again
    assert (tmp_path / "again/responses.jsonl").read_bytes() == (
        out / "responses.jsonl"
    ).read_bytes()
    people = [
        [json.loads(row) for row in (folder / "subjects.jsonl").read_text("utf-8").splitlines()]
        for folder in (tmp_path / "again", out)
    ]
    assert people[0] == people[1]
    published = _run(*test, "publish", "spring")
    assert "24 problems are released (24 used, 0 alternates); 0 stay under embargo" in published
    assert "winosmith canary" in published
    assert "there is no round 'autumn'" in _run(*test, "close", "autumn", code=2)
