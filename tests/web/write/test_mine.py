"""The pages of one's own twins and versions: counts, votes, appeals, withdrawal and revision."""

from typing import Any

from django.core.cache import cache
from django.utils import timezone

from tests.web.lineaged import child, root
from tests.web.making import fresh, single
from tests.web.write.conftest import FORM, send, submitted, text
from winosmith.web import _cache
from winosmith.web.judge.exclusion import change_votes
from winosmith.web.judge.models import Slot
from winosmith.web.judge.submissions import withdraw_twin
from winosmith.web.judge.votes import settle_votes
from winosmith.web.moderate.models import Appeal
from winosmith.web.problems.family import get_path
from winosmith.web.problems.models import Event, Problem, State, Twin
from winosmith.web.problems.records import as_problem
from winosmith.web.problems.states import move
from winosmith.web.write.models import Draft
from winosmith.web.write.page import count_problems


def test_votes_are_shown_without_names_after_the_decision(client, one, contributor):
    where = send(client, one).headers["Location"]
    half = Problem.objects.get(sentence=FORM["sentence_1"])
    for number, slot in enumerate(Slot.objects.filter(problem=half).order_by("n")):
        slot.holder = contributor(f"judge-{number}-secret")
        slot.choice, slot.ambiguous, slot.comment = number % 2, number == 1, f"comment {number}"
        slot.open, slot.answered_at = False, timezone.now()
        slot.save()
    assert "comment 1" not in text(client.get(where))
    Problem.objects.filter(pk=half.pk).update(
        state="rejected", decided=timezone.now(), reasons=["two of three were unsure"]
    )
    page = text(client.get(where))
    assert "Why the judges rejected it" in page
    for shown in ("Judge 1", "Judge 2", "Judge 3", "comment 1", "both may fit", "two of three"):
        assert shown in page
    assert "secret" not in page


def test_appeal_reaches_the_moderators_once(client, one):
    where = send(client, one).headers["Location"]
    half = Problem.objects.get(sentence=FORM["sentence_1"])
    form = {"problem": half.ref, "text": "Read it again.", "key": "a" * 32}
    early = client.post(f"{where}appeal/", form)
    assert early.status_code == 422
    assert "Read it again." not in text(early)  # there is no form yet that keeps it
    move(half, State.REJECTED, actor=None, kind="verdict", reason="ambiguous")
    empty = client.post(f"{where}appeal/", {**form, "text": " ", "key": "b" * 32})
    assert (empty.status_code, "characters." in text(empty)) == (422, True)
    for _number in range(2):
        assert client.post(f"{where}appeal/", form).status_code == 302
    assert Appeal.objects.get().text == "Read it again."
    page = text(client.get(where))
    assert "Your appeal is waiting" in page
    assert "ambiguous" in page


def test_twin_is_revised_and_withdrawn_by_buttons(client, one):
    """Sent twice, a withdrawal is one event for each half."""
    where = send(client, one).headers["Location"]
    form = client.post(f"{where}revise/").headers["Location"]
    page = text(client.get(form))
    assert FORM["sentence_1"] in page
    assert "Draw another topic" not in page
    key = form.strip("/").rpartition("/")[2]
    typed = Draft.objects.get(ref=key).typed
    changed = {**typed, "sentence_1": typed["sentence_1"].replace("carried", "brought")}
    changed["sentence_2"] = typed["sentence_2"].replace("carried", "brought")
    sent = client.post(form, {**changed, "version": "0", "do": "submit"})
    new = Twin.objects.get(revises__isnull=False)
    assert sent.headers["Location"] == f"/write/mine/{new.ref}/"
    assert "later version" in text(client.get(where))
    for _number in range(2):
        client.post(f"/write/mine/{new.ref}/withdraw/", {"key": "c" * 32, "reason": "a slip"})
    assert Event.objects.filter(kind="withdraw").count() == 2
    assert {half.state for half in new.problems.all()} == {"withdrawn"}


def test_held_twin_shows_the_reason_if_there_is_one(client, one, rules):
    rules(words_to_flag=("garden",))
    where, waits = send(client, one).headers["Location"], "A moderator will check your text first"
    page = text(client.get(where))
    assert waits in page
    assert "words on this site&#x27;s list: garden" in page
    rules(words_to_flag=())
    assert f"<p>{waits}.</p>" in text(client.get(where))


def test_half_that_waits_for_the_other_is_marked(client, one):
    send(client, one)
    assert "waiting for the other half" not in _get_page(client)
    Problem.objects.filter(sentence=FORM["sentence_1"]).update(state=State.VALID, waits=True)
    assert _get_page(client).count("waiting for the other half") == 1


def test_own_twins_are_listed_in_pages(client, one):
    """Attention questions are not listed."""
    for number in range(22):
        sentence = f"Sentence <i>{number:02}</i> _."
        single(f"p{number}", sentence, by=one.person, state="judging", gold=number == 0)
    first, second = text(client.get("/write/mine/")), text(client.get("/write/mine/?page=2"))
    assert first.count("Sentence &lt;i&gt;") == 20
    assert second.count("Sentence &lt;i&gt;") == 1
    assert "page=2" in first
    assert client.get("/write/mine/of-p0/").status_code == 404


