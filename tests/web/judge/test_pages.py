"""The pages of judging, requested without a browser, and a judge's history."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.web.judge.making import give, gold, passes, singles, twin
from winosmith.web.judge.exclusion import pause_judge
from winosmith.web.judge.models import Gold, Slot
from winosmith.web.judge.submissions import withdraw_twin
from winosmith.web.judge.trust import add_gold
from winosmith.web.moderate.people import get_possible_changes
from winosmith.web.problems.models import Problem


@pytest.fixture
def judge(contributor: Any, visit: Any) -> Callable[[str], Any]:
    """Return a function that returns the client of a judge who has agreed to the texts."""
    return lambda name: visit(contributor(name))


@pytest.fixture
def ann(judge: Any) -> Any:
    """Return the client of a judge."""
    return judge("ann")


def _fields(page: Any, action: str) -> dict[str, str]:
    """Return the hidden fields of the form with this action."""
    form = re.search(rf'<form[^>]*action="{action}".*?</form>', page.content.decode(), re.S)
    assert form, page.content.decode()
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form[0]))


def _send(client: Any, page: Any, action: str, **more: str) -> Any:
    return client.post(action, {**_fields(page, action), **more}, follow=True)


def _next(client: Any) -> Any:
    """Ask for the next problem."""
    return _send(client, client.get("/judge/"), "/judge/next/")


def test_a_vote_needs_few_statements(database, ann):
    """The judge answers from the local context, then votes and gets the next problem."""
    singles(3)
    page = _next(ann)
    for action, limit in (("local", 16), ("answer", 29)) * 2:
        address = f"/judge/{action}/"
        fields = {**_fields(page, address), "choice": "0"}
        with CaptureQueriesContext(connection) as statements:
            page = ann.post(address, fields, headers={"HX-Request": "true"})
        assert len(statements) <= limit


def test_htmx_forms_return_the_next_part_of_the_page(ann):
    """A form that is submitted twice acts once."""
    problems = singles(2)
    sent = {"HX-Request": "true", "HX-Boosted": "true"}
    page = ann.get("/judge/")
    for action, choice in (("next", ""), ("local", "1"), ("answer", "0")):
        address = f"/judge/{action}/"
        fields = {**_fields(page, address), "choice": choice}
        page = ann.post(address, fields, headers=sent)
        assert page.status_code == 200
        assert page.headers["HX-Replace-Url"] == "/judge/"
        text = page.content.decode()
        assert "<title>" in text
        assert "<html" not in text
        assert "Step 2 of 2" in text if action == "local" else "Step 1 of 2" in text
    again = ann.post("/judge/answer/", fields, headers=sent).content.decode()
    assert "Step 1 of 2" in again
    assert [problem.slots.exclude(answered_at=None).count() for problem in problems] == [1, 0]
    nothing = ann.post("/judge/answer/", {**fields, "key": "0" * 32}, headers=sent)
    assert nothing.status_code == 409
    assert "<html" not in nothing.content.decode()


def test_key_of_another_problems_form_is_refused(ann, rules):
    rules(local_first=False)
    first, second = singles(2)
    page = _next(ann)
    used = _fields(page, "/judge/answer/")["key"]
    page = _send(ann, page, "/judge/answer/", choice="0")
    refused = _send(ann, page, "/judge/answer/", choice="1", key=used)
    assert refused.status_code == 422
    assert "already submitted from this page" in refused.content.decode()
    assert not second.slots.exclude(answered_at=None).exists()
    _send(ann, refused, "/judge/answer/", choice="1")
    votes = [problem.slots.exclude(answered_at=None).get().choice for problem in (first, second)]
    assert votes == [0, 1]


def test_a_problem_is_judged_in_two_steps(ann):
    (problem,) = twin(halves=1)
    start = ann.get("/judge/")
    assert "Start judging" in start.content.decode()
    assert not problem.slots.exclude(holder=None)
    local = _send(ann, start, "/judge/next/")
    text = local.content.decode()
    assert "After the cup" not in text
    assert "shelf, the" in text
    assert "Step 1 of 2" in text
    assert 'class="cut"' in text
    whole = _send(ann, local, "/judge/local/", choice="1")
    assert "After the cup" in whole.content.decode()
    assert 'class="cut"' not in whole.content.decode()
    done = _send(ann, whole, "/judge/answer/", choice="0", associative="on", comment="<b>Hm</b>")
    slot = problem.slots.get(n=1)
    assert (slot.local_choice, slot.choice, slot.associative) == (1, 0, True)
    assert slot.comment == "<b>Hm</b>"
    assert not slot.ambiguous
    assert "There is nothing for you to judge" in done.content.decode()


def test_options_are_shown_in_the_stored_order(judge):
    orders = set()
    for at in range(12):
        (problem,) = twin(halves=1)
        ann = judge(f"ann{at}")
        page = _next(ann).content.decode()
        slot = ann.person.slots.get()
        values = [int(value) for value in re.findall(r'name="choice" value="(\d)"', page)]
        assert values == slot.shown
        orders.add(tuple(values))
        slot.delete()
        problem.slots.all().delete()
    assert orders == {(0, 1), (1, 0)}


def test_outdated_form_gets_409_and_keeps_the_comment(ann, rules):
    rules(local_first=False)
    twin(), twin()
    page = _next(ann)
    other = ann.get("/judge/")
    _send(ann, page, "/judge/answer/", choice="0")
    late = _send(ann, other, "/judge/answer/", choice="1", comment="my thought")
    assert late.status_code == 409
    assert "already answered this problem" in late.content.decode()
    assert "my thought" in late.content.decode()
    assert ann.person.slots.get(open=False).choice == 0


@pytest.mark.parametrize("choice", ["", "x", "2", "9", "-1", "１", "1" * 400])
def test_missing_or_forged_choice_is_refused_and_the_input_kept(ann, rules, choice):
    singles(2)
    page = _next(ann)
    local = _send(ann, page, "/judge/local/", choice=choice)
    assert local.status_code == 422
    assert "Choose one of the options." in local.content.decode()
    rules(local_first=False)
    sent = {"associative": "on", "comment": "so far"} | ({"choice": choice} if choice else {})
    refused = _send(ann, ann.get("/judge/"), "/judge/answer/", **sent)
    text = refused.content.decode()
    missing = "Choose the option that fits, or mark the problem as ambiguous."
    assert refused.status_code == 422
    assert ("Choose one of the options." if choice else missing) in text
    assert "so far" in text
    assert re.search(r'name="associative" checked', text)
    for other in ("", "no-such-problem"):  # not the held problem: the choice is not checked
        lost = _send(ann, refused, "/judge/answer/", choice=choice, problem=other)
        assert lost.status_code == 409
    assert not ann.person.slots.exclude(answered_at=None, local_at=None).exists()


def test_gold_page_looks_like_others_until_it_is_answered(judge, ann, rules):
    """Then the page shows that the answer was incorrect, and the explanation."""
    rules(gold_every=1, local_first=False)
    (asked,) = gold(1)
    bob = judge("bob")
    first = _next(ann)
    give(bob.person)
    second = _next(bob)
    pages = []
    for page in (first, second):
        text = re.sub(r'(value|data-keep|data-account)="[^"]*"', "", page.content.decode())
        text = re.sub(r"number \d+|\d+ answered|\bann\b|\bbob\b", "", text)
        pages.append(re.sub(r"<form class=\"undo\".*?</form>", "", text, flags=re.S).split())
    assert sorted(set(pages[0]) ^ set(pages[1])) == []
    held = asked.slots.get(holder=ann.person).ref
    assert ann.get(f"/judge/checked/{held}/").status_code == 404
    told = _send(ann, first, "/judge/answer/", choice="1")
    text = told.content.decode()
    assert "Incorrect" in text
    assert "A jug is heavier" in text
    path = f"/judge/contest/{held}/"
    contested = _send(ann, told, path, text="Cups are glass.")
    assert "a moderator will review it" in contested.content.decode()
    assert judge("cat").get(path.replace("contest", "checked")).status_code == 404


@pytest.mark.parametrize(
    ("training", "said"), [(0, "doesn’t count against you"), (2, "counts as incorrect in the tr")]
)
def test_page_says_how_a_contested_answer_counts(ann, rules, training, said):
    """Until a moderator decides, it counts as incorrect only during training."""
    rules(gold_every=1, local_first=False, training_questions=training, training_right=training)
    gold(3)
    slot = give(ann.person, 1)
    assert said in ann.get(f"/judge/checked/{slot.ref}/").content.decode()


def test_gold_answer_fills_the_blank_of_the_checked_page(ann, rules):
    """The answer is the second option here."""
    rules(gold_every=1, local_first=False)
    twin(halves=1)
    asked = twin(opened=False)[1]
    add_gold(asked, "A jug stands.")
    give(ann.person, 0)
    held = asked.slots.get(holder=ann.person).ref
    page = ann.get(f"/judge/checked/{held}/").content.decode()
    assert '<span class="blank filled">jug</span>' in page
    assert re.findall(r"<dd><bdi[^>]*>(\w+)</bdi></dd>", page) == ["jug", "cup"]


def test_judging_page_says_why_votes_are_on_hold(judge, rules, ann, eva):
    rules(hold_pace_seconds=3)
    singles(2)
    bob, cat = judge("bob"), judge("cat")
    for who in (ann, cat):
        give(who.person)
    pause_judge(cat.person, eva)
    pages = [who.get("/judge/").content.decode() for who in (ann, bob, cat)]
    assert ["Your votes are on hold" in page for page in pages] == [True, False, True]
    assert "You answer faster" in pages[0]
    buttons = [get_possible_changes(eva, who.person) for who in (ann, bob, cat)]
    assert ["pause" in kinds for kinds in buttons] == [True, True, False]


def test_judging_requires_consent(bob, visit):
    browser = visit(bob)
    for form in ("next", "local", "answer", "skip", "undo", "contest/gold"):
        answer = browser.post(f"/judge/{form}/")
        assert (answer.status_code, "/consent/" in answer.headers["Location"]) == (302, True)
    told = browser.get(reverse("judge:checked", args=["gold"]))
    assert (told.status_code, "/consent/" in told.headers["Location"]) == (302, True)


@pytest.mark.parametrize("path", ["", "checked/gold/", "history/", "agreement/"])
def test_pages_without_a_form_refuse_post(judge, path):
    assert judge("ann").post(f"/judge/{path}").status_code == 405


def test_agreement_page_is_public(rules, person, visit):
    """Answers to gold questions have a separate fraction."""
    page = visit().get("/judge/agreement/")
    assert page.status_code == 200
    assert "No decided problems are included" in page.content.decode()
    singles(4)
    for name, choices in (("ann", (0, 0, 0, 1)), ("bob", (0, 1, 1, 1)), ("cat", (0, 0, 0, 1))):
        judge = person(name)
        for choice in choices:
            give(judge, choice)
    rules(gold_every=1)
    gold(3)
    dan = person("dan")
    for choice in (0, 0, 1):
        give(dan, choice)
    page = visit().get("/judge/agreement/").content.decode()
    figures = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", page))
    del figures["Krippendorff’s alpha"]
    assert figures == {
        "problems decided by votes": "4",
        "of these were found valid": "75.0 %",
        "on which all judges chose the same option": "50.0 %",
        "of pairs of judges chose the same option": "66.7 %",
        "of gold questions answered correctly": "66.7 %",
    }


def _get_history(judge: Any) -> str:
    text = judge.get("/judge/history/").content.decode()
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", text)


def test_history_does_not_reveal_gold_questions(rules, ann):
    """The page is the same, byte for byte, whichever of the questions were gold."""
    gold(4)
    singles(4)
    for at in range(8):
        rules(gold_every=at % 2)
        give(ann.person, choice=at % 2, ambiguous=at == 3, comment="So it is." if at == 5 else "")
        passes(ann.person, 60)
    rows = Slot.objects.filter(holder=ann.person)
    assert sorted(slot.gold for slot in rows) == [False] * 4 + [True] * 4
    before = _get_history(ann)
    assert before.count('<p class="sentence"') == 8
    Gold.objects.all().delete()
    for slot in rows:
        Problem.objects.filter(pk=slot.problem_id).update(gold=not slot.gold)
        slot.gold, slot.right = not slot.gold, None
        slot.save(update_fields=["gold", "right"])
    assert _get_history(ann) == before


def test_history_has_only_own_answers_newest_first(ann, bob):
    problems = singles(3)
    for at in range(3):
        give(ann.person, choice=at % 2)
        passes(ann.person, 60)
    give(bob, comment="mine alone")
    page = _get_history(ann)
    found = re.findall(r"jug number (\d+)", page)
    asked = [re.search(r"jug number (\d+)", row.sentence)[1] for row in problems]
    assert found == asked[::-1]
    assert "mine alone" not in page
    chosen = re.findall(r"(\w+)</bdi> <strong>\(your answer\)", page)
    assert 'class="answer"' not in page  # the mark of correct answers
    assert chosen == ["cup", "jug", "cup"]


def test_history_hides_withdrawn_sentences(person, ann):
    zoe = person("zoe")
    (problem,) = twin(zoe, halves=1)
    give(ann.person)
    withdraw_twin(zoe, problem.twin)
    page = _get_history(ann)
    assert problem.sentence not in page
    assert "This sentence is no longer shown." in page
