"""Files that an admin sends: what is shown, what is left out, and what comes in."""

import os
import re
import time
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError, connection
from django.test import TestCase
from django.utils import timezone

from tests.web.making import fresh
from tests.web.run.conftest import job_of
from tests.web.run.visits import CUPS, HEAD
from tests.web.working import work_off
from winosmith.errors import InputError
from winosmith.web import importing, jobs
from winosmith.web.jobs import Job, create_job
from winosmith.web.judge.trust import get_askable_questions
from winosmith.web.people.gates import new_key
from winosmith.web.people.privacy import delete_old_rows
from winosmith.web.problems.models import Problem, Remembered
from winosmith.web.run import files, human_tests
from winosmith.web.run.uploads import MAX_FILES

GOLD = (
    f"{HEAD},gold.explanation\n"
    "The big cup did not fit into the box as the _ was small.,cup,box,2,Small boxes are small.\n"
    "The big jug did not fit into the bag as the _ was small.,jug,bag,2,\n"
)

BAD = f"{CUPS}No blank is here.,cup,jug,1\nThe _ and the _ fell.,cup,jug,2\n,cup,jug,1\n"
BAD += "The jug fell on the _ of the can.,cup,jug,\n"


def _proposed(send: Callable[..., Any], **form: Any) -> Any:
    """Send a file; return the job that is to be confirmed."""
    return job_of(send("/admin/import/", **{"as_": "judging", "new_ids": "on", **form}))


def test_nothing_comes_in_before_it_is_confirmed(db: Any, send: Any, kept: Path, done: Any) -> None:
    """The preview counts and names lines; once confirmed, the sound ones wait to be judged."""
    job = _proposed(send, file=BAD)
    assert (job.state, job.came["new"], job.came["refused"]) == ("shown", 2, 4)
    assert job.came["told"] == [
        "cups.csv:4: the sentence has no blanks ('_'); 1 is needed",
        "cups.csv:5: the sentence has 2 blanks ('_'); 1 is needed",
        "cups.csv:6: the sentence is empty",
        "cups.csv:7: the problem has no answer, which judging requires",
    ]
    page = send(f"/admin/jobs/{job.mark}/", method="get").content.decode()
    assert "The file was read as a spreadsheet, saved as CSV UTF-8." in page
    assert "found by their texts: no id or column marks twins<" in page
    assert not Problem.objects.exists()
    assert job.file.stat().st_mode & 0o077 == 0
    job = done(job)
    assert (job.state, job.came["added"], job.came["refused"]) == ("done", 2, 4)
    assert set(Problem.objects.values_list("state", "gold")) == {("judging", False)}
    assert not job.file.exists()


@pytest.mark.parametrize(("pair_by", "twins"), [("couple", 4), ("-", 0)])
def test_the_form_asks_which_column_marks_twins(
    db: Any, send: Any, pair_by: str, twins: int
) -> None:
    """A column that seems to mark twins is refused until the admin names or excludes it."""
    things = ["cup,jug", "box,bag", "ball,bat", "fork,knife"]
    rows = [
        f"{text} the _ {verb} in {place}.,{options},{answer},{couple}"
        for couple, options in enumerate(things)
        for text, verb, place, answer in (
            ("We saw that", "broke", "winter", 1),
            ("Nobody at home believed her when she said", "survived", "spite of the frost", 2),
        )
    ]
    file = "\n".join([f"{HEAD},couple", *rows])
    page = send("/admin/import/", as_="judging", new_ids="on", file=file)
    assert page.status_code == 422
    refused = unescape(page.content.decode())
    assert "'couple' puts 8 of 8 problems into pairs" in refused
    assert "enter its name under “Column that marks twins”" in refused
    assert "`pair_by" not in refused
    named = _proposed(send, file=file, pair_by=pair_by)
    assert (named.state, named.came["new"], named.came["twins"]) == ("shown", 8, twins)


def test_gold_comes_in_as_the_command_lets_it(db: Any, send: Any, done: Any) -> None:
    """A question without a reason is left out by its line; the other is asked of judges."""
    job = _proposed(send, file=GOLD, as_="gold")
    assert [line.partition(" does")[0].split(": ")[0] for line in job.came["told"]] == [
        "cups.csv:3"
    ]
    assert done(job).came["added"] == 1
    assert get_askable_questions().get().as_gold.explanation == "Small boxes are small."


