"""Paid studies that are created and managed in the browser."""

from typing import Any

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.web.making import fresh
from tests.web.market import making as m
from tests.web.run.conftest import job_of
from tests.web.run.visits import STUDY
from winosmith.web.jobs import Job
from winosmith.web.market.models import Study
from winosmith.web.market.studies import digest_id, find_study, is_admitted
from winosmith.web.market.workers import finish_participation
from winosmith.web.people.gates import new_key
from winosmith.web.run.views import describe_request

pytestmark = pytest.mark.usefixtures("db")


def test_study_link_is_shown_once_and_not_stored(adam, visit):
    form, browser = {"key": new_key(), **STUDY}, visit(adam)
    page = browser.post("/admin/studies/", form).text
    token = page.partition("/study/")[2].partition("/")[0]
    assert find_study(token).name == "pilot"
    assert page.count("http://testserver/study/") == 1
    assert '<option value="generic">another market</option>' in page
    again = browser.post("/admin/studies/", form, follow=True).text
    assert token not in again
    rows = [repr(list(m._base_manager.values_list()[:999])) for m in apps.get_models()]
    assert not any(token in row for row in rows)


def test_new_link_replaces_the_old_one(adam, visit, send):
    """A closed study gets no new link."""

    def token(answer: Any) -> str:
        return str(answer.text.partition("/study/")[2].partition("/")[0])

    first = token(send("/admin/studies/", **STUDY))
    for act in ("link", "close"):
        asked = visit(adam).get(f"/admin/studies/pilot/{act}/").text
        assert "can’t be" in asked
        assert find_study(first).closed is None
    second = token(send("/admin/studies/pilot/link/"))
    assert (find_study(first), find_study(second).name) == (None, "pilot")
    pages = [visit().get(f"/study/{old}/") for old in (first, "x" * 32)]
    assert [page.status_code for page in pages] == [410, 404]
    assert "This link was replaced" in pages[0].text
    assert send("/admin/studies/pilot/close/").status_code == 302
    assert find_study(second).closed
    refused = send("/admin/studies/pilot/link/")
    assert (refused.status_code, find_study(second) is None) == (409, False)


def test_name_of_a_study_is_taken_only_once(send):
    assert send("/admin/studies/", **STUDY).status_code == 200
    again = send("/admin/studies/", **STUDY)
    assert (again.status_code, "already exists" in again.text) == (422, True)


def test_currency_may_be_lower_case(send):
    assert send("/admin/studies/", **{**STUDY, "currency": "gbp"}).status_code == 200
    assert Study.objects.get(name="pilot").currency == "GBP"
    assert Job.objects.get().asked["currency"] == "GBP"


@pytest.mark.parametrize(
    ("others", "told"),
    [
        ({"currency": "pounds"}, "Use at most 3 characters; there are 6."),
        ({"code": ""}, "This market requires a completion code"),
        ({"code": "A B"}, "Use only letters, digits and -."),
        ({"currency": "G1P"}, "Use a currency code, such as GBP."),
        ({"minutes": "0"}, "Enter 1 or more."),
        ({"places": "100001"}, "Enter 100000 or less."),
        ({"reward": "-1"}, "Enter 0 or more."),
        ({"name": "a b"}, "Use only letters, digits, - and _."),
        ({"reward": "2.505"}, "no more than 2 decimal places"),
        ({"code": "SAME", "short_code": "SAME"}, "must differ"),
    ],
)
def test_invalid_study_is_refused_and_the_form_kept(send, others, told):
    answer = send("/admin/studies/", **{**STUDY, "market_study": "kept", **others})
    page = answer.text
    assert answer.status_code == 422
    assert told in page
    assert 'value="kept"' in page
    assert not Study.objects.exists()


def _make_upload(text: str | bytes, name: str = "list.csv") -> Any:
    return SimpleUploadedFile(name, text if isinstance(text, bytes) else text.encode())


def test_number_of_places_changes_after_confirmation(send, done):
    made, _ = m.study(places=10)
    path = f"/admin/studies/{made.name}/"
    job = job_of(send(path, **{"do": "places", "places-places": "40"}))
    assert job.came == {"before": 10, "places": 40, "may_begin": 60}
    assert fresh(made).places == 10
    assert done(job).state == "done"
    assert (fresh(made).places, made.max_starts) == (40, 60)
    refused = send(path, **{"do": "places", "places-places": "0"})
    assert refused.status_code == 422


def test_key_of_one_form_of_a_study_is_refused_for_another(adam, visit, kept):
    made, _ = m.study()
    browser, key = visit(adam), new_key()
    path = f"/admin/studies/{made.name}/"
    assert browser.post(path, {"key": key, "do": "places", "places-places": "9"}).status_code == 302
    form = {
        "key": key,
        "do": "list",
        "list-allowed": "only",
        "list-file": _make_upload(m.worker(1)),
    }
    answer = browser.post(path, form)
    assert (answer.status_code, "open the page again" in answer.text) == (422, True)
    assert Job.objects.count() == 1
    assert not list((kept / "uploads").glob("*"))


