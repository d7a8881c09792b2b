"""Starting a study by a market's link, and the secrecy of the market's ids."""

from html import unescape
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection

from tests.web.market import making as m
from winosmith.web.judge.turns import lease_next_problem
from winosmith.web.market import views, workers
from winosmith.web.market.studies import close_study, replace_link, screen_workers, set_places
from winosmith.web.people.models import Person, Session

pytestmark = pytest.mark.usefixtures("db")


def _start_study(browser: Any, token: str, n: int = 1) -> Any:
    browser.get(m.link(token, n))
    return browser.post("/study/welcome/")


def _dump_database() -> str:
    """Return all tables and sessions as text."""
    told = []
    with connection.cursor() as cursor:
        for model in apps.get_models(include_auto_created=True):
            cursor.execute(f'SELECT * FROM "{model._meta.db_table}"')  # noqa: S608
            told.append(repr(cursor.fetchall()))
    told += [repr(SessionStore().decode(s.session_data)) for s in Session.objects.all()]
    return "".join(told)


def test_market_ids_are_never_stored_in_plain_text(visit, capfd):
    """The link redirects to an address without ids."""
    made, token = m.study()
    m.twin()
    browser = visit()
    came = browser.get(m.link(token))
    assert (came.status_code, came["Location"]) == (302, "/study/welcome/")
    assert came["Referrer-Policy"] == "same-origin"
    cookie = came.cookies[workers.COOKIE]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert cookie["path"] == "/study/"
    assert made.participations.count() == 0  # opening a link starts nothing
    assert b"paid study" not in visit().get("/people/login/").content
    page = browser.get("/study/welcome/").content.decode()
    assert "2.00 GBP" in page
    assert "judge 2 problems" in page
    began = browser.post("/study/welcome/", follow=True)
    assert "/people/consent/" in str(began.redirect_chain)
    part = made.participations.get()
    assert part.person.hired
    assert b"paid study? Open its link again" in visit().get("/people/login/").content
    assert not part.person.has_usable_password()
    about = browser.get("/people/about-me.json").json()
    assert about["studies"][0]["ids"] == {"worker": m.worker(1), "submission": m.worker(1001)}
    said = _dump_database() + cookie.value + page + "".join(capfd.readouterr())
    for one in (m.worker(1), m.worker(1001), token):
        assert one not in said


def test_one_id_has_one_participation_in_one_browser(visit):
    """In its browser, the link leads back to the same work; other browsers are refused."""
    made, token = m.study()
    m.twin()
    first, other = visit(), visit()
    _start_study(first, token)
    part = made.participations.get()
    # A double click: the answer to the first never arrived.
    first.cookies.pop(settings.SESSION_COOKIE_NAME)
    assert _start_study(first, token).status_code == 302
    assert made.participations.get() == part
    assert first.get("/study/", follow=True).status_code == 200
    _, later = m.study()
    first.get(m.link(later))  # only looked at
    first.cookies.pop(settings.SESSION_COOKIE_NAME)
    assert _start_study(first, token).status_code == 302  # the same browser still
    refused = _start_study(other, token)
    assert refused.status_code == 409
    assert "another browser" in refused.content.decode()
    assert other.get("/people/about-me.json").status_code == 302
    stranger = visit()
    stranger.get(m.link(token, 2).replace(m.worker(1002), m.worker(1001)))  # another's submission
    assert stranger.post("/study/welcome/").status_code == 409
    assert made.participations.count() == 1


@pytest.mark.parametrize(
    "query",
    ["", "PROLIFIC_PID=x", f"PROLIFIC_PID={'a' * 24}", f"PROLIFIC_PID={'A' * 24}&SESSION_ID=1"],
)
def test_link_without_valid_ids_starts_nothing(visit, query):
    _, token = m.study()
    browser = visit()
    answer = browser.get(f"/study/{token}/?{query}", follow=True)
    assert answer.redirect_chain[-1][0] == "/study/"
    assert "in the link is missing or not valid." in answer.content.decode()
    assert "study" not in browser.cookies


