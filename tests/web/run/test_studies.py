"""Paid studies that are made and looked after in the browser."""

from pathlib import Path
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
from winosmith.web.market.providers import digest_id
from winosmith.web.market.studies import find_study, get_study, is_admitted
from winosmith.web.market.workers import finish_participation
from winosmith.web.people.gates import new_key
from winosmith.web.run.log import describe_request

pytestmark = pytest.mark.usefixtures("db")


def test_a_studys_link_is_shown_once_and_kept_nowhere(adam: Any, visit: Any) -> None:
    """The page of the form that made it has the link; sent again, and in every table, it is not."""
    form, browser = {"key": new_key(), **STUDY}, visit(adam)
    page = browser.post("/admin/studies/", form).content.decode()
    token = page.partition("/study/")[2].partition("/")[0]
    assert find_study(token).name == "pilot"
    assert page.count("http://testserver/study/") == 1
    assert '<option value="generic">another market</option>' in page
    again = browser.post("/admin/studies/", form, follow=True).content.decode()
    assert token not in again
    rows = [repr(list(m._base_manager.values_list()[:999])) for m in apps.get_models()]
    assert not any(token in row for row in rows)


def test_a_new_link_ends_the_one_before(adam: Any, visit: Any, send: Any) -> None:
    """Both are asked first; the link before says that it was replaced; a closed study gets none."""

    def token(answer: Any) -> str:
        return str(answer.content.decode().partition("/study/")[2].partition("/")[0])

    first = token(send("/admin/studies/", **STUDY))
    for act in ("link", "close"):
        asked = visit(adam).get(f"/admin/studies/pilot/{act}/").content.decode()
        assert "can’t be" in asked
        assert find_study(first).closed is None
    second = token(send("/admin/studies/pilot/link/"))
    assert (find_study(first), find_study(second).name) == (None, "pilot")
    pages = [visit().get(f"/study/{old}/") for old in (first, "x" * 32)]
    assert [page.status_code for page in pages] == [410, 404]
    assert "This link was replaced" in pages[0].content.decode()
    assert send("/admin/studies/pilot/close/").status_code == 302
    assert find_study(second).closed
    refused = send("/admin/studies/pilot/link/")
    assert (refused.status_code, find_study(second) is None) == (409, False)


def test_a_currency_may_be_typed_in_small_letters(send: Any) -> None:
    """A study made with "gbp" pays in GBP, and the log says so."""
    assert send("/admin/studies/", **{**STUDY, "currency": "gbp"}).status_code == 200
    assert get_study("pilot").currency == "GBP"
    assert Job.objects.get().asked["currency"] == "GBP"


@pytest.mark.parametrize(
    ("others", "told"),
    [
        ({"currency": "pounds"}, "Use at most 3 characters; there are 6."),
        ({"code": ""}, "this market requires a completion code"),
        ({"name": "a b"}, "Use only letters, digits, - and _."),
        ({"reward": "2.505"}, "no more than 2 decimal places"),
        ({"code": "SAME", "short_code": "SAME"}, "must differ"),
    ],
)
def test_a_study_that_cannot_be_made_brings_the_form_back(
    send: Any, others: dict[str, str], told: str
) -> None:
    """The form says what is wrong, holds what was typed, and there is no study."""
    answer = send("/admin/studies/", **{**STUDY, "market_study": "kept", **others})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert told in page
    assert 'value="kept"' in page
    assert not Study.objects.exists()


def _upload(text: str | bytes, name: str = "list.csv") -> Any:
    return SimpleUploadedFile(name, text if isinstance(text, bytes) else text.encode())


def test_places_are_changed_once_they_were_shown(send: Any, done: Any) -> None:
    """What is shown is what holds once it is confirmed; until then nothing changes."""
    made, _ = m.study(places=10)
    path = f"/admin/studies/{made.name}/"
    job = job_of(send(path, **{"do": "places", "places-places": "40"}))
    assert job.came == {"before": 10, "places": 40, "may_begin": 60}
    assert fresh(made).places == 10
    assert done(job).state == "done"
    assert (fresh(made).places, made.max_starts) == (40, 60)
    refused = send(path, **{"do": "places", "places-places": "0"})
    assert refused.status_code == 422


