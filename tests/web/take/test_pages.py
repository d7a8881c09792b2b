"""The pages of tests, in a browser without scripts."""

import re
from typing import Any

import pytest

from tests.web import hostile
from tests.web.making import fresh
from tests.web.take.conftest import closed, fill, twins
from winosmith.web import importing
from winosmith.web.judge.models import Slot
from winosmith.web.people.gates import new_key
from winosmith.web.people.privacy import get_pending_documents, publish_document
from winosmith.web.take.models import Sitting
from winosmith.web.take.sheets import (
    assign_sheet,
    measure_time_shown,
    read_sheet,
    sign_time_shown,
)

pytestmark = pytest.mark.usefixtures("db")


@pytest.fixture
def ann(contributor: Any, visit: Any) -> Any:
    """Return the browser of Ann, who agreed to the site's texts; `ann.person` is her account."""
    return visit(contributor())


def _hidden(page: Any, *names: str) -> dict[str, str]:
    """Return the values of hidden fields in the first form of a page."""
    text = page.content.decode()
    found = {}
    for name in names:
        match = re.search(rf'name="{name}" value="([^"]*)"', text)
        assert match, name
        found[name] = match[1]
    return found


def _begin(browser: Any, made: Any, **told: str) -> Any:
    """Start a test; return the sitting."""
    page = browser.get(f"/tests/round/{made.name}/")
    form = {**_hidden(page, "key"), "agree": "yes", **told}
    answer = browser.post(f"/tests/round/{made.name}/", form)
    assert answer.status_code == 302
    return Sitting.objects.get(ref=answer.headers["Location"].split("/")[-2])


def _send(browser: Any, sitting: Any, number: int, **form: str) -> Any:
    url = f"/tests/sheet/{sitting.ref}/{number}/"
    held = _hidden(browser.get(url), "key", "shown", "seconds")
    return browser.post(url, {**held, "do": "next", **form})


def test_whole_test_is_taken_and_stored(ann, opened):
    made = opened(twins(6))
    refused = ann.post(f"/tests/round/{made.name}/", {"key": "k" * 20})
    assert refused.status_code == 422
    assert "Tick the box" in refused.content.decode()
    sitting = _begin(ann, made, native="yes")
    told = ann.get(f"/tests/sheet/{sitting.ref}/").content.decode()
    assert "genuinely ambiguous" in told
    assert "The gardener leaned the ladder" in told
    for number, letter in enumerate("ABXAB", start=1):
        answer = _send(ann, sitting, number, letter=letter, seconds="")
        assert answer.headers["Location"].endswith(f"/{number + 1}/")
    assert ann.get(f"/tests/sheet/{sitting.ref}/").headers["Location"].endswith("/6/")
    answer = _send(ann, sitting, 6, source="A novel", word="to mow")
    assert answer.headers["Location"].endswith("/end/")
    end = ann.get(answer.headers["Location"])
    assert "You have answered 5 of 6 questions" in end.content.decode()
    assert f'href="/tests/sheet/{sitting.ref}/6/"' in end.content.decode()
    form = {**_hidden(end, "key"), "do": "note recognised", "number": "2", "text": "A film"}
    assert ann.post(f"/tests/sheet/{sitting.ref}/end/", form).status_code == 302
    end = ann.get(f"/tests/sheet/{sitting.ref}/end/")
    form = {**_hidden(end, "key"), "do": "finish"}
    done = ann.post(f"/tests/sheet/{sitting.ref}/end/", form, follow=True).content.decode()
    assert "Thank you" in done
    assert sitting.subject.code in done
    assert (fresh(sitting).state, sitting.subject.native) == ("done", True)
    letters = sitting.answers.order_by("number").values_list("letter", flat=True)
    assert list(letters) == ["A", "B", "X", "A", "B", ""]
    noted = sitting.remarks.order_by("number", "kind").values_list("kind", "number", "text")
    assert list(noted) == [
        ("recognised", 2, "A film"), ("recognised", 6, "A novel"), ("word", 6, "to mow"),
    ]  # fmt: skip
    form = {"key": new_key(), "shown": "", "seconds": "1", "letter": "B"}
    late = ann.post(f"/tests/sheet/{sitting.ref}/1/", form)
    assert late.status_code == 409
    assert "You can no longer fill in this sheet" in late.content.decode()