def test_worker_who_started_after_the_export_is_not_rejected(send, done, rules, tmp_path):
    """Of the workers missing from a final table, only those who started before it are rejected."""
    rules(judges=1, gold_every=0, local_first=False)
    made, _ = m.study(1)
    before = m.working(made, 1)
    file = m.export(tmp_path / "x.csv", [(7, "APPROVED")])
    form = {"do": "paid", "paid-file": _make_upload(file.read_bytes(), "x.csv"), "paid-final": "on"}
    job = job_of(send(f"/admin/studies/{made.name}/", **form))
    assert (job.came["all_changes"], job.came["all_missing"]) == (1, 1)
    after = m.working(made, 2)
    ended = done(job)
    assert (ended.came["all_changes"], ended.came["all_missing"]) == (1, 1)
    for part, verdict in ((before, "rejected"), (after, "waiting")):
        assert fresh(part).verdict == verdict


def test_log_shows_numbers_and_emptied_settings(send):
    """The number 1 is not shown as a yes."""
    made, _ = m.study(places=10)
    form = {"do": "places", "places-places": "1"}
    job = job_of(send(f"/admin/studies/{made.name}/", **form))
    assert [value for _name, value in describe_request(job)] == [made.name, "1"]
    emptied = Job(kind="settings", asked={"contact": "", "words_to_flag": [], "judges": 1})
    assert [value for _name, value in describe_request(emptied)] == ["–", "–", "1"]


@pytest.mark.parametrize(("allowed", "may"), [("only", [True, False]), ("never", [False, True])])
def test_list_admits_or_excludes_workers(send, done, allowed, may):
    """Only rows that meet the requirement count; worker ids are neither stored nor shown."""
    made, _ = m.study()
    table = f"worker,approval rate\n{m.worker(1)},99.5 %\n"
    form = {"list-file": _make_upload(table), "list-allowed": allowed}
    job = job_of(send(f"/admin/studies/{made.name}/", do="list", **form))
    assert (job.came["people"], job.came["listed"]) == (1, 0)
    assert done(job).came["listed"] == 1
    made.refresh_from_db()
    digests = [digest_id("prolific", "worker", m.worker(n)) for n in (1, 2)]
    assert [is_admitted(made, digest) for digest in digests] == may
    assert not job.file.exists()
    page = send(f"/admin/jobs/{job.mark}/", method="get").text
    assert m.worker(1) not in page
    assert m.worker(1) not in repr(type(job).objects.values_list())


def test_market_decisions_apply_after_confirmation(send, done, rules, tmp_path):
    rules(judges=1, gold_every=0, local_first=False)
    made, _ = m.study(1)
    half = m.twin(halves=1)[0]
    part = m.working(made, 1)
    m.give(part.person)
    finish_participation(part)
    file = m.export(tmp_path / "x.csv", [(1, "APPROVED"), (7, "APPROVED")])

    def sent() -> Any:
        form = {"do": "paid", "paid-file": _make_upload(file.read_bytes(), "x.csv")}
        return job_of(send(f"/admin/studies/{made.name}/", **form))

    job = sent()
    assert (job.came["votes"], job.came["all_unknown"]) == (1, 1)
    assert [one["verdict"] for one in job.came["changes"]] == ["approved"]
    page = send(f"/admin/jobs/{job.mark}/", method="get").text
    assert m.worker(1) not in page
    assert "Lines: 3. The crowd market paid 2.00 for them" in page
    assert fresh(half).state == "judging"
    assert done(job).came["counted"] == 1
    assert fresh(half).state == "valid"
    assert (sent().came["changes"], sent().came["same"]) == ([], 1)


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"do": "list", "list-allowed": "only"}, "required"),
        ({"do": "list", "list-allowed": "only", "list-file": b"no id\n"}, "list.csv:1: this is n"),
        (
            {"do": "list", "list-allowed": "only", "list-file": b"\xff\xfe\n"},
            "list.csv: this is not",
        ),
        ({"do": "paid", "paid-file": b"one,two\n"}, "list.csv:1: the column"),
        ({"do": "paid", "paid-file": b"\xff\xfe\n"}, "list.csv: this is not a CSV table"),
    ],
)
def test_unusable_file_of_a_study_is_refused(send, kept, form, told):
    made, _ = m.study()
    typed = {k: _make_upload(v) if isinstance(v, bytes) else v for k, v in form.items()}
    answer = send(f"/admin/studies/{made.name}/", **typed)
    assert answer.status_code == 422
    page = answer.text
    assert told in page
    assert str(kept) not in page
    assert not Job.objects.exists()
    assert not list((kept / "uploads").glob("*"))