def test_each_form_of_a_study_is_for_itself(adam: Any, visit: Any, kept: Path) -> None:
    """What one of them did is not taken for what another of the same page asks."""
    made, _ = m.study()
    browser, key = visit(adam), new_key()
    path = f"/admin/studies/{made.name}/"
    assert browser.post(path, {"key": key, "do": "places", "places-places": "9"}).status_code == 302
    form = {"key": key, "do": "list", "list-allowed": "only", "list-file": _upload(m.worker(1))}
    answer = browser.post(path, form)
    assert (answer.status_code, "open the page again" in answer.content.decode()) == (422, True)
    assert Job.objects.count() == 1
    assert not list((kept / "uploads").glob("*"))


def test_who_began_after_the_markets_last_word_is_not_rejected(
    send: Any, done: Any, rules: Any, tmp_path: Path
) -> None:
    """Of those who are in no final table only they are rejected who could have been in it."""
    rules(judges=1, gold_every=0, local_first=False)
    made, _ = m.study(1)
    before = m.working(made, 1)
    file = m.export(tmp_path / "x.csv", [(7, "APPROVED")])
    form = {"do": "paid", "paid-file": _upload(file.read_bytes(), "x.csv"), "paid-final": "on"}
    job = job_of(send(f"/admin/studies/{made.name}/", **form))
    assert (job.came["all_changes"], job.came["all_missing"]) == (1, 1)
    after = m.working(made, 2)
    ended = done(job)
    assert (ended.came["all_changes"], ended.came["all_missing"]) == (1, 1)
    for part, verdict in ((before, "rejected"), (after, "waiting")):
        assert fresh(part).verdict == verdict


def test_the_log_tells_numbers_as_numbers(send: Any) -> None:
    """One place is no mere yes, and a setting that was emptied is told as well."""
    made, _ = m.study(places=10)
    form = {"do": "places", "places-places": "1"}
    job = job_of(send(f"/admin/studies/{made.name}/", **form))
    assert [value for _name, value in describe_request(job)] == [made.name, "1"]
    emptied = Job(kind="settings", asked={"contact": "", "words_to_flag": [], "judges": 1})
    assert [value for _name, value in describe_request(emptied)] == ["–", "–", "1"]


@pytest.mark.parametrize(("allowed", "may"), [("only", [True, False]), ("never", [False, True])])
def test_a_list_says_who_may_come(send: Any, done: Any, allowed: str, may: list[bool]) -> None:
    """The ids of a table are on the list; no id is kept, nor shown."""
    made, _ = m.study()
    table = f"worker,approval rate\n{m.worker(1)},99.5 %\n"
    form = {"list-file": _upload(table), "list-allowed": allowed}
    job = job_of(send(f"/admin/studies/{made.name}/", do="list", **form))
    assert (job.came["people"], job.came["listed"]) == (1, 0)
    assert done(job).came["listed"] == 1
    made.refresh_from_db()
    digests = [digest_id("prolific", "worker", m.worker(n)) for n in (1, 2)]
    assert [is_admitted(made, digest) for digest in digests] == may
    assert not job.file.exists()
    page = send(f"/admin/jobs/{job.mark}/", method="get").content.decode()
    assert m.worker(1) not in page
    assert m.worker(1) not in repr(type(job).objects.values_list())


def test_what_the_market_says_holds_once_it_was_shown(
    send: Any, done: Any, rules: Any, tmp_path: Path
) -> None:
    """The preview names pseudonyms and votes; confirmed, votes count; again, nothing changes."""
    rules(judges=1, gold_every=0, local_first=False)
    made, _ = m.study(1)
    half = m.twin(halves=1)[0]
    part = m.working(made, 1)
    m.give(part.person)
    finish_participation(part)
    file = m.export(tmp_path / "x.csv", [(1, "APPROVED"), (7, "APPROVED")])

    def sent() -> Any:
        form = {"do": "paid", "paid-file": _upload(file.read_bytes(), "x.csv")}
        return job_of(send(f"/admin/studies/{made.name}/", **form))

    job = sent()
    assert (job.came["votes"], job.came["all_unknown"]) == (1, 1)
    assert [one["verdict"] for one in job.came["changes"]] == ["approved"]
    page = send(f"/admin/jobs/{job.mark}/", method="get").content.decode()
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
def test_a_file_that_says_nothing_of_a_study_is_refused(
    send: Any, kept: Path, form: dict[str, Any], told: str
) -> None:
    """What is wrong stands at the field, by the name of the file; nothing is kept of it."""
    made, _ = m.study()
    typed = {k: _upload(v) if isinstance(v, bytes) else v for k, v in form.items()}
    answer = send(f"/admin/studies/{made.name}/", **typed)
    assert answer.status_code == 422
    page = answer.content.decode()
    assert told in page
    assert str(kept) not in page
    assert not Job.objects.exists()
    assert not list((kept / "uploads").glob("*"))
