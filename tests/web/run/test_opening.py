"""Tests and studies that are opened and closed in the browser, and backups that are made there."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.web.run.visits import HEAD, STUDY  # type: ignore[import-not-found]

SCHEMAS = HEAD + "".join(
    f"\nThe {one} hit the {two} and the _ broke because it was {word}.,{one},{two},{answer}"
    for one, two in (("cup", "jug"), ("ball", "vase"), ("stone", "window"))
    for word, answer in (("thin", 2), ("hard", 1))
)

TEST = {"name": "spring", "title": "Which one?", "orders": "1", "new_ids": "on"}


def _deed(answer: Any) -> Any:
    from winosmith.web.run.models import Deed

    assert answer.status_code == 302, answer.content.decode()
    return Deed.objects.get(mark=answer["Location"].split("/")[-2])


def test_a_test_is_opened_once_its_sheets_were_shown(
    db: Any, send: Callable[..., Any], done: Callable[[Any], Any]
) -> None:
    """The preview writes nothing; confirmed, there is a round with these sheets, under embargo."""
    from winosmith.web.problems.models import Problem
    from winosmith.web.take.models import Round

    deed = _deed(send("/admin/tests/", file=SCHEMAS, **TEST, consent="Read on.\r\n"))
    assert not Round.objects.exists()
    assert not Problem.objects.exists()
    assert sum(questions for _name, questions in deed.came["sheets"]) == 6
    ended = done(deed)
    assert (ended.state, ended.error) == ("done", "")
    opened = Round.objects.get()
    assert (opened.name, opened.title, opened.consent) == ("spring", "Which one?", "Read on.")
    assert ended.came["sheets"] == [[s.code, len(s.record["items"])] for s in opened.sheets.all()]
    assert set(Problem.objects.values_list("embargo", "state")) == {(True, "valid")}


def test_a_test_that_was_opened_before_the_plug_was_pulled_is_open(
    db: Any, send: Callable[..., Any], done: Callable[[Any], Any]
) -> None:
    """Carried out again after its last step, the deed ends as done, and there is one round."""
    from winosmith.web.run.models import Deed
    from winosmith.web.take.models import Round

    deed = done(_deed(send("/admin/tests/", file=SCHEMAS, **TEST)))
    Deed.objects.filter(pk=deed.pk).update(state="shown", came={})
    assert done(deed).came == deed.came
    assert Round.objects.count() == 1


@pytest.mark.parametrize(
    ("file", "others", "told"),
    [
        (f"{SCHEMAS}\nNo blank.,cup,jug,1", {}, "cups.csv:8: the sentence has no blank"),
        (SCHEMAS.replace(",1", ","), {}, "has no answer"),
        (SCHEMAS, {"name": "taken"}, "there is a round"),
        (SCHEMAS, {"orders": "0"}, "greater than or equal to 1"),
        (SCHEMAS, {"title": ""}, "required"),
    ],
)
def test_a_test_that_cannot_be_opened_brings_the_form_back(
    db: Any, send: Callable[..., Any], file: str, others: dict[str, str], told: str
) -> None:
    """All of a file makes a test, or nothing; what was typed stays in the form."""
    from winosmith.web.run.models import Deed
    from winosmith.web.take.models import Round

    Round.objects.create(name="taken", title="x", data="x", seed=0, consent="x")
    answer = send("/admin/tests/", file=file, **{**TEST, "consent": "Read on.", **others})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert told in page
    assert "Read on." in page
    assert not Deed.objects.exists()


def test_a_test_is_closed_when_its_sheets_are_in(
    db: Any, send: Callable[..., Any], done: Callable[[Any], Any], person: Callable[..., Any]
) -> None:
    """With a sheet out it stays open, and says so; when those count as given up, it closes."""
    from winosmith.web.run.models import Deed
    from winosmith.web.take.models import Round
    from winosmith.web.take.sheets import enrol

    done(_deed(send("/admin/tests/", file=SCHEMAS, **TEST)))
    enrol(person("ann"), Round.objects.get(), {})
    refused = send("/admin/tests/spring/close/")
    assert refused.status_code == 409
    assert "1 sheet is still out" in refused.content.decode()
    closed = send("/admin/tests/spring/close/", drop="1")
    assert closed["Location"] == "/tests/progress/spring/"
    assert Round.objects.get().state == "closed"
    assert Deed.objects.latest("pk").asked == {"name": "spring", "drop": True}


def test_a_studys_link_is_shown_once_and_kept_nowhere(
    db: Any, adam: Any, visit: Callable[..., Any]
) -> None:
    """The page of the form that made it has the link; sent again, and in every table, it is not."""
    from django.apps import apps

    from winosmith.web.market.studies import find_study
    from winosmith.web.people.gates import new_key

    form, browser = {"key": new_key(), **STUDY}, visit(adam)
    page = browser.post("/admin/studies/", form).content.decode()
    token = page.partition("/study/")[2].partition("/")[0]
    assert find_study(token).name == "pilot"
    assert page.count("http://testserver/study/") == 1
    again = browser.post("/admin/studies/", form, follow=True).content.decode()
    assert token not in again
    rows = [repr(list(m._base_manager.values_list()[:999])) for m in apps.get_models()]
    assert not any(token in row for row in rows)


def test_a_new_link_ends_the_one_before(db: Any, send: Callable[..., Any]) -> None:
    """What was shown first leads nowhere then; a closed study gets no link."""
    from winosmith.web.market.studies import find_study

    def token(answer: Any) -> str:
        return str(answer.content.decode().partition("/study/")[2].partition("/")[0])

    first = token(send("/admin/studies/", **STUDY))
    second = token(send("/admin/studies/pilot/link/"))
    assert (find_study(first), find_study(second).name) == (None, "pilot")
    assert send("/admin/studies/pilot/close/").status_code == 302
    assert find_study(second).closed
    refused = send("/admin/studies/pilot/link/")
    assert (refused.status_code, find_study(second) is None) == (409, False)


@pytest.mark.parametrize(
    ("others", "told"),
    [
        ({"currency": "pounds"}, "Write it like GBP"),
        ({"code": ""}, "this market gives the completion code"),
        ({"name": "a b"}, "Letters, digits and dashes alone"),
        ({"provider": "mturk", "code": ""}, "https"),
        ({"reward": "2.505"}, "no more than 2 decimal places"),
        ({"code": "SAME", "short_code": "SAME"}, "must differ"),
    ],
)
def test_a_study_that_cannot_be_made_brings_the_form_back(
    db: Any, send: Callable[..., Any], others: dict[str, str], told: str
) -> None:
    """The form says what is wrong, holds what was typed, and there is no study."""
    from winosmith.web.market.models import Study

    answer = send("/admin/studies/", **{**STUDY, "market_study": "kept", **others})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert told in page
    assert 'value="kept"' in page
    assert not Study.objects.exists()


def test_a_backup_is_made_on_the_server_and_sent_to_nobody(
    database: Any, adam: Any, send: Callable[..., Any], kept: Path, visit: Callable[..., Any]
) -> None:
    """The form leads to a page that waits; the archive lies in the folder, for its owner alone."""
    from winosmith.web.run.deeds import THREAD

    deed = _deed(send("/admin/backups/"))
    THREAD.wait()
    deed.refresh_from_db()
    assert (deed.state, deed.error) == ("done", "")
    path = kept / "backups" / deed.came["file"]
    assert path.stat().st_mode & 0o077 == 0
    with tarfile.open(path) as archive:
        assert {"secret", "site.toml", "manifest.json"} <= set(archive.getnames())
    browser = visit(adam)
    assert deed.came["file"] in browser.get("/admin/backups/").content.decode()
    for place in (f"/admin/backups/{path.name}", f"/admin/backups/{path.name}/",
                  f"/backups/{path.name}", f"/static/../backups/{path.name}"):  # fmt: skip
        assert browser.get(place).status_code == 404


def test_the_newest_backups_are_kept(
    db: Any, adam: Any, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond seven the oldest go, and what is of an interrupted one; other files stay."""
    from winosmith.web.run import backups
    from winosmith.web.run.deeds import note

    folder = kept / "backups"
    folder.mkdir()
    for day in range(10, 19):
        (folder / f"site-202601{day}-120000.tar.gz").write_text("x")
    (folder / ".site-20260109-120000.tar.gz-x").mkdir()
    (folder / "mine.tar.gz").write_text("x")
    monkeypatch.setattr(backups, "backup", lambda _site, path: path.write_text("y"))
    made = backups.make(note(adam, "backup", {}), lambda _: None)
    names = [one.name for one in backups.kept()]
    assert names[0] == made["file"]
    assert names[1:] == [f"site-202601{day}-120000.tar.gz" for day in range(18, 12, -1)]
    assert sorted(p.name for p in folder.iterdir() if p.name not in names) == ["mine.tar.gz"]
