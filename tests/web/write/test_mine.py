"""One's own twins and versions: votes, appeals, withdrawing and revising, by their pages."""

from typing import Any

from django.utils import timezone

from tests.web.lineaged import child, root
from tests.web.making import fresh, single
from tests.web.write.conftest import FORM, send, text
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


def test_votes_are_shown_without_names_once_decided(
    client: Any, one: Any, contributor: Any
) -> None:
    """The judges' marks and comments appear with the decision, as Judge 1 to k; no name does."""
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


def test_an_appeal_reaches_the_moderators_once(client: Any, one: Any) -> None:
    """A rejected half can be appealed in words; sent twice it is one appeal, which waits."""
    where = send(client, one).headers["Location"]
    half = Problem.objects.get(sentence=FORM["sentence_1"])
    form = {"problem": half.ref, "text": "Read it again.", "key": "a" * 32}
    early = client.post(f"{where}appeal/", form)
    assert early.status_code == 422
    assert "Read it again." not in text(early)  # no form to keep it in: there is no appeal yet
    move(half, State.REJECTED, actor=None, kind="verdict", reason="ambiguous")
    empty = client.post(f"{where}appeal/", {**form, "text": " ", "key": "b" * 32})
    assert (empty.status_code, "characters." in text(empty)) == (422, True)
    for _number in range(2):
        assert client.post(f"{where}appeal/", form).status_code == 302
    assert Appeal.objects.get().text == "Read it again."
    page = text(client.get(where))
    assert "Your appeal is waiting" in page
    assert "ambiguous" in page


def test_withdrawing_and_revising_by_their_buttons(client: Any, one: Any) -> None:
    """A revision opens a filled form that replaces the twin; withdrawing twice is one event."""
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


def test_held_twins_say_why(client: Any, one: Any, rules: Any) -> None:
    """What made a moderator's look worth while is told to the contributor."""
    rules(words_to_flag=("garden",))
    page = text(client.get(send(client, one).headers["Location"]))
    assert "A moderator will check your text first" in page
    assert "words on this site&#x27;s list: garden" in page


def test_a_half_that_waits_for_the_other_is_marked(client: Any, one: Any) -> None:
    """It is valid but not public, which the list of one's own sentences says."""
    send(client, one)
    assert "waiting for the other half" not in _page(client)
    Problem.objects.filter(sentence=FORM["sentence_1"]).update(state=State.VALID, waits=True)
    assert _page(client).count("waiting for the other half") == 1


def test_my_twins_come_in_pages(client: Any, one: Any) -> None:
    """Twenty twins stand on a page; the rest follow, and no attention question is among them."""
    for number in range(22):
        sentence = f"Sentence <i>{number:02}</i> _."
        single(f"p{number}", sentence, by=one.person, state="judging", gold=number == 0)
    first, second = text(client.get("/write/mine/")), text(client.get("/write/mine/?page=2"))
    assert first.count("Sentence &lt;i&gt;") == 20
    assert second.count("Sentence &lt;i&gt;") == 1
    assert "page=2" in first
    assert client.get("/write/mine/of-p0/").status_code == 404


def test_what_a_moderator_did_stands_before_the_reason(client: Any, one: Any, eva: Any) -> None:
    """The history of one's own half says what a moderator made of it, and then why."""
    where = send(client, one).headers["Location"]
    half = Problem.objects.get(sentence=FORM["sentence_1"])
    move(half, State.REJECTED, actor=eva, kind="reject", reason="It is too close to another.")
    page = " ".join(text(client.get(where)).split())
    assert "A moderator rejected your sentence: <bdi>It is too close to another." in page


def test_votes_that_leave_the_count_are_told_without_their_judge(
    client: Any, one: Any, address: str, person: Any, eva: Any
) -> None:
    """A recount is told as what the votes say, and no word of a moderator's about a judge with it.

    So it is on the page, in the news and in what the site holds about the contributor.
    """
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
    """Let somebody judge a half, whatever is before it in the queue."""
    slot = Slot.objects.filter(problem=half, open=True).order_by("n")[0]
    slot.holder, slot.choice, slot.open = judge, choice, False
    slot.local_choice, slot.shown = 1 - half.answer, [0, 1]
    slot.answered_at = slot.local_at = timezone.now()
    slot.save()
    settle_votes(fresh(half))


def test_no_reason_is_made_up_for_a_moderators_look(client: Any, one: Any) -> None:
    """What is held without a reason that may be told is told as held, and no reason is named."""
    where = send(client, one).headers["Location"]
    Problem.objects.filter(sentence=FORM["sentence_1"]).update(state=State.HELD)
    page = text(client.get(where))
    assert "A moderator will check your text first." in page
    assert "because" not in page.partition("A moderator will check your text first")[2][:20]


def _page(client: Any, problem: Any = None) -> str:
    path = f"/write/mine/{problem.twin.ref}/" if problem else "/write/mine/"
    answer = client.get(path)
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_versions_stand_among_what_one_wrote(db: Any, ann: Any, visit: Any) -> None:
    """The list has a version with its parent, its depths and the way to its predictions."""
    top = root()
    made = child(top, ann, new=("fit", "belong"), declared=2)
    for page in (_page(visit(ann)), _page(visit(ann), made)):
        assert f'href="/problems/{top.ref}/"' in page
        assert f'href="/perturb/made/{made.ref}/"' in page
        assert "declared 2, lineage 1, edit 1" in page
        assert "<del>" in page


def test_a_version_has_no_words_of_twins(db: Any, ann: Any, visit: Any) -> None:
    """The page of a version speaks of no half; revising it leads to the form that perturbs."""
    made = child(root(), ann, new=("fit", "belong"), state="judging")
    page = _page(visit(ann), made).split("<main")[1].split("</main")[0]
    assert "half" not in page.lower().replace("behalf", "")
    assert "halves" not in page.replace('class="halves"', "")
    assert f'href="/perturb/{made.ref}/revise/"' in page
    answer = visit(ann).post(f"/write/mine/{made.twin.ref}/revise/")
    assert (answer.status_code, answer["Location"]) == (302, f"/perturb/{made.ref}/revise/")


def test_the_words_of_a_hidden_parent_are_not_shown(
    db: Any, ann: Any, bob: Any, visit: Any
) -> None:
    """Once somebody else's parent is withdrawn, one's own version stays, without its words."""
    middle = child(root(), bob, new=("not fit", "secretly fit"))
    made = child(middle, ann, new=("secretly fit", "truly fit"))
    assert "secretly" in _page(visit(ann), made)
    withdraw_twin(bob, middle.twin)
    for page in (_page(visit(ann), made), _page(visit(ann))):
        assert "secretly" not in page
        assert middle.ref not in page
        assert "truly" in page


def test_children_outlive_what_was_withdrawn(db: Any, ann: Any, bob: Any) -> None:
    """Withdrawing a version withdraws it alone: what others made of it stays, its lineage true."""
    top = root()
    middle = child(top, ann, new=("fit", "belong"))
    made = child(middle, bob)
    before = as_problem(made)
    withdraw_twin(ann, middle.twin, "because")
    states = dict(Problem.objects.values_list("ref", "state"))
    assert states == {top.ref: "valid", middle.ref: "withdrawn", made.ref: "valid"}
    assert as_problem(Problem.objects.get(pk=made.pk)) == before
    assert get_path(made) == [top, middle, made]
