"""Consent: required before the first contribution, and again after a change."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.utils import timezone

from tests.web import growing
from winosmith.errors import InputError
from winosmith.web.people.gates import new_key
from winosmith.web.people.models import Agreement, Document, Person
from winosmith.web.people.privacy import (
    create_first_documents,
    get_current_documents,
    get_pending_documents,
    publish_document,
    save_agreement,
)
from winosmith.web.problems.models import Problem
from winosmith.web.write.models import Draft

pytestmark = pytest.mark.usefixtures("db")


def _shown(page: Any) -> list[str]:
    return re.findall(r'name="shown" value="(\d+)"', page.text)


def test_writing_requires_consent_and_returns_to_the_page(visit):
    browser = visit()
    to = browser.get("/write/?x=1").headers["Location"]
    assert to == "/people/consent/?next=%2Fwrite%2F%3Fx%3D1"
    page = browser.get(to)
    assert not Person.objects.exists()
    answer = browser.post(
        "/people/consent/", {"agree": "yes", "shown": _shown(page), "next": "/write/?x=1"}
    )
    assert answer.headers["Location"] == "/write/?x=1"
    assert browser.get("/write/?x=1").status_code == 200
    kinds = Agreement.objects.values_list("document__kind", "document__version")
    assert sorted(kinds) == [("consent", 1), ("licence", 1)]
    assert timezone.now() - Agreement.objects.order_by("at")[0].at < timedelta(minutes=1)


def test_pages_without_consent_redirect_and_store_nothing(visit, person):
    growing.version(None, "The cup hit the jug and the _ broke .")
    Problem.objects.update(ref="public")
    for client in (visit(), visit(person("eva"))):
        sent = client.post("/write/", {"key": new_key()})
        assert sent.headers["Location"].startswith("/people/consent/")
        for path in ("/write/", "/perturb/public/"):
            to = client.get(path).headers["Location"]
            assert to == f"/people/consent/?next={quote(path, safe='')}"
    assert not Draft.objects.exists()


def test_htmx_request_redirects_the_whole_page_to_consent(visit):
    answer = visit().get("/write/", headers={"HX-Request": "true"})
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (
        204,
        "/people/consent/?next=%2Fwrite%2F",
    )


def test_paid_judges_agree_only_to_the_judging_text(visit, person):
    """It has less than a third of the words of the others, which only writing requires."""
    browser = visit(person("worker", hired=True, is_judge=True))
    lengths = []
    for path, kinds in (("/judge/", {"study"}), ("/write/", {"consent", "licence"})):
        to = browser.get(path).headers["Location"]
        assert to.startswith("/people/consent/")
        page = browser.get(to)
        shown = Document.objects.filter(pk__in=_shown(page))
        assert {document.kind for document in shown} == kinds
        lengths.append(sum(len(document.text.split()) for document in shown))
        form = {"agree": "yes", "shown": _shown(page), "next": path}
        for answer in [browser.post("/people/consent/", form) for _ in range(2)]:
            assert (answer.status_code, answer.headers["Location"]) == (302, path)
        assert "consent" not in browser.get(path).headers.get("Location", "")
        assert browser.get("/people/consent/").status_code == 302
    assert 3 * lengths[0] < lengths[1]


def test_data_card_says_who_agrees_to_which_text(visit):
    card = visit().get("/card/").text
    assert card.count("Everyone except paid judges agrees to the") == 2
    assert "Paid judges agree to the consent to judge in a paid study before their first" in card
    lines = visit().get("/card/data-card.md").text.splitlines()
    found = [line.partition(":")[0] for line in lines if ": version 1 of" in line]
    others = "for people who write and judges who are not paid"
    assert found == [
        f"- consent, {others}",
        f"- contributor licence, {others}",
        "- consent to judge in a paid study, for paid judges",
    ]


def test_form_without_the_tick_stores_nothing(visit):
    page = visit().get("/people/consent/")
    answer = visit().post("/people/consent/", {"shown": _shown(page)})
    assert answer.status_code == 422
    assert "Tick the box" in answer.text
    assert not Person.objects.exists()
    assert not Agreement.objects.exists()


def test_new_version_requires_consent_again(visit, ann):
    save_agreement(ann)
    assert not get_pending_documents(ann)
    publish_document("consent", "You take part in something else.")
    assert get_pending_documents(ann)
    browser = visit(ann)
    assert browser.get("/write/").status_code == 302
    page = browser.get("/people/consent/")
    assert "A consent form has changed" in page.text
    assert "something else" in page.text
    browser.post("/people/consent/", {"agree": "yes", "shown": _shown(page)})
    assert not get_pending_documents(ann)
    assert ann.agreements.count() == 3


def test_form_of_an_older_version_is_refused(visit, ann):
    browser = visit(ann)
    shown = _shown(browser.get("/people/consent/"))
    publish_document("licence", "You give everything to everyone.", licence="CC0-1.0")
    answer = browser.post("/people/consent/", {"agree": "yes", "shown": shown})
    assert answer.status_code == 422
    assert "everything to everyone" in answer.text
    assert get_pending_documents(ann)


def test_agreeing_twice_stores_one_agreement(ann):
    save_agreement(ann)
    before = list(ann.agreements.values_list("document", "at"))
    save_agreement(ann)
    assert list(ann.agreements.values_list("document", "at")) == before


@pytest.mark.parametrize("text", ["", "  \n"])
def test_empty_or_unchanged_text_is_refused(text):
    with pytest.raises(InputError, match="empty"):
        publish_document("consent", text)
    consent = get_current_documents()[0]
    with pytest.raises(InputError, match="text is unchanged"):
        publish_document("consent", consent.text)


def test_changed_licence_of_the_site_is_a_new_version(ann, rules):
    save_agreement(ann)
    create_first_documents()
    assert not get_pending_documents(ann)
    rules(licence="CC0-1.0")
    create_first_documents()
    licence = get_current_documents()[1]
    assert (licence.version, licence.licence) == (2, "CC0-1.0")
    assert "CC0-1.0" in licence.text
    assert get_pending_documents(ann)


def test_every_version_is_public(visit):
    publish_document("consent", "New words.")
    page = visit().get("/people/texts/").text
    assert "New words." in page
    assert "/people/texts/consent/1/" in page
    assert "What is stored about you" in visit().get("/people/texts/consent/1/").text
    assert visit().get("/people/texts/consent/9/").status_code == 404
    assert visit().get("/people/texts/other/1/").status_code == 404


def test_consent_requires_log_in_without_anonymous_writers(visit, rules):
    rules(anonymous=False)
    assert visit().get("/write/").headers["Location"].startswith("/people/login/?")
    answer = visit().post("/people/consent/", {"agree": "yes"})
    assert answer.headers["Location"] == "/people/login/?next=%2F"
    assert not Person.objects.exists()