def test_another_file_of_the_same_name_gets_ids_of_its_own(db: Any, send: Any, done: Any) -> None:
    """Two files that both are called cups.csv come in, each once, however often it is sent."""
    both = (CUPS, CUPS.replace("cup", "bowl"))
    assert [done(_proposed(send, file=rows)).came["added"] for rows in both] == [2, 2]
    for rows in both:
        again = _proposed(send, file=rows)
        assert (again.came["new"], again.came["known"], again.came["refused"]) == (0, 2, 0)
    assert Problem.objects.count() == 4


def test_published_sentences_are_only_compared(db: Any, send: Any, done: Any) -> None:
    """They are remembered under the file's name, and are no problems of the site."""
    assert done(_proposed(send, file=CUPS, as_="published")).came["added"] == 2
    assert not Problem.objects.exists()
    assert set(Remembered.objects.values_list("source", flat=True)) == {"cups"}


def test_the_same_file_comes_in_once(db: Any, send: Any, done: Any) -> None:
    """Sent again it is shown as known, and adds nothing; under its own ids others are refused."""
    done(_proposed(send, file=CUPS))
    again = _proposed(send, file=CUPS)
    assert (again.came["new"], again.came["known"]) == (0, 2)
    assert done(again).came["added"] == 0
    assert Problem.objects.count() == 2
    done(_proposed(send, file=CUPS, new_ids=""))
    other = CUPS.replace("cup", "can")
    answer = send("/admin/import/", file=other, as_="judging", source="Mine")
    assert answer.status_code == 422
    assert "cups.csv:2: the site already has another problem" in answer.content.decode().replace(
        "&#x27;", "'"
    )


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("", "empty"),
        (
            "one,two\n1,2\n",
            "cups.csv:1: no known format fits its content; a table needs the columns sentence",
        ),
        (
            "context,two\nA cup fell.,x\nThe _ fell.,The _ broke.\nThe _ fell.,The _ broke.\n",
            "a table needs the columns sentence",
        ),
        ("PAR1\nand the rest", "Parquet table, not text; save it as CSV UTF-8"),
        (b"\x89PNG\r\n\x1a\n\0\0", "the file is an image; data in rows and columns is required"),
        ("BZh91AY&SY", "the file is compressed; unpack it first"),
        ("PK\x03\x04", "save a workbook as CSV UTF-8"),
        (
            "a,b\n“c”,d\n".encode("cp1252"),
            "(cp1252), which reads &#x27;“c”,d&#x27; here (or in another encoding, such as "
            "cp1250); save it as CSV UTF-8<",
        ),
        (f"{HEAD}\nNo blank is here.,cup,jug,1\n", "No problem can be imported."),
        ("\0\1\2", "cups.csv"),
        ("x" * 900_001, "at most 0.9 MB"),
    ],
)
def test_a_file_that_cannot_be_used_brings_the_form_back(
    db: Any, send: Any, kept: Path, file: str | bytes, told: str
) -> None:
    """What is wrong stands at the field, what else was typed is there, and nothing is kept."""
    answer = send("/admin/import/", file=file, as_="valid", source="My own set", embargo="on")
    page = answer.content.decode()
    assert answer.status_code == 422
    assert told in page
    assert "My own set" in page
    assert 'value="valid" required id="id_as__1" checked' in page
    main = page.partition("<main")[2]
    assert "--" not in main  # no option of a command of ours
    assert "`" not in main  # no parameter of the library
    assert not Job.objects.exists()
    assert not list((kept / "uploads").glob("*"))


def test_what_nobody_confirms_is_dropped(db: Any, send: Any, kept: Path, done: Any) -> None:
    """After a day the file is gone, and it can be confirmed no more; a younger one stays."""
    old, young = _proposed(send, file=CUPS), _proposed(send, file=GOLD, as_="gold")
    Job.objects.filter(pk=old.pk).update(at=timezone.now() - timedelta(hours=25))
    with TestCase.captureOnCommitCallbacks(execute=True):
        assert delete_old_rows()["run"] == 1
    assert (old.file.exists(), young.file.exists()) == (False, True)
    with pytest.raises(InputError):
        done(old)