def test_history_shows_the_moderators_action_and_reason(client, one, eva):
    where = send(client, one).headers["Location"]
    half = Problem.objects.get(sentence=FORM["sentence_1"])
    move(half, State.REJECTED, actor=eva, kind="reject", reason="It is too close to another.")
    page = " ".join(text(client.get(where)).split())
    assert "A moderator rejected your sentence: <bdi>It is too close to another." in page


def test_excluded_votes_are_reported_without_the_judge(client, one, address, person, eva):
    """The page, the news and the personal data don't contain the moderator's words on a judge."""
    where = send(client, one).headers["Location"]
    half = Problem.objects.get(sentence=FORM["sentence_1"])
    judges = [person(f"judge {number}") for number in range(4)]
    for judge, choice in zip(judges, (half.answer, half.answer, 1 - half.answer), strict=False):
        _vote(half, judge, choice)
    assert fresh(half).state == "valid"
    change_votes(judges[0], "exclude", eva, "p-123 is a friend of theirs")
    assert "Some votes were excluded; other judges will judge your sentence" in text(
        client.get(where)
    )
    _vote(half, judges[3], 1 - half.answer)
    change_votes(judges[1], "exclude", eva, "so is this one")
    change_votes(judges[0], "include", eva, "no friend")
    assert fresh(half).state == "rejected"
    for address in (where, "/people/news/", "/people/about-me.json"):
        page = text(client.get(address))
        assert "A moderator rejected" not in page
        assert "friend" not in page
    page = text(client.get(where))
    assert "A vote was excluded" in page
    assert "A vote was included again" in page


def _vote(half: Any, judge: Any, choice: int) -> None:
    """Store a judge's vote on a half, regardless of the queue."""
    slot = Slot.objects.filter(problem=half, open=True).order_by("n")[0]
    slot.holder, slot.choice, slot.open = judge, choice, False
    slot.local_choice, slot.shown = 1 - half.answer, [0, 1]
    slot.answered_at = slot.local_at = timezone.now()
    slot.save()
    settle_votes(fresh(half))


def _get_page(client: Any, problem: Any = None) -> str:
    path = f"/write/mine/{problem.twin.ref}/" if problem else "/write/mine/"
    answer = client.get(path)
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_own_versions_are_listed_with_parent_and_depths(db, ann, visit):
    top = root()
    made = child(top, ann, new=("fit", "belong"), declared=2)
    for page in (_get_page(visit(ann)), _get_page(visit(ann), made)):
        assert f'href="/problems/{top.ref}/"' in page
        assert f'href="/perturb/made/{made.ref}/"' in page
        assert "declared 2, lineage 1, edit 1" in page
        assert "<del>" in page


def test_page_of_a_version_does_not_mention_halves(db, ann, visit):
    """Revising a version leads to the form for perturbing."""
    made = child(root(), ann, new=("fit", "belong"), state="judging")
    page = _get_page(visit(ann), made).split("<main")[1].split("</main")[0]
    assert "half" not in page.lower().replace("behalf", "")
    assert "halves" not in page.replace('class="halves"', "")
    assert f'href="/perturb/{made.ref}/revise/"' in page
    answer = visit(ann).post(f"/write/mine/{made.twin.ref}/revise/")
    assert (answer.status_code, answer["Location"]) == (302, f"/perturb/{made.ref}/revise/")


def test_words_of_a_withdrawn_parent_are_not_shown(db, ann, bob, visit):
    middle = child(root(), bob, new=("not fit", "secretly fit"))
    made = child(middle, ann, new=("secretly fit", "truly fit"))
    assert "secretly" in _get_page(visit(ann), made)
    withdraw_twin(bob, middle.twin)
    for page in (_get_page(visit(ann), made), _get_page(visit(ann))):
        assert "secretly" not in page
        assert middle.ref not in page
        assert "truly" in page


def test_versions_survive_the_withdrawal_of_their_parent(db, ann, bob):
    top = root()
    middle = child(top, ann, new=("fit", "belong"))
    made = child(middle, bob)
    before = as_problem(made)
    withdraw_twin(ann, middle.twin, "because")
    states = dict(Problem.objects.values_list("ref", "state"))
    assert states == {top.ref: "valid", middle.ref: "withdrawn", made.ref: "valid"}
    assert as_problem(Problem.objects.get(pk=made.pk)) == before
    assert get_path(made) == [top, middle, made]


def test_counts_include_only_the_persons_own_sentences(db, ann, bob, rules):
    """Each half of a twin counts as a sentence."""
    rules(review="none")
    first, _second, third = submitted(ann), submitted(ann), submitted(ann)
    submitted(bob)
    Problem.objects.filter(twin=first).update(state="valid")
    Problem.objects.filter(pk=third.problems.first().pk).update(state="valid")
    found = count_problems(ann)
    assert (found.total, found.held, found.judging, found.valid) == (6, 0, 3, 3)
    assert count_problems(None).total == 0


def test_cached_counts_belong_to_one_writer(db, ann, bob, monkeypatch):
    """The counts of many problems are cached for a moment."""
    monkeypatch.setattr(_cache, "PROBLEMS_PER_SECOND", 2)
    submitted(ann)
    assert count_problems(ann).judging == 2
    submitted(ann)
    assert (count_problems(ann).judging, count_problems(bob).judging) == (2, 0)
    cache.clear()
    assert (count_problems(ann).judging, count_problems(ann).held) == (2, 2)
    cache.clear()