def test_consent_is_given_once_above_the_first_field(opened, person, visit):
    """One tick is for the texts of the test and of the site.

    If the tick is missing, or a text has changed, the form is shown with its input and without a
    tick.
    """
    made = opened(twins(6))
    new, url = person("new"), f"/tests/round/{made.name}/"
    browser = visit(new)
    page = browser.get(url).content.decode()
    assert "What is stored about you" in page
    assert "What you grant" not in page, "respondents contribute no sentences"
    assert page.index('name="agree"') < page.index('name="native"')
    shown = re.findall(r'name="shown" value="(\d+)"', page)
    form = {"shown": shown, "native": "no"}
    for changed, more in ((False, {}), (True, {"agree": "yes"})):
        if changed:
            publish_document("consent", "You take part in something else.")
        answer = browser.post(url, {**form, **more, **_hidden(browser.get(url), "key")})
        assert answer.status_code == 422
        assert 'id="native-no" checked' in answer.content.decode()
        assert not re.search('id="agree"[^>]* checked', answer.content.decode())
        assert get_pending_documents(new, answering=True)
    form["shown"] = re.findall(r'name="shown" value="(\d+)"', answer.content.decode())
    answer = browser.post(url, {**form, "agree": "yes", **_hidden(answer, "key")})
    assert answer.headers["Location"].startswith("/tests/sheet/")
    assert Sitting.objects.get(subject__person=new).subject.native is False
    assert not get_pending_documents(new, answering=True)
    assert [each.kind for each in get_pending_documents(new)] == ["licence"]


def test_new_consent_text_does_not_interrupt_a_sheet(ann, opened):
    sitting = _begin(ann, opened())
    publish_document("consent", "You take part in something else.")
    answer = _send(ann, sitting, 1, letter="A", word="to mow")
    assert answer.headers["Location"].endswith("/2/")
    assert sitting.answers.get(number=1).letter == "A"


def test_question_shows_options_in_order_but_no_ids(ann, opened):
    """It has the same parts as on paper: text, letters in order, X and label."""
    data = twins(6)
    sitting = _begin(ann, opened(data))
    for item in read_sheet(sitting.sheet).items:
        page = ann.get(f"/tests/sheet/{sitting.ref}/{item.number}/").content.decode()
        shown = re.findall(r'name="letter" value="(\w)".*?<span[^>]*>([^<]+)</span>', page)
        assert [letter for letter, _ in shown] == [*item.letters, "X"]
        assert [text for _, text in shown[:-1]] == list(item.options)
        assert f"Question {item.number}" in page
        assert (item.label or "PREVIOUS QUESTION") in page if item.label else True
        assert not any(ref in page for ref in data.ids)
        assert sitting.sheet.code not in page
        assert "Back" in page if item.number > 1 else "Back" not in page


def test_time_is_measured_without_javascript(ann, opened):
    """The time between page and form counts; a script's time must not exceed it."""
    sitting = _begin(ann, opened())
    _send(ann, sitting, 1, letter="A", seconds="")
    _send(ann, sitting, 2, letter="A", seconds="9999")
    _send(ann, sitting, 3, letter="A", seconds="0.01")
    _send(ann, sitting, 4, letter="A", seconds="nan")
    seconds = dict(sitting.answers.values_list("number", "seconds"))
    assert all(0 <= seconds[n] < 5 for n in (1, 2))
    assert seconds[1] > 0
    assert seconds[3] <= 0.01
    assert seconds[4] == 0
    mark = sign_time_shown(sitting, 1)
    assert measure_time_shown(mark, "1", sitting, 2) == 0
    assert measure_time_shown("forged" + mark, "1", sitting, 1) == 0


def test_replayed_form_changes_nothing(ann, opened):
    sitting = _begin(ann, opened())
    url = f"/tests/sheet/{sitting.ref}/1/"
    held = {**_hidden(ann.get(url), "key", "shown"), "seconds": "0.001", "letter": "A"}
    ann.post(url, held)
    before = sitting.answers.get().seconds
    _send(ann, sitting, 1, letter="B", seconds="0")
    again = ann.post(url, held)
    assert again.status_code == 302
    row = sitting.answers.get()
    assert (row.letter, row.seconds) == ("B", before)


def test_script_gets_the_next_address_as_json(ann, opened):
    sitting = _begin(ann, opened())
    url = f"/tests/sheet/{sitting.ref}/1/"
    form = {"key": new_key(), "letter": "B", "seconds": "1", "shown": ""}
    answer = ann.post(url, form, headers={"accept": "application/json"})
    assert answer.json() == {"to": f"/tests/sheet/{sitting.ref}/2/"}
    left = ann.post(url, {**form, "key": new_key(), "letter": "X", "do": "stay"})
    assert (left.status_code, left.content) == (204, b"")
    assert sitting.answers.get().letter == "X"