def test_a_file_without_a_deed_is_dropped(db: Any, kept: Path) -> None:
    """What is left of a form that was never noted goes after a day."""
    (kept / "uploads").mkdir()
    for name, hours in (("old", 25), ("young", 1)):
        (kept / "uploads" / name).write_text("x")
        os.utime(kept / "uploads" / name, (time.time() - 3600 * hours,) * 2)
    delete_old_rows()
    assert [path.name for path in (kept / "uploads").iterdir()] == ["young"]


def test_others_write_while_a_file_is_looked_at(
    database: Any, send: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a file of problems nor that of a test is read within a transaction."""
    within = []
    real = files.read_file

    def look_at(*asked: Any) -> Any:
        within.append(connection.in_atomic_block)
        return real(*asked)

    monkeypatch.setattr(files, "read_file", look_at)
    monkeypatch.setattr(human_tests, "read_file", look_at)
    _proposed(send, file=CUPS)
    assert send("/admin/tests/", file=CUPS, name="x", title="x", orders="1").status_code == 302
    assert within == [False, False]


def test_a_file_that_is_sent_twice_is_kept_once(
    database: Any, adam: Any, visit: Any, kept: Path
) -> None:
    """A double click leads to one job, and leaves one file."""
    key, browser = new_key(), visit(adam)
    to = {
        browser.post("/admin/import/", {
            "key": key, "as_": "judging", "file": SimpleUploadedFile("cups.csv", CUPS.encode()),
        })["Location"]
        for _ in "12"
    }  # fmt: skip
    assert len(to) == 1
    assert [path.name for path in (kept / "uploads").iterdir()] == [to.pop().split("/")[-2]]


@pytest.mark.parametrize("as_", ["judging", "published"])
def test_a_problem_with_nul_is_left_out(db: Any, send: Any, as_: str) -> None:
    """It is named by its line, whatever becomes of the others; a backslash before a u is no NUL."""
    file = f"{CUPS}The c\0p fell on the _.,cup,jug,1\nThe \\u0000 fell on the _.,cup,jug,1\n"
    job = _proposed(send, file=file, as_=as_)
    assert job.came["told"] == [
        "cups.csv:4: it contains a NUL character, which PostgreSQL can't store"
    ]
    assert job.total == 3


def test_a_dropped_file_is_gone(db: Any, send: Any) -> None:
    """Whoever drops it is told so; confirmed afterwards, it is refused."""
    job = _proposed(send, file=CUPS)
    jobs = send("/admin/jobs/", method="get").content.decode()
    assert "to be confirmed" in jobs
    assert 'Finished jobs of admins are in the <a href="/admin/log/">' in jobs
    path = f"/admin/jobs/{job.mark}/confirm/"
    with TestCase.captureOnCommitCallbacks(execute=True):
        assert send(path, do="drop").status_code == 302
    assert not job.file.exists()
    assert send(path, do="confirm").status_code == 409
    assert Job.objects.get(pk=job.pk).state == "dropped"


def _pieces(send: Callable[..., Any], data: bytes, size: int, mark: str) -> list[int]:
    """Send a file in pieces as the script does; return what each came to."""
    return [
        send(f"/admin/files/{mark}/?at={at}", body=data[at : at + size]).status_code
        for at in range(0, len(data), size)
    ]


def _sent(mark: str, data: bytes, **more: str) -> dict[str, str]:
    """Return the form that says under which mark the pieces lie."""
    return {"as_": "judging", "new_ids": "on", "sent": mark, "sent_name": "/all/big.csv",
            "sent_bytes": str(len(data)), **more}  # fmt: skip


def _large(count: int) -> bytes:
    """Return a file of so many twins, of which no two are alike."""
    rows = [
        f"The {n:x} cup hit the {n:x} jug and the _ broke because it was {word}.,cup,jug,{answer}"
        for n in range(count)
        for word, answer in (("thin", 1), ("old", 2))
    ]
    return "\n".join([HEAD, *rows]).encode()


def test_a_large_file_comes_in_pieces_and_is_read_by_a_thread(
    database: Any, send: Any, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than one request holds is kept, read, shown and let in as a small file is."""
    data, mark = _large(20), new_key()
    monkeypatch.setattr("winosmith.web.run.files.CHUNK_BYTES", piece := 1000)
    assert send("/admin/import/", file=data.decode(), as_="judging").status_code == 422
    assert _pieces(send, data, piece, mark) == [204] * -(-len(data) // piece)
    path = kept / "uploads" / mark
    assert path.read_bytes() == data
    assert path.stat().st_mode & 0o077 == 0
    answer = send("/admin/import/", **_sent(mark, data, as_="published"))
    assert answer["Location"] == f"/admin/jobs/{mark}/"
    work_off()
    job = Job.objects.get(mark=mark)
    assert (job.state, job.error, job.total) == ("shown", "", 40)
    assert job.asked["file"] == "big.csv"
    assert not Problem.objects.exists()
    send(f"/admin/jobs/{mark}/confirm/", do="drop")
    assert not path.exists()


def test_a_piece_that_is_sent_again_changes_nothing(db: Any, send: Any, kept: Path) -> None:
    """After a lost answer the same piece is taken again; one after a gap is refused."""
    data, mark = CUPS.encode(), new_key()
    assert _pieces(send, data, 50, mark) == [204] * -(-len(data) // 50)
    assert send(f"/admin/files/{mark}/?at=50", body=data[50:100]).status_code == 204
    assert (kept / "uploads" / mark).read_bytes() == data
    assert send(f"/admin/files/{new_key()}/?at=50", body=b"x").status_code == 422
    assert send(f"/admin/files/{mark}/?at={len(data) + 1}", body=b"x").status_code == 422
    assert send(f"/admin/files/{mark}/?at=0", body=b"new").status_code == 204
    assert (kept / "uploads" / mark).read_bytes() == b"new"


@pytest.mark.parametrize(
    ("mark", "at"), [("x" * 32, "0"), ("0" * 31, "0"), ("0" * 32, "-1"), ("0" * 32, ""),
                     ("0" * 32, "9" * 13)],
)  # fmt: skip
def test_a_piece_has_a_mark_and_a_place(db: Any, send: Any, kept: Path, mark: str, at: str) -> None:
    """Anything else is no address, and writes nothing."""
    assert send(f"/admin/files/{mark}/?at={at}", body=b"x").status_code == 404
    assert not list((kept / "uploads").glob("*"))


def test_no_file_grows_beyond_the_bound(db: Any, send: Any, kept: Path, rules: Any) -> None:
    """A piece that reaches beyond what the operator allows is refused, and not written."""
    rules(upload_mb=1)
    mark = new_key()
    assert _pieces(send, bytes(1_000_000), 500_000, mark) == [204, 204]
    assert send(f"/admin/files/{mark}/?at=999000", body=bytes(1_001)).status_code == 422
    refused = send(f"/admin/files/{mark}/?at=999001", body=bytes(1_000))
    assert refused.status_code == 422
    assert b"1.0 MB; the limit in the browser is 1" in refused.content
    assert (kept / "uploads" / mark).stat().st_size == 1_000_000


def test_all_files_together_have_a_bound(db: Any, send: Any, kept: Path, rules: Any) -> None:
    """Under however many marks pieces come, they fill five files' room; what is there goes on.

    Where there is none, what was cancelled makes room.
    """
    rules(upload_mb=1)
    marks = [new_key() for _ in range(MAX_FILES)]
    for mark in marks:
        assert _pieces(send, bytes(990_000), 495_000, mark) == [204, 204]
    refused = send(f"/admin/files/{new_key()}/?at=0", body=bytes(60_000))
    assert refused.status_code == 422
    assert b"use all the space" in refused.content
    assert len(list((kept / "uploads").iterdir())) == MAX_FILES
    assert send(f"/admin/files/{marks[0]}/?at=990000", body=bytes(10_000)).status_code == 204
    assert send(f"/admin/files/{new_key()}/?at=0", body=bytes(40_000)).status_code == 204
    broken_off = [kept / "uploads" / mark for mark in marks[1:3]]
    for path in broken_off:
        os.utime(path, (time.time() - 700,) * 2)
    gap = send(f"/admin/files/{marks[1]}/?at=990000", body=bytes(10_000))
    assert (gap.status_code, b"Part of the file is missing" in gap.content) == (422, True)
    assert not any(path.exists() for path in broken_off)
    assert send(f"/admin/files/{new_key()}/?at=0", body=bytes(60_000)).status_code == 204


def test_how_much_of_a_file_is_read_is_told(
    database: Any, send: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits sees the share of the work that is done grow; a stop then ends the reading.

    What can't be told, for others have the database, is left out.
    """
    monkeypatch.setattr(jobs, "REPORT_SECONDS", 0.0)
    monkeypatch.setattr("winosmith.formats._rows.PROGRESS_INTERVAL", 10)
    data, mark = _large(20), new_key()
    _pieces(send, data, 900, mark)
    send("/admin/import/", **_sent(mark, data, as_="published"))
    page, real, told = f"/admin/jobs/{mark}/", jobs._update_row, list[str]()

    def noted(job: Any, **columns: Any) -> None:
        real(job, **columns)
        if len(told) == 1:  # and others have the database meanwhile
            told.append("taken")
            raise OperationalError
        if "read" in columns.get("came", {}):
            told.extend(
                re.findall(r"</progress> (\d+) %", send(page, method="get").content.decode())
            )
            if len(told) == 4:
                send(f"{page}confirm/", do="stop")

    monkeypatch.setattr(jobs, "_update_row", noted)
    work_off()
    assert told == ["2", "taken", "32", "46"]
    assert Job.objects.get(mark=mark).state == "stopped"


def test_the_log_tells_long_texts_in_short(db: Any, send: Any, adam: Any) -> None:
    """A text of pages stands whole where its job is told, and in the log with its first words."""
    text = "You answer questions. " * 40 + "The end."
    job = create_job(adam, "test", {"name": "spring", "consent": text})
    log = send("/admin/log/", method="get").content.decode()
    assert "You answer questions." in log
    assert "The end." not in log
    assert "The end." in send(f"/admin/jobs/{job.mark}/", method="get").content.decode()


def test_a_file_that_did_not_come_whole_is_not_read(db: Any, send: Any, kept: Path) -> None:
    """Neither one of another size nor one that nobody sent makes a job."""
    data, mark = CUPS.encode(), new_key()
    _pieces(send, data[:-1], 900, mark)
    for form in (_sent(mark, data), _sent(new_key(), data)):
        answer = send("/admin/import/", **form)
        assert answer.status_code == 422
        assert "The upload is incomplete" in answer.content.decode()
    assert not Job.objects.exists()


def test_nothing_is_put_into_a_file_that_was_shown(database: Any, send: Any) -> None:
    """Once there is a job its file stays as it is; the form sent again leads to that job."""
    data, mark = CUPS.encode(), new_key()
    _pieces(send, data, 900, mark)
    to = {send("/admin/import/", **_sent(mark, data))["Location"] for _ in "12"}
    assert to == {f"/admin/jobs/{mark}/"}
    work_off()
    assert send(f"/admin/files/{mark}/?at=0", body=b"new").status_code == 422
    assert Job.objects.get().file.read_bytes() == data


def test_what_is_wrong_with_a_large_file_is_told(database: Any, send: Any) -> None:
    """Read by a thread, a file of which nothing can come in fails with its lines, and is gone."""
    data, mark = f"{HEAD}\nNo blank is here.,cup,jug,1\n".encode(), new_key()
    _pieces(send, data, 900, mark)
    send("/admin/import/", **_sent(mark, data))
    work_off()
    job = Job.objects.get()
    assert job.state == "failed"
    assert "big.csv:2: the sentence has no blank" in job.error
    assert not job.file.exists()


def test_an_import_is_stopped_and_gone_on_with(
    db: Any, send: Any, done: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came in before the stop stays; the same file, sent again, brings the rest."""
    monkeypatch.setattr(importing, "CHUNK", 1)
    four = _large(2).decode()
    job, real = _proposed(send, file=four), importing.import_problems

    def stopping(data: Any, as_: Any, *, on_progress: Callable[[int], object], **more: Any) -> Any:
        def one(count: int) -> None:
            on_progress(count)
            send(f"/admin/jobs/{job.mark}/confirm/", do="stop")

        return real(data, as_, on_progress=one, **more)

    with monkeypatch.context() as patch:
        patch.setattr(importing, "import_problems", stopping)
        with TestCase.captureOnCommitCallbacks(execute=True):
            ended = done(job)
    assert (ended.state, ended.done, ended.ended is None) == ("stopped", 2, False)
    assert not job.file.exists()
    assert Problem.objects.count() == 2
    page = send(f"/admin/jobs/{job.mark}/", method="get").content.decode()
    assert "stopped after 2 of 4 items; finished items are kept" in page
    assert send(f"/admin/jobs/{job.mark}/confirm/", do="stop").status_code == 409
    again = done(_proposed(send, file=four))
    assert (again.came["added"], again.came["known"]) == (2, 2)
    assert Job.objects.filter(state="stopped").count() == 1


def test_what_waits_to_be_read_can_be_stopped(db: Any, send: Any, adam: Any, kept: Path) -> None:
    """Its file goes, and no thread takes it up; what is shown, or ended, can't be stopped."""
    job = Job.objects.create(actor=adam, kind="import", asked={"file": "x"}, state="reading")
    (kept / "uploads").mkdir(exist_ok=True)
    job.file.write_text(CUPS)
    with TestCase.captureOnCommitCallbacks(execute=True):
        job.stop(adam)
    work_off()
    assert (fresh(job).state, job.came) == ("stopped", {})
    assert not job.file.exists()
    with pytest.raises(InputError):
        _proposed(send, file=CUPS).stop(adam)


def test_who_decided_is_in_the_log_beside_who_asked(
    db: Any, send: Any, person: Any, visit: Any
) -> None:
    """What one admin proposed and another one confirmed is both's; alone, nobody stands twice."""
    first, second = _proposed(send, file=CUPS), _proposed(send, file=GOLD, as_="gold")
    other = visit(person("berta", is_superuser=True))
    other.post(f"/admin/jobs/{first.mark}/confirm/", {"key": new_key(), "do": "confirm"})
    send(f"/admin/jobs/{second.mark}/confirm/", do="drop")
    told = Job.objects.order_by("pk").values_list("actor__name", "decided__name", "state")
    assert list(told) == [("adam", "berta", "waiting"), ("adam", "adam", "dropped")]
    assert send("/admin/log/", method="get").content.decode().count("decided by berta") == 1


@pytest.mark.parametrize("do", [{}, {"do": "publish"}])
def test_nothing_is_confirmed_that_nobody_confirmed(db: Any, send: Any, do: dict[str, str]) -> None:
    """A form that does not say what is to be done does nothing."""
    job = _proposed(send, file=CUPS)
    assert send(f"/admin/jobs/{job.mark}/confirm/", **do).status_code == 404
    assert (fresh(job).state, job.decided) == ("shown", None)


def test_a_file_that_is_gone_is_told_as_gone(db: Any, adam: Any) -> None:
    """A site that was restored while a file was to be read has the job, and asks for the file."""
    asked = {"file": "x", "as": "judging", "format": "", "pair_by": "", "new_ids": True}
    job = Job.objects.create(actor=adam, kind="import", asked=asked, state="reading")
    work_off()
    assert (fresh(job).state, job.error) == (
        "failed",
        "The file no longer exists; upload it again.",
    )


def test_a_file_that_is_picked_takes_the_place_of_pieces_before(
    db: Any, send: Any, kept: Path
) -> None:
    """A form that came back knows its pieces; whoever picks another file then sends that one."""
    data, mark = GOLD.encode(), new_key()
    _pieces(send, data, 900, mark)
    send("/admin/import/", **_sent(mark, data), file=CUPS)
    job = Job.objects.get()
    assert (job.state, job.asked["file"], job.came["new"]) == ("shown", "cups.csv", 2)


def test_pieces_outlive_a_moment_in_which_nothing_can_be_written(
    db: Any, send: Any, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the database was taken, the form sent again finds what was sent before it."""

    def taken(*_: Any, **__: Any) -> None:
        raise OperationalError("database is locked")

    data, mark = CUPS.encode(), new_key()
    _pieces(send, data, 900, mark)
    with monkeypatch.context() as patch:
        patch.setattr(Job, "save", taken)
        with pytest.raises(OperationalError):
            send("/admin/import/", **_sent(mark, data))
    assert send("/admin/import/", **_sent(mark, data))["Location"] == f"/admin/jobs/{mark}/"


def test_a_form_is_no_piece(db: Any, send: Any, kept: Path) -> None:
    """The bytes of a file come as they are; anything else is refused, and written nowhere."""
    assert send(f"/admin/files/{'0' * 32}/?at=0", file=CUPS).status_code == 415
    assert not list((kept / "uploads").glob("*"))
