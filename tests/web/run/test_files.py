"""Files that an admin uploads: preview, refused lines, and import."""

import os
import re
import time
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError, connection
from django.test import TestCase
from django.utils import timezone

from tests.web.making import fresh
from tests.web.run.conftest import job_of
from tests.web.run.visits import CUPS, HEAD, make_file
from tests.web.working import work_off
from winosmith.errors import InputError
from winosmith.web import importing, jobs
from winosmith.web.jobs import Job, create_job
from winosmith.web.judge.trust import get_askable_questions
from winosmith.web.people.gates import new_key
from winosmith.web.people.privacy import delete_old_rows
from winosmith.web.problems.models import Problem, Remembered
from winosmith.web.run import files, human_tests
from winosmith.web.run.files import MAX_FILES

GOLD = (
    f"{HEAD},gold.explanation\n"
    "The big cup did not fit into the box as the _ was small.,cup,box,2,Small boxes are small.\n"
    "The big jug did not fit into the bag as the _ was small.,jug,bag,2,\n"
)

BAD = f"{CUPS}No blank is here.,cup,jug,1\nThe _ and the _ fell.,cup,jug,2\n,cup,jug,1\n"
BAD += "The jug fell on the _ of the can.,cup,jug,\n"


def _upload(send: Callable[..., Any], **form: Any) -> Any:
    """Upload a file; return the job to be confirmed."""
    return job_of(send("/admin/import/", **{"as_": "judging", "new_ids": "on", **form}))


def test_nothing_is_imported_before_confirmation(db, send, kept, done):
    job = _upload(send, file=BAD)
    assert (job.state, job.came["new"], job.came["refused"]) == ("shown", 2, 4)
    assert job.came["faults"] == [
        "cups.csv:4: the sentence has no blanks ('_'); 1 is needed",
        "cups.csv:5: the sentence has 2 blanks ('_'); 1 is needed",
        "cups.csv:6: the sentence is empty",
        "cups.csv:7: the problem has no answer, which judging requires",
    ]
    page = send(f"/admin/jobs/{job.mark}/", method="get").text
    assert "The file was read as a spreadsheet, saved as CSV UTF-8." in page
    assert "found by their texts: no id or column marks twins<" in page
    assert not Problem.objects.exists()
    assert job.file.stat().st_mode & 0o077 == 0
    job = done(job)
    assert (job.state, job.came["added"], job.came["refused"]) == ("done", 2, 4)
    assert set(Problem.objects.values_list("state", "gold")) == {("judging", False)}
    assert not job.file.exists()


@pytest.mark.parametrize(("pair_by", "twins"), [("couple", 4), ("-", 0)])
def test_form_asks_which_column_marks_twins(db, send, pair_by, twins):
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
    refused = unescape(page.text)
    assert "'couple' puts 8 of 8 problems into pairs" in refused
    assert "enter its name under “Column that marks twins”" in refused
    assert "`pair_by" not in refused
    named = _upload(send, file=file, pair_by=pair_by)
    assert (named.state, named.came["new"], named.came["twins"]) == ("shown", 8, twins)


def test_preview_shows_how_the_columns_were_read(db, send):
    file = "item,option_a,option_b,key,by\nThe _ is red.,a rose,grass,A,me\n"
    file += "The _ is green.,a rose,grass,B,me\n"
    job = _upload(send, file=file)
    page = unescape(send(f"/admin/jobs/{job.mark}/", method="get").text)
    read = "cups.csv: the question is 'item'; the choices are 'option_a', 'option_b'; the answer is"
    assert f"{read} 'key' (letters); no column is used as the id; other columns: 'by'." in page


def test_gold_without_an_explanation_is_omitted(db, send, done):
    job = _upload(send, file=GOLD, as_="gold")
    assert [line.partition(" does")[0].split(": ")[0] for line in job.came["faults"]] == [
        "cups.csv:3"
    ]
    assert done(job).came["added"] == 1
    assert get_askable_questions().get().as_gold.explanation == "Small boxes are small."


def test_same_file_is_imported_once(db, send, done):
    """Another file of this name gets other ids. Its own ids, if kept, may be in use."""
    both = (CUPS, CUPS.replace("cup", "bowl"))
    assert [done(_upload(send, file=rows)).came["added"] for rows in both] == [2, 2]
    for rows in both:
        again = _upload(send, file=rows)
        assert (again.came["new"], again.came["known"], again.came["refused"]) == (0, 2, 0)
        assert done(again).came["added"] == 0
    assert Problem.objects.count() == 4
    done(_upload(send, file=CUPS, new_ids=""))
    other = CUPS.replace("cup", "can")
    answer = send("/admin/import/", file=other, as_="judging", source="Mine")
    assert answer.status_code == 422
    assert "cups.csv:2: the site already has another problem" in unescape(answer.text)


