"""The pages for writing twins: content, refusals and access."""

import re

from tests.web.making import fresh
from tests.web.write.conftest import FORM, send, text
from winosmith import Dataset, Problem
from winosmith.web.people import gates
from winosmith.web.people.gates import WRITER, new_key
from winosmith.web.people.models import Hits, Person
from winosmith.web.people.privacy import publish_document, save_agreement
from winosmith.web.problems.checks import MAX_CHARACTERS
from winosmith.web.problems.lookalikes import index_published_dataset
from winosmith.web.problems.models import Problem as Row, Twin
from winosmith.web.write.models import Draft
from winosmith.web.write.rules import TwinInput, check_twin, submit_draft


def test_start_button_opens_a_draft_with_a_topic(db, ann, visit):
    answer = visit(ann).post("/write/", {"key": new_key()})
    one = Draft.objects.get(person=ann)
    assert answer.headers["Location"] == f"/write/{one.ref}/"
    page = text(visit(ann).get(answer.headers["Location"]))
    assert len(one.anchors) == 3
    assert all(f'data-anchor="{word}"' in page for word in one.anchors)


def test_repeated_start_form_leads_to_the_same_draft(db, ann, visit):
    """After the draft is deleted, it leads to the start page."""
    form = {"key": new_key()}
    shown = visit(ann).get("/write/").content.decode()
    assert re.search(r'name="key" value="[0-9a-f]{32}"', shown)
    where = {visit(ann).post("/write/", form).headers["Location"] for _ in range(3)}
    one = Draft.objects.get(person=ann)
    assert where == {f"/write/{one.ref}/"}
    assert Hits.objects.get(what="topic").count == 1
    one.delete()
    assert visit(ann).post("/write/", form).headers["Location"] == "/write/"
    assert visit(ann).post("/write/").status_code == 422
    assert not Draft.objects.exists()


def test_repeated_submission_creates_one_twin(client, one, address):
    first = send(client, one)
    again = client.post(address, {**FORM, "version": "0", "do": "submit"})
    back = client.get(address)
    twin = Twin.objects.get()
    where = {answer.headers["Location"] for answer in (first, again, back)}
    assert where == {f"/write/mine/{twin.ref}/"}
    assert "This twin was already submitted" in text(client.get(where.pop()))


def test_refused_twin_shows_faults_and_keeps_the_input(client, one, address):
    answer = send(client, one, sentence_1="The <b>kettle</b> is the _.", domain="")
    page = text(answer)
    assert answer.status_code == 422
    assert "&lt;b&gt;kettle&lt;/b&gt; is the _." in page
    assert "<b>kettle</b>" not in page
    assert 'id="sentence-1-error"' in page
    assert 'aria-describedby="sentence-hint sentence-1-error"' in page
    assert 'id="domain-error"' in page
    assert FORM["sentence_2"] in page
    assert text(client.get(address)).count("&lt;b&gt;kettle") > 0


def test_checks_work_without_scripts(client, address):
    """The button "Check and save" leads back to a page with all checks."""
    answer = client.post(address, {**FORM, "version": "0", "do": "check"})
    assert answer.headers["Location"] == f"{address}#checks"
    page = text(client.get(address))
    assert page.count('class="pass"') == 15
    assert "<mark>much too small</mark>" in page


def test_first_half_is_copied_without_javascript(client, one, address):
    client.post(address, {**FORM, "sentence_2": "", "version": "0", "do": "copy"})
    assert fresh(one).typed["sentence_2"] == FORM["sentence_1"]


def test_live_checks_write_nothing(client, one, address):
    page = text(client.post(f"{address}check/", FORM, headers={"HX-Request": "true"}))
    one.refresh_from_db()
    assert "<html" not in page
    assert "#tally" in page
    assert page.count('class="pass"') == 15
    assert one.version == 0


def test_too_long_text_is_checked_only_for_its_length(client, one, address):
    """It is not saved, and the form contains all of it."""
    long = {**FORM, "sentence_1": "word " * 89_999 + "word", "option_2": "x" * MAX_CHARACTERS}
    checks = check_twin(TwinInput.from_form(long), ["x"])
    failed = [one.rule for one in checks if one.half != 1 and one.verdict == "fail"]
    assert failed == ["options differ", "length"]
    assert not TwinInput.from_form(long).without_long_texts().sentences[0]
    assert client.post(f"{address}check/", long).status_code == 200
    sent = client.post(address, {**long, "version": "0", "do": "check"})
    assert (sent.status_code, f"more than {MAX_CHARACTERS} characters" in text(sent)) == (422, True)
    assert long["sentence_1"] in text(sent)
    assert long["option_2"] in text(sent)
    assert fresh(one).version == 0


def test_missing_input_fails_only_after_submission(client, address):
    half = {**FORM, "sentence_2": "", "option_2": "", "domain": ""}
    typing = text(client.post(f"{address}check/", half))
    sent = text(client.post(address, {**half, "version": "0", "do": "submit"}))
    for rule in ("domain", "options differ", "blank"):
        assert typing.count(f'class="todo" data-rule="{rule}"') == 1
        assert sent.count(f'class="fail" data-rule="{rule}"') == 1


