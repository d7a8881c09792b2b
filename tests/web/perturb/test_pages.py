"""The pages for perturbing: their content, access, and kept input."""

import re

import pytest

from tests.web.growing import model
from tests.web.hostile import TEXTS, Page
from tests.web.perturb.conftest import (
    CHILD,
    GRANDCHILD,
    ROOT,
    form,
    original,
    plain,
    send,
    text,
    typed,
)
from winosmith.web.judge.models import Seen
from winosmith.web.people import gates
from winosmith.web.people.models import Person
from winosmith.web.people.privacy import publish_document
from winosmith.web.problems.models import Problem


def test_first_page_shows_examples_and_originals(client, ann, root):
    """Perturbed versions are listed only on request."""
    original("other", "The cup hit the jug, so the _ broke.")
    child = send(ann, root)
    send(ann, child, typed(GRANDCHILD))
    Problem.objects.update(state="valid")
    page = text(client.get("/perturb/"))
    assert page.count("<ins>") >= 7
    assert 'href="/perturb/root/"' in page
    assert 'href="/perturb/other/"' in page
    assert f'href="/perturb/{child.ref}/"' not in page
    assert "family of 3" in page
    assert "not perturbed yet" in page
    assert "and 2 perturbed ones" in page
    more = text(client.get("/perturb/?kind=perturbed"))
    assert f'href="/perturb/{child.ref}/"' in more
    assert 'href="/perturb/root/"' not in more
    assert "2 steps from the original" in more
    assert text(client.get("/perturb/?kind=")).count('class="button" href="/perturb/') == 4
    found = text(
        client.get("/perturb/?q=jug", headers={"HX-Request": "true", "HX-Target": "results"})
    )
    assert "<html" not in found
    assert "<mark>jug</mark>" in found
    assert 'href="/perturb/root/"' not in found


def test_visitor_without_an_account_can_perturb(db, visit, root):
    model("one")
    client = visit()
    shown = re.findall(r'name="shown" value="(\d+)"', text(client.get("/people/consent/")))
    client.post("/people/consent/", {"agree": "yes", "shown": shown, "next": "/perturb/root/"})
    page = text(client.get("/perturb/root/"))
    assert ROOT in page
    made = client.post("/perturb/root/", form())
    page = text(client.get(made.headers["Location"]))
    assert "Your sentence is stored" in page
    assert "waiting for a moderator" in page
    assert "you are writing without an account" in page
    assert "Waiting for the model one…" in page


def test_resubmitted_form_leads_to_the_same_page(client, root):
    first = client.post("/perturb/root/", form())
    again = client.post("/perturb/root/", form(GRANDCHILD))
    made = Problem.objects.exclude(ref="root").get()
    assert first.headers["Location"] == again.headers["Location"] == f"/perturb/made/{made.ref}/"


def test_site_without_anonymous_writers_requires_login(db, visit, root, rules):
    rules(anonymous=False)
    assert visit().get("/perturb/root/").headers["Location"].startswith("/people/login/")
    answer = visit().post("/perturb/root/", form())
    assert answer.status_code == 422
    assert "log in or sign up" in text(answer)
    assert f">{CHILD}</textarea>" in text(answer)


def test_form_starts_with_the_parent_but_no_answer(client):
    page = text(client.get("/perturb/root/"))
    assert f">{ROOT}</textarea>" in page
    assert 'value="the suitcase"' in page
    assert not re.search(r'<input type="radio"[^>]*checked', page)
    assert "You have not changed anything yet" in page


def test_refused_form_keeps_its_input_and_shows_advice(client):
    model("one"), model("other")
    sent = form("The <b>trophy</b> was too.", answer="", declared="x", against="other")
    answer = client.post("/perturb/root/", sent)
    page = text(answer)
    assert answer.status_code == 422
    assert "The &lt;b&gt;trophy&lt;/b&gt; was too.</textarea>" in page
    assert "<b>trophy" not in page
    for name in ("sentence", "answer", "declared"):
        assert f'id="{name}-error"' in page
    assert 'aria-describedby="sentence-hint sentence-error" aria-invalid="true"' in page
    assert 'name="declared" id="declared" value="x"' in page
    assert '<option value="other" selected>' in page
    assert f'name="key" value="{"k" * 32}"' in page
    assert "please correct 4 errors" in plain(page)
    assert 'class="fail" data-rule="answer"' in page
    long = f"{CHILD} " * 200
    page = text(client.post("/perturb/root/", {**sent, "sentence": long}))
    assert f"{long.strip()}</textarea>" in page
    assert 'class="fail" data-rule="length"' in page
    assert "large → small" not in page