def test_visitor_without_an_account_cannot_start_a_test(opened, visit):
    made = opened()
    page = visit().get(f"/tests/round/{made.name}/").content.decode()
    assert "You need an account to take a test" in page
    assert 'name="agree"' not in page
    answer = visit().post(f"/tests/round/{made.name}/", {"key": "k" * 20, "agree": "yes"})
    assert "/login/" in answer.headers["Location"]


def test_leaving_a_test_requires_confirmation(ann, opened):
    sitting = _begin(ann, opened())
    url = f"/tests/sheet/{sitting.ref}/give-up/"
    page = ann.get(url)
    assert "Leave this test?" in page.content.decode()
    done = ann.post(url, _hidden(page, "key"), follow=True)
    assert "You have left the test" in done.content.decode()
    assert fresh(sitting).state == "dropped"
    again = ann.get(f"/tests/round/{sitting.subject.round.name}/").content.decode()
    assert "You can’t take this test" in again


def test_judging_is_refused_during_a_test(ann, opened):
    importing.import_problems(twins(3, start=40), "judging")
    _begin(ann, opened())
    assert "Finish your test first" in ann.get("/judge/").content.decode()
    answer = ann.post("/judge/next/", {"key": new_key()}, follow=True)
    assert "Finish your test first" in answer.content.decode()
    assert not Slot.objects.filter(holder=ann.person).exists()


def test_moderators_see_progress_and_then_results(opened, person, eva, bob, visit):
    made = opened(twins(6), orders=2)
    for number in range(4):
        who = person(f"s{number}")
        fill(who, assign_sheet(who, made, native=number % 2 == 0), seed=number)
    sitting = assign_sheet(bob, made)
    browser = visit(eva)
    listed = browser.get("/tests/progress/").content.decode()
    assert made.name in listed
    page = browser.get(f"/tests/progress/{made.name}/").content.decode()
    assert sitting.subject.code in page
    assert "bob" not in page
    assert "intended" not in page
    assert "median seconds between answers" in page
    closed(made, drop=True)
    page = browser.get(f"/tests/progress/{made.name}/").content.decode()
    assert f"{100 * fresh(made).figures['right'] / made.figures['answers']:.1f} %" in page
    assert "Krippendorff" in page
    assert "Mean seconds per question" in page
    assert "The time is measured only while the question’s page is visible." in page
    assert browser.get("/tests/progress/nothing/").status_code == 404


def test_question_without_answers_has_no_reading(opened, person, visit, eva):
    made, who = opened(twins(6)), person("ann")
    fill(who, assign_sheet(who, made))
    closed(made)
    browser = visit(eva)
    page = browser.get(f"/tests/progress/{made.name}/").content.decode()
    assert page.count("<td>no answers</td>") == 1
    assert "Unanswered questions are included and count as incorrect." in page


def test_submitted_test_is_not_offered_again(ann, opened):
    made = opened(twins(6))
    assert made.title in ann.get("/tests/").content.decode()
    path = f"/tests/round/{made.name}/"
    assert "What you agree to" in ann.get(path).content.decode()
    fill(ann.person, assign_sheet(ann.person, made))
    page = ann.get("/tests/").content.decode()
    assert path not in page
    assert "Tests that you took" in page
    assert "What you agree to" not in ann.get(path).content.decode()


def test_texts_of_an_open_round_are_not_public(opened, visit):
    data = twins(6)
    made = opened(data)
    word = data[0].sentence.split()[1]
    for url in ("/", "/tests/", f"/tests/round/{made.name}/", "/problems/", f"/problems/?q={word}",
                "/download/problems.csv", f"/problems/{data.ids[0]}/"):  # fmt: skip
        answer = visit().get(url)
        body = answer.getvalue()
        assert data[0].sentence.split("_")[0].strip() not in body.decode()


@pytest.mark.long
def test_hostile_notes_are_escaped(ann, opened):
    sitting = _begin(ann, opened())
    kept = 0
    for text in hostile.TEXTS:
        tidy = " ".join(text.split())
        fits = len(tidy) <= 200 and tidy.isprintable()
        answer = _send(ann, sitting, 1, letter="A", source=text, word=text)
        assert answer.status_code == (302 if fits else 422)
        shown = ann.get(f"/tests/sheet/{sitting.ref}/1/") if fits else answer
        question = hostile.Page(shown.content.decode())
        end = hostile.Page(ann.get(f"/tests/sheet/{sitting.ref}/end/").content.decode())
        assert question.faults == end.faults == []
        if fits:
            kept += 1
            assert question.values.count(tidy) == 2
            assert tidy in end.text
    assert kept > 30