def test_published_sentences_are_indexed_but_not_imported(db, send, done):
    assert done(_upload(send, file=CUPS, as_="published")).came["added"] == 2
    assert not Problem.objects.exists()
    assert set(Remembered.objects.values_list("source", flat=True)) == {"cups"}


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
def test_unusable_file_is_refused_and_the_form_kept(db, send, kept, file, told):
    answer = send("/admin/import/", file=file, as_="valid", source="My own set", embargo="on")
    page = answer.text
    assert answer.status_code == 422
    assert told in page
    assert "My own set" in page
    assert 'value="valid" required id="id_as__1" checked' in page
    main = page.partition("<main")[2]
    assert "--" not in main  # no command-line option
    assert "`" not in main  # no parameter of the library
    assert not Job.objects.exists()
    assert not list((kept / "uploads").glob("*"))


def test_unconfirmed_upload_is_deleted_after_a_day(db, send, kept, done):
    old, young = _upload(send, file=CUPS), _upload(send, file=GOLD, as_="gold")
    Job.objects.filter(pk=old.pk).update(at=timezone.now() - timedelta(hours=25))
    with TestCase.captureOnCommitCallbacks(execute=True):
        assert delete_old_rows()["run"] == 1
    assert (old.file.exists(), young.file.exists()) == (False, True)
    with pytest.raises(InputError):
        done(old)


def test_file_without_a_job_is_deleted_after_a_day(db, kept):
    (kept / "uploads").mkdir()
    for name, hours in (("old", 25), ("young", 1)):
        (kept / "uploads" / name).write_text("x")
        os.utime(kept / "uploads" / name, (time.time() - 3600 * hours,) * 2)
    delete_old_rows()
    assert [path.name for path in (kept / "uploads").iterdir()] == ["young"]


def test_uploads_are_read_outside_of_transactions(database, send, monkeypatch):
    """Others can write meanwhile."""
    within = []
    real = files.read_file

    def look_at(*asked: Any) -> Any:
        within.append(connection.in_atomic_block)
        return real(*asked)

    monkeypatch.setattr(files, "read_file", look_at)
    monkeypatch.setattr(human_tests, "read_file", look_at)
    _upload(send, file=CUPS)
    assert send("/admin/tests/", file=CUPS, name="x", title="x", orders="1").status_code == 302
    assert within == [False, False]


def test_file_sent_twice_is_stored_once(database, adam, visit, kept):
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
def test_problem_with_a_nul_character_is_omitted(db, send, as_):
    """An escape sequence, as plain text, is allowed."""
    file = f"{CUPS}The c\0p fell on the _.,cup,jug,1\nThe \\u0000 fell on the _.,cup,jug,1\n"
    job = _upload(send, file=file, as_=as_)
    assert job.came["faults"] == [
        "cups.csv:4: it contains a NUL character, which PostgreSQL can't store"
    ]
    assert job.total == 3


def test_dropped_upload_is_deleted_and_unconfirmable(db, send):
    job = _upload(send, file=CUPS)
    jobs = send("/admin/jobs/", method="get").text
    assert "to be confirmed" in jobs
    assert 'Finished jobs of admins are in the <a href="/admin/log/">' in jobs
    path = f"/admin/jobs/{job.mark}/confirm/"
    with TestCase.captureOnCommitCallbacks(execute=True):
        assert send(path, do="drop").status_code == 302
    assert not job.file.exists()
    assert send(path, do="confirm").status_code == 409
    assert Job.objects.get(pk=job.pk).state == "dropped"


def _send_pieces(send: Callable[..., Any], data: bytes, size: int, mark: str) -> list[int]:
    """Send a file in pieces as the script does; return the status codes."""
    return [
        send(f"/admin/files/{mark}/?at={at}", body=data[at : at + size]).status_code
        for at in range(0, len(data), size)
    ]


def _make_form(mark: str, data: bytes, **more: str) -> dict[str, str]:
    """Return the form that refers to the pieces by their mark."""
    return {"as_": "judging", "new_ids": "on", "sent": mark, "sent_name": "/all/big.csv",
            "sent_bytes": str(len(data)), **more}  # fmt: skip