def test_checks_work_without_scripts(client):
    """The button "Check" shows the edits and writes nothing."""
    page = text(client.post("/perturb/root/", {**form(), "do": "check"}))
    assert f">{CHILD}</textarea>" in page
    assert re.search(r"<del><bdi[^>]*>\[deleted: </bdi>large<span[^>]*>\]</span></del>", page)
    assert re.search(r"<ins><bdi[^>]*>\[inserted: </bdi>small<span[^>]*>\]</span></ins>", page)
    assert "large → small" in page
    assert "<dt>lineage depth</dt><dd>1</dd>" in page
    assert '<dd class="word">flipped</dd>' in page
    assert page.count('class="pass"') == 7
    assert Problem.objects.count() == 1


def test_live_checks_write_nothing(client):
    page = text(client.post("/perturb/root/check/", form(), headers={"HX-Request": "true"}))
    assert "<html" not in page
    assert 'hx-swap-oob="innerHTML:#tally">Ready to send.' in page
    lacking = form("The trophy did not fit because _ was too small.")
    page = text(client.post("/perturb/root/check/", lacking))
    assert 'class="note" data-rule="occur"' in page
    assert "Not in the sentence: “the suitcase”" in page
    assert Problem.objects.count() == 1


def test_rate_limited_form_keeps_its_input(client, rules):
    rules(perturbs_per_hour=1)
    client.post("/perturb/root/", form())
    answer = client.post("/perturb/root/", form(GRANDCHILD, key="m" * 32))
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) > 0
    assert f">{GRANDCHILD}</textarea>" in text(answer)
    assert "You have reached the site’s limit per hour." in text(answer)


def test_live_checks_and_check_button_share_a_limit(client, monkeypatch, rules):
    """Submissions don't count."""
    monkeypatch.setattr(gates, "TYPING_FACTOR", 2)
    rules(perturbs_per_hour=1)
    doors = ("/perturb/root/check/", "/perturb/root/", "/perturb/root/check/", "/perturb/root/")
    found = [client.post(door, form(do="check")).status_code for door in doors]
    assert found == [200, 200, 429, 429]
    assert client.post("/perturb/root/", form()).status_code == 302


def test_form_without_current_consent_keeps_its_input(client, visit):
    """No person is created for a visitor's refused form."""
    publish_document("consent", "Everything is different now.")
    before = Person.objects.count()
    for browser in (client, visit()):
        answer = browser.post("/perturb/root/", form())
        assert answer.status_code == 422
        assert 'href="/people/consent/?next=%2Fperturb%2Froot%2F"' in text(answer)
        assert f">{CHILD}</textarea>" in text(answer)
    assert Person.objects.count() == before
    assert Problem.objects.count() == 1


def test_opening_the_form_marks_the_twin_as_seen(client, ann, root):
    """A reader of one half must not judge the other half."""
    original("half", CHILD, twin=root.twin, state="judging")
    client.get("/perturb/root/")
    assert Seen.objects.filter(person=ann, twin=root.twin).exists()


@pytest.mark.long
def test_hostile_texts_are_escaped_on_all_pages(client):
    for n, hostile in enumerate(TEXTS):
        sentence = f"The trophy number {n} and {hostile} went into the suitcase since _ was wide."
        sent = {**form(sentence, key=f"{n:032}"), "option_1": hostile}
        assert Page(text(client.post("/perturb/root/check/", sent))).faults == []
        answer = client.post("/perturb/root/", sent)
        assert answer.status_code == 302, hostile
        made = Problem.objects.get(ref=answer.headers["Location"].split("/")[-2])
        assert made.sentence == sentence
        page = Page(text(client.get(f"/perturb/{made.ref}/")))
        assert page.faults == []
        result = Page(text(client.get(answer.headers["Location"])))
        assert result.faults == []
        assert hostile in "".join(result.options)
