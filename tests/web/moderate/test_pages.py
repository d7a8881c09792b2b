"""The moderators' pages and forms."""

import re
from typing import Any

import pytest

from tests.web.making import fresh, vote
from winosmith.web.judge.models import Contest, Judge
from winosmith.web.judge.trust import add_gold
from winosmith.web.judge.turns import lease_next_problem
from winosmith.web.judge.votes import open_slots
from winosmith.web.moderate.decisions import get_newest_events
from winosmith.web.moderate.queue import filter_log, read_log_filters
from winosmith.web.people.models import get_pseudonym
from winosmith.web.problems.lookalikes import index_problems
from winosmith.web.problems.models import Problem
from winosmith.web.problems.states import move

KEY = "0123456789abcdef0123456789abcdef"


def _pick(half: Any) -> str:
    return f"{half.ref}:{get_newest_events([half]).get(half.pk, 0)}"


def _sent(half: Any, action: str = "withdraw", key: str = KEY, **more: str) -> dict[str, str]:
    return {"key": key, "action": action, "pick": _pick(half), "preset": "0", **more}


def test_unknown_names_and_marks_give_404(eva, visit):
    client = visit(eva)
    for page in ("problems/none/", "batches/none/", "people/p-000000000000/", "ask/?action=x"):
        assert client.get(f"/moderate/{page}").status_code == 404


def test_problem_page_shows_hints_and_votes_without_names(bob, ann, eva, twin, visit):
    half, other = twin(ann, state="judging", hints=["names: Ada Lovelace"])
    near = twin(state="rejected")[0]
    index_problems(near)
    vote(bob, half, None, ambiguous=True, comment="Both fit.")
    page = visit(eva).get(f"/moderate/problems/{half.ref}/").content.decode()
    shown = ("<mark>large</mark>", "<mark>small</mark>", "Ada Lovelace", "Judge 1", "Both fit.")
    assert all(text in page for text in (*shown, get_pseudonym(ann), other.ref))
    assert near.sentence.split("_")[0] in page
    assert not any(name in page for name in ("bob", get_pseudonym(bob), ">ann<"))


@pytest.mark.parametrize(
    "page", ["/moderate/problems/{}/", "/problems/{}/", "/moderate/?state=judging"]
)
def test_moderator_judges_neither_half_on_a_page_that_they_read(
    rules, person, bob, twin, visit, page
):
    """Even if one person may judge both halves: the page shows both answers."""
    rules(both_halves=True)
    moderator = person("both", is_moderator=True, is_judge=True)
    first, second = twin(state="judging")
    for half in (first, second):
        open_slots(half)
    visit(moderator).get(page.format(first.ref))
    assert lease_next_problem(moderator) is None
    assert lease_next_problem(bob) is not None


def test_form_submitted_three_times_acts_once(eva, twin, visit):
    half = twin()[0]
    client = visit(eva)
    sent = _sent(half, text="in my words", back="/moderate/?state=held&done=old")
    answers = [client.post("/moderate/act/", sent) for _ in range(3)]
    assert {a.status_code for a in answers} == {302}
    assert len({a["Location"] for a in answers}) == 1
    assert re.fullmatch(r"/moderate/\?state=held&done=[0-9a-f]{32}", answers[0]["Location"])
    event = half.events.get()
    assert event.reason.endswith("in my words")
    assert event.reason != "in my words"
    assert "Undo" in client.get(answers[0]["Location"]).content.decode()


def test_form_of_an_outdated_page_gets_409(eva, max_, twin, visit, do):
    """The page shows the first decision, and its form can be submitted."""
    half = twin()[0]
    sent = _sent(half, text="my own words")
    do(eva, "let-through", half, reason="the first reason")
    client = visit(max_)
    answer = client.post("/moderate/act/", sent)
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "the first reason" in page
    assert "eva" in page
    assert "my own words" in page
    fields = dict(re.findall(r'name="(key|pick)" value="([^"]+)"', page))
    assert client.post("/moderate/act/", {**sent, **fields}).status_code == 302
    assert fresh(half).state == "withdrawn"


def _get_confirmation(client: Any) -> tuple[str, dict[str, str]]:
    """Return the page that confirms withdrawing all valid problems, and its form's fields."""
    asked = client.get("/moderate/ask/?action=withdraw&everything=1&where=state%3Dvalid")
    page = asked.content.decode()
    form = page.split('action="/moderate/act/"')[1]
    return page, dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))


def test_action_on_all_matches_is_confirmed_and_undone(eva, twin, visit):
    for _ in range(3):
        twin(state="valid")
    twin(state="rejected")
    client = visit(eva)
    page, fields = _get_confirmation(client)
    assert "<strong>6</strong>" in page
    done = client.post("/moderate/act/", {**fields, "preset": "0"})
    assert Problem.objects.filter(state="withdrawn").count() == 6
    mark = done["Location"][-32:]
    assert client.post("/moderate/undo/", {"key": KEY, "batch": mark}).status_code == 302
    assert Problem.objects.filter(state="valid").count() == 6