@pytest.mark.parametrize(
    ("provider", "query", "named"),
    [
        ("prolific", "PROLIFIC_PID={{%25PROLIFIC_PID%25}}", "{{%PROLIFIC_PID%}}"),
        (
            "prolific",
            f"PROLIFIC_PID={m.worker(1)}&SESSION_ID={{{{%25SESSION_ID%25}}}}",
            "{{%SESSION_ID%}}",
        ),
        ("generic", "worker=${workerId}", "${workerId}"),
        ("generic", "worker=WORKER&submission=SUBMISSION", "WORKER"),
        ("generic", "worker=w-1234&submission=SUBMISSION", "SUBMISSION"),
        ("generic", "worker=[participant_id]", "[participant_id]"),
    ],
)
def test_link_with_an_unfilled_placeholder_starts_nothing(visit, provider, query, named):
    """The page explains the fault to the worker and to the requester."""
    made, token = m.study(provider=provider)
    m.twin()
    browser = visit()
    answer = browser.get(f"/study/{token}/?{query}")
    page = unescape(answer.content.decode())
    assert answer.status_code == 422
    assert f"The link contains “{named}” in place of your id on the marketplace." in page
    assert "Please return your submission" in page
    assert "If you run the study" in page
    assert "study" not in browser.cookies
    browser.post("/study/welcome/")
    assert made.participations.count() == 0


def test_study_starts_at_most_half_as_many_again_as_places(visit):
    """The spare places are for returned submissions."""
    made, token = m.study(places=12)
    m.twin()
    came = [_start_study(visit(), token, n).status_code for n in range(1, 22)]
    assert came == [302] * 18 + [410] * 3
    assert made.participations.count() == made.max_starts == 18
    browser = visit()
    assert "All places in this study are taken" in _start_study(browser, token, 30).content.decode()
    set_places(made, 13)
    assert _start_study(browser, token, 30).status_code == 302


def test_excluded_workers_and_invalid_links_are_refused(visit):
    made, token = m.study(market_study=m.worker(8))
    m.twin()
    assert visit().get(f"/study/{'x' * 32}/?PROLIFIC_PID={m.worker(1)}").status_code == 404
    wrong = visit().get(m.link(token), follow=True)
    assert "another study" in wrong.content.decode()
    made, token = m.study()
    screen_workers(made, [m.worker(1)], allowed=True)
    screen_workers(made, [m.worker(3)], allowed=False)
    assert [_start_study(visit(), token, n).status_code for n in (1, 2, 3)] == [302, 403, 403]
    assert visit().get(m.link(token)).status_code == 302
    later = replace_link(made)
    assert visit().get(m.link(token)).status_code == 410
    close_study(made)
    assert _start_study(visit(), later, 1).status_code == 409
    screen_workers(made, [m.worker(4)], allowed=True)
    assert _start_study(visit(), later, 4).status_code == 410


def test_accounts_and_busy_workers_cannot_start_a_study(ann, visit):
    _, token = m.study()
    _, second = m.study()
    m.twin(halves=1)
    account = visit(ann)
    assert _start_study(account, token).status_code == 409
    browser = visit()
    _start_study(browser, token)
    assert _start_study(browser, second).status_code == 409
    elsewhere = visit()
    assert _start_study(elsewhere, second).status_code == 409
    page = elsewhere.post("/study/welcome/").content.decode()
    assert "Your id is already in use in another study on this site." in page


def test_worker_cannot_judge_own_text_from_the_same_browser(visit):
    """The text was written anonymously, before the study."""
    from winosmith.web.people.gates import WRITER, SessionStore

    writer = Person.objects.create_anonymous()
    session = SessionStore()
    session[WRITER] = writer.pk
    session.save()
    half = m.twin(writer, halves=1)[0]
    made, token = m.study()
    browser = visit()
    browser.cookies[settings.SESSION_COOKIE_NAME] = session.session_key
    _start_study(browser, token)
    half.twin.refresh_from_db()
    part = made.participations.get()
    assert half.twin.contributor == part.person

    assert lease_next_problem(part.person) is None


def test_study_without_work_cannot_be_started(visit):
    made, token = m.study()
    answer = _start_study(visit(), token)
    assert answer.status_code == 409
    assert "return your submission" in answer.content.decode()
    assert not made.participations.exists()


def test_starts_from_one_network_are_limited(visit, monkeypatch):
    monkeypatch.setattr(views, "MAX_STARTS", 1)
    _, token = m.study()
    m.twin()
    assert _start_study(visit(), token, 1).status_code == 302
    assert _start_study(visit(), token, 2).status_code == 429
