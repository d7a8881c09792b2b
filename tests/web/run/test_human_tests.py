"""Human tests that are opened, closed and published in the browser."""

from typing import Any

import pytest
from django.db import connection

from tests.web.making import fresh
from tests.web.run.conftest import job_of
from tests.web.run.visits import SCHEMAS
from tests.web.take.conftest import fill
from tests.web.working import work_off
from winosmith.web.jobs import Job
from winosmith.web.problems.models import Event, Problem
from winosmith.web.take import rounds
from winosmith.web.take.models import Round
from winosmith.web.take.sheets import assign_sheet

TEST = {"name": "spring", "title": "Which one?", "orders": "1", "new_ids": "on"}


def test_human_test_is_opened_after_confirmation(db, send, done):
    job = job_of(send("/admin/tests/", file=SCHEMAS, **TEST, consent="Read on.\r\n"))
    assert not Round.objects.exists()
    assert not Problem.objects.exists()
    assert sum(questions for _name, questions in job.came["sheets"]) == 6
    ended = done(job)
    assert (ended.state, ended.error) == ("done", "")
    opened = Round.objects.get()
    assert (opened.name, opened.title, opened.consent) == ("spring", "Which one?", "Read on.")
    assert ended.came["sheets"] == [[s.code, len(s.record["items"])] for s in opened.sheets.all()]
    assert set(Problem.objects.values_list("embargo", "state")) == {(True, "valid")}
    for path in (f"/admin/jobs/{job.mark}/", "/admin/tests/"):
        assert ">http://testserver/tests/round/spring/<" in send(path, method="get").text


def test_repeated_job_opens_a_human_test_only_once(db, send, done):
    """After an interruption, the job may run again, even after its last step."""
    job = done(job_of(send("/admin/tests/", file=SCHEMAS, **TEST)))
    Job.objects.filter(pk=job.pk).update(state="running", came={})
    work_off()
    ended = Job.objects.get(pk=job.pk)
    assert (ended.state, ended.came) == ("done", job.came)
    assert Round.objects.count() == 1


def test_second_human_test_of_one_name_fails(db, send, done):
    """Both can be previewed; the one confirmed later fails."""
    first = job_of(send("/admin/tests/", file=SCHEMAS, **TEST))
    second = job_of(send("/admin/tests/", file=SCHEMAS, **{**TEST, "title": ""}))
    assert done(second).state == "done"
    late = done(first)
    assert (late.state, "a test named" in late.error) == ("failed", True)
    assert Round.objects.get().title == "Who or what is meant?"


@pytest.mark.parametrize(
    ("file", "others", "told"),
    [
        (f"{SCHEMAS}\nNo blank.,cup,jug,1", {}, "cups.csv:8: the sentence has no blank"),
        (SCHEMAS.replace(",1", ","), {}, "has no answer"),
        (SCHEMAS, {"name": "taken"}, "a test named"),
        (SCHEMAS, {"orders": "0"}, "Enter 1 or more."),
        (SCHEMAS, {"orders": "101"}, "Enter 100 or less."),
        (SCHEMAS, {"name": "über uns"}, "Use only letters, digits, - and _."),
        (SCHEMAS, {"format": "xls"}, "“xls” is not one of the choices; choose another one."),
        (SCHEMAS, {"name": ""}, "required"),
    ],
)
def test_invalid_human_test_is_refused_and_the_form_kept(db, send, file, others, told):
    """One faulty line refuses the whole file."""
    Round.objects.create(name="taken", title="x", data="x", seed=0, consent="x")
    answer = send("/admin/tests/", file=file, **{**TEST, "consent": "Read on.", **others})
    page = answer.text
    assert answer.status_code == 422
    assert told in page
    assert "Read on." in page
    assert not Job.objects.exists()


def test_unfinished_sheets_keep_a_human_test_open(db, send, done, ann):
    """They can be counted as given up."""
    done(job_of(send("/admin/tests/", file=SCHEMAS, **TEST)))
    assign_sheet(ann, Round.objects.get())
    refused = send("/admin/tests/spring/close/")
    assert refused.status_code == 409
    assert "1 sheet is still in progress" in refused.text
    closed = send("/admin/tests/spring/close/", drop="1")
    assert closed["Location"] == "/tests/progress/spring/"
    assert Round.objects.get().state == "closed"
    job = Job.objects.latest("pk")
    assert (job.asked, job.actor.name) == ({"name": "spring", "drop": True}, "adam")


def test_results_are_computed_outside_of_transactions(database, send, done, ann, monkeypatch):
    """The page waits for them. A worker killed after storing them stores the same again."""
    done(job_of(send("/admin/tests/", file=SCHEMAS, **TEST)))
    within, real = [], rounds.compute_results
    fill(ann, assign_sheet(ann, Round.objects.get()))

    def figures_of(*asked: Any) -> Any:
        within.append(connection.in_atomic_block)
        return real(*asked)

    monkeypatch.setattr(rounds, "compute_results", figures_of)
    path = send("/admin/tests/spring/close/")["Location"]
    assert within == []
    assert "not been computed yet" in send(path, method="get").text
    work_off()
    found = Round.objects.get().figures
    assert (within, found["answers"] > 0) == ([False], True)
    assert "questions shown" in send(path, method="get").text
    Job.objects.filter(kind="test-close").update(state="running")
    assert "are being computed" in send(path, method="get").text
    work_off()
    assert Round.objects.get().figures == found


def test_admin_can_retry_failed_results(db, send, done, monkeypatch):
    done(job_of(send("/admin/tests/", file=SCHEMAS, **TEST)))
    with monkeypatch.context() as patch:
        patch.setattr(rounds, "load_sittings", lambda _round: 1 / 0)
        path = send("/admin/tests/spring/close/")["Location"]
        work_off()
    job = Job.objects.get(kind="test-close")
    page = send(path, method="get").text
    assert ("could not be computed" in page, f"/admin/jobs/{job.mark}/" in page) == (True, True)
    send(f"/admin/jobs/{job.mark}/confirm/", do="retry")
    work_off()
    assert "Nobody has submitted" in send(path, method="get").text
    assert path in send(f"/admin/jobs/{job.mark}/", method="get").text


def test_human_test_is_published_after_confirmation(db, send, done, ann):
    done(job_of(send("/admin/tests/", file=SCHEMAS, **TEST)))
    assert send("/admin/tests/spring/publish/").status_code == 409
    fill(ann, assign_sheet(ann, Round.objects.get()))
    send("/admin/tests/spring/close/")
    work_off()
    job, same = (job_of(send("/admin/tests/spring/publish/")) for _ in "12")
    asked = job.came["used"]
    assert job.came == {"used": asked, "alternates": 6 - asked, "withheld": 0}
    assert not Problem.objects.filter(public=True).exists()
    ended = done(job)
    assert (ended.state, ended.came, ended.asked) == ("done", job.came, {"name": "spring"})
    assert Problem.objects.filter(public=True).count() == 6
    actors = Event.objects.filter(kind="publish").values_list("actor__name", flat=True)
    assert set(actors) == {"adam"}
    assert Round.objects.get().published
    type(job).objects.filter(pk=job.pk).update(state="running")  # interrupted at the end
    work_off()
    assert (fresh(ended).state, ended.came) == ("done", job.came)
    late = done(same)
    assert (late.state, "was already published" in late.error) == ("failed", True)
    again = send("/admin/tests/spring/publish/")
    assert (again.status_code, "was already published" in again.text) == (409, True)