def test_near_duplicates_are_shown_without_hidden_texts(client, address, bob):
    """A published sentence is quoted with its source; an embargoed one is not mentioned."""
    submit_draft(bob, TwinInput.from_form(FORM), Draft(ref="k" * 32, anchors=["water"]))
    page = text(client.post(f"{address}check/", FORM))
    assert "not public yet" in page
    assert "<q" not in page
    Row.objects.update(embargo=True)
    assert "not public yet" not in text(client.post(f"{address}check/", FORM))
    published = Problem("wg-1", FORM["sentence_1"], ("kettle", "bucket"), 0)
    index_published_dataset(Dataset([published]), "winogrande")
    page = text(client.post(f"{address}check/", FORM))
    assert "wg-1 in winogrande" in page.replace("<bdi>", "").replace("</bdi>", "")
    quoted = FORM["sentence_1"].replace("_", '<span class="blank">_</span>')
    assert f">{quoted}</q>" in page


def test_conflicting_windows_choose_which_text_to_keep(client, one, address):
    mine, theirs = {**FORM, "option_1": "pot"}, {**FORM, "option_1": "mug"}
    assert client.post(f"{address}save/", {**theirs, "version": "0"}).json()["version"] == 1
    met = client.post(f"{address}save/", {**mine, "version": "0"})
    assert met.status_code == 409
    assert "pot / bucket" in text(met)
    assert "mug / bucket" in text(met)
    whole = client.post(address, {**mine, "version": "0", "do": "submit"})
    assert whole.status_code == 409
    assert 'name="version" value="1"' in text(whole)
    assert fresh(one).typed["option_1"] == "mug"
    client.post(address, {**mine, "version": "1", "do": "check"})
    assert fresh(one).typed["option_1"] == "pot"


def test_saving_the_same_text_is_not_a_conflict(client, address):
    for _number in range(2):
        answer = client.post(f"{address}save/", {**FORM, "version": "0"})
        assert (answer.status_code, answer.json()["version"]) == (200, 1)


def test_saving_a_submitted_draft_returns_the_twins_address(client, one, address):
    sent = send(client, one)
    answer = client.post(f"{address}save/", {**FORM, "version": "0"})
    assert answer.status_code == 410
    assert answer.json() == {"sent": True, "where": sent.headers["Location"]}
    assert client.post(f"/write/{'0' * 32}/save/", FORM).json()["sent"] is False
    late = client.post(f"{address}check/", FORM, headers={"HX-Request": "true"})
    assert (late.status_code, late.content) == (204, b"")


def test_draft_can_be_discarded(client, address):
    page = client.get(address).content.decode()
    assert "<summary>Discard this draft</summary>" in page
    for _number in range(2):
        assert client.post(f"{address}discard/").headers["Location"] == "/write/"
    assert client.get(address).status_code == 404


def test_hourly_limit_counts_only_submitted_twins(client, one, rules):
    rules(writes_per_hour=1)
    assert send(client, one, domain="").status_code == 422
    assert send(client, one).status_code == 302
    again = type(one).objects.create(person=one.person, topic="x", anchors=["water"])
    late = client.post(f"/write/{again.ref}/", {**FORM, "version": "0", "do": "submit"})
    assert late.status_code == 429
    assert Twin.objects.count() == 1
    assert fresh(again).typed["sentence_1"] == FORM["sentence_1"]


def test_checks_and_saves_share_an_hourly_limit(client, one, address, monkeypatch, rules):
    """A refused request writes nothing; submitting is still possible."""
    monkeypatch.setattr(gates, "TYPING_FACTOR", 2)
    form = {**FORM, "version": "0"}
    rules(writes_per_hour=1)
    statuses = [client.post(f"{address}check/", form).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    part = text(client.post(f"{address}check/", form))
    assert "Your text will be checked again in" in part
    assert "<html" not in part
    assert client.post(f"{address}save/", form).json()["version"] == 1
    assert client.post(address, {**form, "version": "1", "do": "words"}).status_code == 302
    kept = fresh(one).version, one.anchors
    form["version"], form["sentence_1"] = str(one.version), "Another _ ."
    full = client.post(f"{address}save/", form)
    assert full.status_code == client.post(address, {**form, "do": "topic"}).status_code == 429
    assert "Saving will be retried in" in full.json()["reason"]
    assert int(full.headers["Retry-After"]) > 0
    assert (fresh(one).version, one.anchors) == kept
    type(one).objects.update(anchors=["water", "garden", "hose"])
    assert send(client, one).status_code == 302


def test_visitor_without_an_account_can_write_by_session(db, visit):
    somebody = Person.objects.create_anonymous()
    save_agreement(somebody)
    client = visit()
    session = client.session
    session[WRITER] = somebody.pk
    session.save()
    address = client.post("/write/", {"key": new_key()}).headers["Location"]
    Draft.objects.filter(person=somebody).update(anchors=["water"])
    where = client.post(address, {**FORM, "version": "0", "do": "submit"}).headers["Location"]
    page = text(client.get(where))
    assert "you are writing without an account" in page
    assert "waiting for a moderator" in page
    assert visit().get(where).status_code == 404


def test_new_consent_text_keeps_the_draft(client, one, address):
    publish_document("consent", "A new text.")
    answer = send(client, one)
    one.refresh_from_db()
    assert answer.headers["Location"].startswith("/people/")
    assert address.replace("/", "%2F") in answer.headers["Location"].replace("/", "%2F")
    assert one.typed["sentence_1"] == FORM["sentence_1"]