def test_changed_count_must_be_confirmed_again(eva, max_, twin, visit, do):
    halves = twin(state="valid")
    client = visit(eva)
    _page, fields = _get_confirmation(client)
    do(max_, "reject", halves[0])
    answer = client.post("/moderate/act/", {**fields, "preset": "0"})
    assert answer.status_code == 422
    assert "1 problems match now instead of 2" in answer.content.decode()
    assert fresh(halves[1]).state == "valid"


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example/moderate/", "/admin/"])
def test_foreign_return_address_is_replaced_by_the_queue(eva, twin, visit, back):
    answer = visit(eva).post("/moderate/act/", _sent(twin()[0], back=back))
    assert answer["Location"].startswith("/moderate/?done=")


def test_log_filters_by_person_action_problem_and_day(ann, eva, twin, visit, do):
    half, other = twin(ann, state="judging")
    move(half, "rejected", actor=None, kind="verdict")
    do(eva, "accept", half)
    move(other, "withdrawn", actor=ann, kind="withdraw")
    day = half.events.first().at.date().isoformat()

    def kinds(**asked: str) -> list[str]:
        return [event.kind for event in filter_log(read_log_filters(asked))]

    assert kinds() == ["withdraw", "accept", "verdict"]
    assert kinds(who="site") == ["verdict"]
    assert kinds(who="eva") == ["accept"]
    assert kinds(who=get_pseudonym(ann)) == ["withdraw"]
    assert kinds(who="ann") == []
    assert kinds(what="accept") == ["accept"]
    assert kinds(ref=half.ref) == ["accept", "verdict"]
    assert kinds(since=day, until=day) == kinds() == kinds(since="0001-01-01", until="9999-12-31")
    assert kinds(until="2020-01-01") == kinds(since="2999-01-01") == []
    assert kinds(since="no day") == kinds()
    page = visit(eva).get("/moderate/log/").content.decode()
    assert '<option value="import">imported</option>' in page


def test_only_admins_see_and_find_names(person, adam, eva, visit):
    ann = person("ann-of-the-hills")
    path = f"/moderate/people/{get_pseudonym(ann)}/"
    browser = visit(eva)
    for page in ("/moderate/people/", path):
        assert "ann-of-the-hills" not in browser.get(page).content.decode()
    assert browser.get("/moderate/people/?who=ann-of-the-hills").status_code == 200
    assert visit(adam).get("/moderate/people/?who=ann-of-the-hills")["Location"] == path
    assert "ann-of-the-hills" in visit(adam).get(path).content.decode()


def test_appointment_form_acts_once(bob, eva, visit):
    client, path = visit(eva), f"/moderate/people/{get_pseudonym(bob)}/appoint/"
    assert client.post(path, {"key": KEY, "kind": "judge", "reason": " "}).status_code == 422
    for _ in range(2):
        sent = {"key": KEY, "kind": "judge", "reason": "reads well"}
        assert client.post(path, sent).status_code == 302
    assert client.post(path, {**sent, "kind": "pause"}).status_code == 422
    assert (fresh(bob).is_judge, bob.appointments.count()) == (True, 1)


def test_contest_is_settled_once(bob, eva, max_, twin, visit):
    half = twin(state="held")[0]
    question = add_gold(half, "A big cup does not fit.")
    slot = vote(bob, half, 1, gold=True, right=False)
    one = Contest.objects.create(slot=slot, text="The shelf is meant.")
    client, path = visit(eva), f"/moderate/contests/{one.pk}/settle/"
    assert "The shelf is meant." in client.get("/moderate/contests/").content.decode()

    Judge.objects.create(person=slot.holder)
    assert client.post(path, {"key": KEY, "upheld": "1", "answer": ""}).status_code == 422
    assert client.post(path, {"key": KEY, "upheld": "1", "answer": "True."}).status_code == 302
    assert fresh(question).retired
    other = visit(max_).post(path, {"key": KEY, "upheld": "0", "answer": "No."})
    assert other.status_code == 409


@pytest.mark.parametrize(
    ("action", "chosen"), [("let-through", 1), ("reject", 0), ("withdraw", 0), ("accept", 0)]
)
def test_no_reason_is_preselected_for_decisions_against_people(twin, eva, visit, action, chosen):
    """Accepting a problem goes against the judges."""
    one, _ = twin()
    client = visit(eva)
    page = client.get("/moderate/ask/", {"action": action, "pick": f"{one.ref}:0"}).content.decode()
    assert page.count("checked") == chosen
    form = {"action": action, "pick": f"{one.ref}:0", "key": "k" * 32, "preset": "", "text": ""}
    if not chosen:
        answer = client.post("/moderate/act/", form)
        assert (answer.status_code, "Give a reason" in answer.content.decode()) == (422, True)
        assert not one.events.exists()