def test_large_file_is_sent_in_pieces_and_read_by_the_worker(database, send, kept, monkeypatch):
    data, mark = make_file(20).encode(), new_key()
    monkeypatch.setattr("winosmith.web.run.files.CHUNK_BYTES", piece := 1000)
    assert send("/admin/import/", file=data.decode(), as_="judging").status_code == 422
    assert _send_pieces(send, data, piece, mark) == [204] * -(-len(data) // piece)
    path = kept / "uploads" / mark
    assert path.read_bytes() == data
    assert path.stat().st_mode & 0o077 == 0
    answer = send("/admin/import/", **_make_form(mark, data, as_="published"))
    assert answer["Location"] == f"/admin/jobs/{mark}/"
    work_off()
    job = Job.objects.get(mark=mark)
    assert (job.state, job.error, job.total) == ("shown", "", 40)
    assert job.asked["file"] == "big.csv"
    assert not Problem.objects.exists()
    send(f"/admin/jobs/{mark}/confirm/", do="drop")
    assert not path.exists()


def test_resent_piece_changes_nothing(db, send, kept):
    """A piece after a gap is refused; a piece at position 0 starts the file again."""
    data, mark = CUPS.encode(), new_key()
    assert _send_pieces(send, data, 50, mark) == [204] * -(-len(data) // 50)
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
def test_invalid_mark_or_position_of_a_piece_is_not_found(db, send, kept, mark, at):
    assert send(f"/admin/files/{mark}/?at={at}", body=b"x").status_code == 404
    assert not list((kept / "uploads").glob("*"))


def test_piece_over_the_size_limit_is_refused(db, send, kept, rules):
    rules(upload_mb=1)
    mark = new_key()
    assert _send_pieces(send, bytes(1_000_000), 500_000, mark) == [204, 204]
    assert send(f"/admin/files/{mark}/?at=999000", body=bytes(1_001)).status_code == 422
    refused = send(f"/admin/files/{mark}/?at=999001", body=bytes(1_000))
    assert refused.status_code == 422
    assert b"1.0 MB; the limit in the browser is 1" in refused.content
    assert (kept / "uploads" / mark).stat().st_size == 1_000_000


def test_all_uploads_together_have_a_limit(db, send, kept, rules):
    """Uploads in progress can continue; abandoned uploads are deleted to make room."""
    rules(upload_mb=1)
    marks = [new_key() for _ in range(MAX_FILES)]
    for mark in marks:
        assert _send_pieces(send, bytes(990_000), 495_000, mark) == [204, 204]
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


def test_progress_of_reading_is_shown_and_a_stop_ends_it(database, send, monkeypatch):
    """A report is skipped while the database is locked."""
    monkeypatch.setattr(jobs, "REPORT_SECONDS", 0.0)
    monkeypatch.setattr("winosmith.formats._rows.PROGRESS_INTERVAL", 10)
    data, mark = make_file(20).encode(), new_key()
    _send_pieces(send, data, 900, mark)
    send("/admin/import/", **_make_form(mark, data, as_="published"))
    page, real, told = f"/admin/jobs/{mark}/", jobs._update_row, list[str]()

    def noted(job: Any, **columns: Any) -> None:
        real(job, **columns)
        if len(told) == 1:  # the database is locked
            told.append("taken")
            raise OperationalError
        if "read" in columns.get("came", {}):
            told.extend(re.findall(r"</progress> (\d+) %", send(page, method="get").text))
            if len(told) == 4:
                send(f"{page}confirm/", do="stop")

    monkeypatch.setattr(jobs, "_update_row", noted)
    work_off()
    assert told == ["2", "taken", "32", "46"]
    assert Job.objects.get(mark=mark).state == "stopped"


def test_log_abbreviates_long_texts(db, send, adam):
    text = "You answer questions. " * 40 + "The end."
    job = create_job(adam, "test", {"name": "spring", "consent": text})
    log = send("/admin/log/", method="get").text
    assert "You answer questions." in log
    assert "The end." not in log
    assert "The end." in send(f"/admin/jobs/{job.mark}/", method="get").text


def test_incomplete_upload_is_refused(db, send, kept):
    data, mark = CUPS.encode(), new_key()
    _send_pieces(send, data[:-1], 900, mark)
    for form in (_make_form(mark, data), _make_form(new_key(), data)):
        answer = send("/admin/import/", **form)
        assert answer.status_code == 422
        assert "The upload is incomplete" in answer.text
    assert not Job.objects.exists()


def test_file_of_a_job_cannot_be_changed(database, send):
    data, mark = CUPS.encode(), new_key()
    _send_pieces(send, data, 900, mark)
    to = {send("/admin/import/", **_make_form(mark, data))["Location"] for _ in "12"}
    assert to == {f"/admin/jobs/{mark}/"}
    work_off()
    assert send(f"/admin/files/{mark}/?at=0", body=b"new").status_code == 422
    assert Job.objects.get().file.read_bytes() == data


def test_faults_of_a_large_file_are_reported_by_its_job(database, send):
    data, mark = f"{HEAD}\nNo blank is here.,cup,jug,1\n".encode(), new_key()
    _send_pieces(send, data, 900, mark)
    send("/admin/import/", **_make_form(mark, data))
    work_off()
    job = Job.objects.get()
    assert job.state == "failed"
    assert "big.csv:2: the sentence has no blank" in job.error
    assert not job.file.exists()


def test_stopped_import_keeps_its_items_and_can_be_repeated(db, send, done, monkeypatch):
    monkeypatch.setattr(importing, "CHUNK", 1)
    four = make_file(2)
    job, real = _upload(send, file=four), importing.import_problems

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
    page = send(f"/admin/jobs/{job.mark}/", method="get").text
    assert "stopped after 2 of 4 items; finished items are kept" in page
    assert send(f"/admin/jobs/{job.mark}/confirm/", do="stop").status_code == 409
    again = done(_upload(send, file=four))
    assert (again.came["added"], again.came["known"]) == (2, 2)
    assert Job.objects.filter(state="stopped").count() == 1


def test_waiting_upload_can_be_stopped(db, send, adam, kept):
    """A previewed one can't."""
    job = Job.objects.create(actor=adam, kind="import", asked={"file": "x"}, state="reading")
    (kept / "uploads").mkdir(exist_ok=True)
    job.file.write_text(CUPS)
    with TestCase.captureOnCommitCallbacks(execute=True):
        job.stop(adam)
    work_off()
    assert (fresh(job).state, job.came) == ("stopped", {})
    assert not job.file.exists()
    with pytest.raises(InputError):
        _upload(send, file=CUPS).stop(adam)


def test_log_names_who_requested_and_who_decided(db, send, person, visit):
    """An admin who did both is named once."""
    first, second = _upload(send, file=CUPS), _upload(send, file=GOLD, as_="gold")
    other = visit(person("berta", is_superuser=True))
    other.post(f"/admin/jobs/{first.mark}/confirm/", {"key": new_key(), "do": "confirm"})
    send(f"/admin/jobs/{second.mark}/confirm/", do="drop")
    told = Job.objects.order_by("pk").values_list("actor__name", "decided__name", "state")
    assert list(told) == [("adam", "berta", "waiting"), ("adam", "adam", "dropped")]
    assert send("/admin/log/", method="get").text.count("decided by berta") == 1


@pytest.mark.parametrize("do", [{}, {"do": "publish"}])
def test_confirmation_without_a_valid_action_is_refused(db, send, do):
    job = _upload(send, file=CUPS)
    assert send(f"/admin/jobs/{job.mark}/confirm/", **do).status_code == 404
    assert (fresh(job).state, job.decided) == ("shown", None)


def test_missing_file_of_a_job_is_reported(db, adam):
    """A site that was restored before the file was read has the job, but not the file."""
    asked = {"file": "x", "as": "judging", "format": "", "pair_by": "", "new_ids": True}
    job = Job.objects.create(actor=adam, kind="import", asked=asked, state="reading")
    work_off()
    assert (fresh(job).state, job.error) == (
        "failed",
        "The file no longer exists; upload it again.",
    )


def test_selected_file_replaces_pieces_sent_before(db, send, kept):
    """A form that is shown again refers to its earlier pieces."""
    data, mark = GOLD.encode(), new_key()
    _send_pieces(send, data, 900, mark)
    send("/admin/import/", **_make_form(mark, data), file=CUPS)
    job = Job.objects.get()
    assert (job.state, job.asked["file"], job.came["new"]) == ("shown", "cups.csv", 2)


def test_pieces_survive_a_locked_database(db, send, kept, monkeypatch):
    def taken(*_: Any, **__: Any) -> None:
        raise OperationalError("database is locked")

    data, mark = CUPS.encode(), new_key()
    _send_pieces(send, data, 900, mark)
    with monkeypatch.context() as patch:
        patch.setattr(Job, "save", taken)
        with pytest.raises(OperationalError):
            send("/admin/import/", **_make_form(mark, data))
    assert send("/admin/import/", **_make_form(mark, data))["Location"] == f"/admin/jobs/{mark}/"


def test_form_is_refused_as_a_piece(db, send, kept):
    """A piece is sent as raw bytes."""
    assert send(f"/admin/files/{'0' * 32}/?at=0", file=CUPS).status_code == 415
    assert not list((kept / "uploads").glob("*"))
