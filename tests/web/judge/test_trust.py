"""Training before the first vote, and holds that delay votes until a moderator's review."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import RequestFactory, override_settings
from django.utils import timezone

from tests.web.judge.making import give, give_in, gold, passes, singles, twin
from tests.web.making import fresh
from tests.web.working import work_off
from winosmith.web.judge.exclusion import (
    change_votes,
    exclude_paid_votes,
    include_paid_votes,
    pause_judge,
    resume_judge,
)
from winosmith.web.judge.models import Judge, Slot
from winosmith.web.judge.trust import (
    MAX_CREDITED_CONTESTS,
    Pace,
    compute_false_hold_rate,
    contest_gold,
    count_gold_answers,
    delete_origins,
    digest_origin,
    get_pending_votes,
    get_suspect_problems,
    measure_pace,
    put_on_hold,
    settle_contest,
)
from winosmith.web.judge.turns import lease_next_problem
from winosmith.web.judge.votes import measure_agreement, open_slots
from winosmith.web.moderate.people import (
    change_person,
    get_people_held_as_group,
    get_unfinished_decisions,
)
from winosmith.web.moderate.queue import QueueFilters, filter_queue
from winosmith.web.people.addresses import get_client_address
from winosmith.web.people.gates import new_key
from winosmith.web.people.models import get_pseudonym
from winosmith.web.people.privacy import erase
from winosmith.web.problems.models import Problem, State
from winosmith.web.problems.states import move


def _judge(person: Any) -> Any:
    return Judge.objects.get(person=person)


def _states(problems: Any) -> list[str]:
    keys = [problem.pk for problem in problems]
    return list(Problem.objects.filter(pk__in=keys).order_by("pk").values_list("state", flat=True))


def test_fast_votes_wait_for_a_moderator(database, rules, person, eva):
    rules(hold_pace_seconds=3)
    problems = singles(10)
    clicking = [person(name) for name in ("ann", "bob", "cem")]
    for who in clicking:
        for _ in problems:
            give(who)
    votes = Slot.objects.filter(gold=False).exclude(answered_at=None)
    assert (votes.count(), votes.filter(provisional=True).count()) == (30, 30)
    assert set(_states(problems)) == {"judging"}
    assert [_judge(who).cause for who in clicking] == ["pace"] * 3
    for who in clicking:
        resume_judge(who, eva)
        assert change_votes(who, "resume", eva, "they know them by heart") == 10
    assert set(_states(problems)) == {"valid"}


def test_hold_for_pace_ends_after_a_slower_answer(database, rules, ann):
    """Both votes count then. The pace is stored with one decimal place."""
    rules(hold_pace_seconds=3, judges=1)
    problems = [twin(halves=1, pk=1000 + at)[0] for at in range(2)]
    give_in(ann, 1.4)
    assert _states(problems) == ["judging", "judging"]
    assert _judge(ann).measured == {"seconds": round(measure_pace(ann.pk).seconds, 1), "over": 1}
    give_in(ann, 9.0)
    assert _states(problems) == ["valid", "valid"]
    assert [one.events.filter(kind="verdict").count() for one in problems] == [1, 1]
    assert _judge(ann).held is None
    assert not Slot.objects.filter(provisional=True).exists()


def test_hold_for_pace_stays_after_hold_pace_over_fast_answers(rules, ann):
    """Slower answers don't end it then; only a moderator does."""
    rules(hold_pace_seconds=3, judges=1, hold_pace_over=5)
    problems = singles(12)
    for _ in range(5):
        give_in(ann, 0.2)
    for _ in range(7):
        give_in(ann, 30.0)
    assert _judge(ann).held is not None
    assert set(_states(problems)) == {"judging"}


@pytest.mark.parametrize(("shown", "step", "seconds"), [(-60, 1, 1), (-60, 0.5, 0.5), (60, 1, 0)])
def test_pace_is_measured_from_the_previous_answer(rules, bob, ann, shown, step, seconds):
    """No second counts for two problems. If the clock was set back, an answer took 0 s."""
    now = timezone.now()
    for at, half in enumerate(singles(6)):
        # All were shown at once, and answered within six seconds.
        Slot.objects.filter(problem=half, n=1).update(
            holder=ann, open=False, taken_at=now + timedelta(seconds=shown), choice=0,
            answered_at=now + timedelta(seconds=at * step),
        )  # fmt: skip
    assert measure_pace(ann.pk) == Pace(seconds, 6)
    assert measure_pace(bob.pk) == Pace(None, 0)
    rules(hold_pace_over=5)
    assert measure_pace(ann.pk) == Pace(seconds, 5)


def _give_from_one_address(people: Any, choice: int | None = None) -> None:
    for who in people:
        give_in(who, 9.0, choice, address="192.0.2.7")


def test_third_account_of_one_address_puts_all_three_on_hold(database, rules, person):
    rules(hold_accounts=3)
    problems = singles(3)
    people = [person(f"j{n}") for n in range(3)]
    dora = person("dora")
    give_in(dora, 9.0, address="198.51.100.9")
    _give_from_one_address([*people[:1] * 3, *people[1:2] * 2, *people[2:] * 2])
    assert [_judge(who).cause for who in people] == ["address"] * 3
    assert [len(get_people_held_as_group(who)) for who in people] == [2, 2, 2]
    assert _judge(dora).held is None
    assert _states(problems) == ["judging", "judging", "judging"]
    assert Slot.objects.filter(holder=dora, provisional=True).count() == 0


def test_second_vote_of_one_address_is_excluded(database, rules, person):
    """Another judge is asked instead."""
    rules(hold_accounts=3)
    (problem,) = twin(halves=1)
    bad = [person("bad0"), person("bad1")]
    _give_from_one_address(bad, 1 - problem.answer)
    give_in(person("dora"), 9.0, address="198.51.100.9")
    assert fresh(problem).state == "judging"
    give_in(person("emil"), 9.0, address="203.0.113.5")
    assert fresh(problem).state == "valid"
    out = Slot.objects.filter(problem=problem, excluded=True)
    assert [slot.holder for slot in out] == [bad[1]]
    event = problem.events.get(kind="exclude-vote")
    assert (event.actor, "same address" in event.reason) == (None, True)


@pytest.mark.parametrize(("judges", "out"), [(1, 0), (3, 1), (5, 1), (7, 0)])
def test_one_address_is_never_a_majority(rules, person, judges, out):
    """At most 1 of 3, 2 of 5 or 3 of 7 votes that count come from one address."""
    rules(hold_accounts=4, judges=judges)
    twin(halves=1)
    _give_from_one_address(person(f"j{n}") for n in range(min(judges, 2 + (judges > 3))))
    assert Slot.objects.filter(excluded=True).count() == out


def test_excluded_vote_on_a_reopened_problem_is_replaced(rules, person):
    """Otherwise, an even number of votes could be tied."""
    rules(hold_accounts=3, judges=1)
    (problem,) = twin(halves=1)
    give(person("a"))
    move(fresh(problem), State.JUDGING, actor=None, kind="reopen")
    open_slots(problem, extra=True)
    _give_from_one_address([person("b"), person("c")])
    assert (fresh(problem).state, problem.slots.filter(open=True).count()) == ("judging", 1)


def test_moderator_can_include_votes_of_one_address(database, rules, person, eva, ann, bob):
    """Later votes of these accounts are not excluded either."""
    rules(hold_accounts=3)
    problems = singles(2)
    _give_from_one_address((ann, bob))
    give_in(person("dora"), 9.0, address="198.51.100.9")
    assert _states(problems) == ["judging", "judging"]
    assert change_votes(bob, "include", eva, "they share a flat") == 1
    assert _states(problems) == ["valid", "judging"]
    _give_from_one_address((ann, bob))
    assert not Slot.objects.filter(excluded=True).exists()


@pytest.mark.parametrize(
    ("accounts", "gap", "addresses"),
    [
        pytest.param(3, 3700, ("2001:db8::1", "2001:db8::1", "2001:db8::2"), id="an hour apart"),
        pytest.param(0, 0, ["192.0.2.7"] * 4, id="hold_accounts is 0"),
        *(
            pytest.param(3, 0, [where] * 4, id=f"a proxy writes {where}")
            for where in ("unknown", "192.0.2.7;4711", "unix:")
        ),
    ],
)
def test_few_or_unknown_addresses_cause_no_hold(rules, person, accounts, gap, addresses):
    """Two accounts of one address within an hour are allowed; any number if hold_accounts is 0."""
    rules(hold_accounts=accounts, judges=5)
    twin(halves=1)
    people = [person(f"j{n}") for n in range(len(addresses))]
    for who, address in zip(people, addresses, strict=True):
        give_in(who, 9.0, address=address)
        if who is people[0]:
            passes(who, gap)
    assert all(_judge(who).held is None for who in people)
    assert Slot.objects.counted().filter(holder__in=people).count() == len(people)


def _get_forwarded_address(header: str) -> str:
    site = replace(settings.SITE, public_url="https://twins.example.org")
    with override_settings(SITE=site):
        return get_client_address(RequestFactory().get("/", HTTP_X_FORWARDED_FOR=header))


def test_admins_are_warned_if_all_judges_share_an_address(rules, person, visit, adam):
    """If the rules miss a proxy, all judges seem to come from it."""
    rules(hold_accounts=3, proxies=1)
    twin(halves=1)
    admin, said = visit(adam), "All 3 judges within an hour had the same"
    for n in range(3):
        assert said not in admin.get("/admin/").content.decode()
        give_in(person(f"j{n}"), 9.0, address=_get_forwarded_address(f"192.0.2.{n}, 10.0.0.2"))
    page = admin.get("/admin/").content.decode()
    assert said in page
    assert "“Hold votes if this many accounts at one IP address" in page
    rules(hold_accounts=0)
    assert said not in admin.get("/admin/").content.decode()


@pytest.mark.parametrize(("kind", "states"), [("resume", "valid"), ("discard", "judging")])
def test_one_decision_applies_to_a_group_on_hold(rules, person, eva, visit, kind, states):
    rules(hold_accounts=3)
    problems = twin(halves=1)
    people = [person(f"j{n}", is_judge=True) for n in range(3)]
    alone = person("alone", is_judge=True)
    _give_from_one_address(people)
    assert _states(problems) == ["judging"]
    browser, path = visit(eva), f"/moderate/people/{get_pseudonym(people[1])}/"
    page = browser.get(path).content.decode()
    assert all(get_pseudonym(who) in page for who in people)
    assert get_pseudonym(alone) not in page
    assert f'value="{kind}-together"' in page
    sent = {"key": new_key(), "kind": f"{kind}-together", "reason": "one class"}
    assert browser.post(f"{path}appoint/", sent).status_code == 302
    work_off()
    assert _states(problems) == [states]
    votes = Slot.objects.filter(holder__in=people)
    assert votes.filter(excluded=kind == "discard", provisional=False).count() == 3
    assert [_judge(who).held is None for who in people] == [kind == "resume"] * 3
    assert [who.appointments.get().kind for who in people] == [kind] * 3
    assert not alone.appointments.exists()


@pytest.mark.parametrize(("earlier", "counted"), [(None, 2), ("exclude", 0)])
def test_approved_judges_get_back_votes_excluded_for_their_address(
    rules, person, eva, visit, earlier, counted
):
    """Judges are approved one by one; votes that a moderator excluded stay excluded."""
    rules(hold_accounts=3)
    singles(3)
    people = [person(f"j{n}", is_judge=True) for n in range(3)]
    _give_from_one_address([*people[:1] * 3, *people[1:2] * 2, people[2]])
    votes = Slot.objects.filter(holder=people[1])
    assert (votes.filter(excluded=True).count(), votes.pending().count()) == (1, 1)
    page = visit(eva).get(f"/moderate/people/{get_pseudonym(people[1])}/").content.decode()
    assert "excluded because of the shared address count again" in page
    for who in people:
        for kind in filter(None, (earlier, "resume")):
            change_person(eva, who, kind, "one class")
            work_off()
    assert votes.counted().count() == counted


def test_decision_on_a_group_leaves_out_the_moderator_in_it(rules, person, eva, visit):
    rules(hold_accounts=3)
    twin(halves=1)
    ann, bob = person("ann", is_judge=True), person("bob", is_judge=True)
    _give_from_one_address([ann, bob, eva])
    sent = {"key": new_key(), "kind": "resume-together", "reason": "one office"}
    path = f"/moderate/people/{get_pseudonym(ann)}/appoint/"
    assert visit(eva).post(path, sent).status_code == 302
    assert [_judge(who).held is None for who in (ann, bob, eva)] == [True, True, False]


def test_released_group_is_not_held_again_for_its_address(rules, person, eva):
    rules(hold_accounts=3)
    problems = singles(2)
    people = [person(f"j{n}") for n in range(3)]
    _give_from_one_address(people)
    assert all(_judge(who).held for who in people)
    for who in people:
        resume_judge(who, eva)
    _give_from_one_address(people)
    assert not any(_judge(who).held for who in people)
    assert _states(problems) == ["judging", "valid"]


def test_stored_address_digest_changes_each_hour(ann):
    """It is deleted after two hours. IPv6 addresses of one /64 have the same digest."""
    twin(halves=1)
    slot = give_in(ann, 9.0, address="192.0.2.7")
    now = timezone.now()
    kept = Slot.objects.get(pk=slot.pk).origin
    assert re.fullmatch("[0-9a-f]{64}", kept)
    assert digest_origin("192.0.2.7", now) != digest_origin("192.0.2.7", now + timedelta(hours=1))
    assert digest_origin("2001:db8::1", now) == digest_origin("2001:db8::ffff", now)
    assert digest_origin("2001:db8::1", now) != digest_origin("2001:db8:0:1::1", now)
    assert (digest_origin(""), digest_origin("unix:")) == ("", "")
    assert delete_origins(now + timedelta(hours=1)) == 0
    assert delete_origins(now + timedelta(hours=3)) == 1
    assert Slot.objects.get(pk=slot.pk).origin == ""


def test_discarded_votes_free_their_slots(database, rules, person, eva, ann):
    rules(hold_pace_seconds=3)
    (problem,) = twin(halves=1)
    give(ann)
    change_person(eva, ann, "discard", "clicks")
    work_off()
    assert get_unfinished_decisions(ann) == []
    for name in ("bob", "cem", "dora"):
        give_in(person(name), 9.0)
    assert fresh(problem).state == "valid"
    assert Slot.objects.filter(problem=problem, excluded=True).count() == 1
    assert Slot.objects.filter(problem=problem, excluded=False, open=False).count() == 3
    assert _judge(ann).cause == "moderator"


def test_hold_keeps_earlier_verdicts_and_lists_them(rules, ann, eva, visit):
    rules(judges=1)
    before = twin(halves=1)
    give(ann)
    assert _states(before) == ["valid"]
    rules(judges=1, hold_pace_seconds=3)
    twin(halves=1)
    give(ann)
    assert _judge(ann).held is not None
    assert _states(before) == ["valid"]
    assert list(get_suspect_problems(_judge(ann))) == before
    assert list(filter_queue(QueueFilters(only="suspect"))) == before
    page = visit(eva).get(f"/moderate/people/{get_pseudonym(ann)}/").content.decode()
    assert before[0].sentence.replace("_", '<span class="blank">_</span>') in page


def test_judge_on_hold_gets_problems_up_to_held_most(rules, ann):
    rules(hold_pace_seconds=3, held_most=2)
    singles(4)
    give(ann), give(ann)
    for most, stopped in ((2, True), (1, True), (3, False)):
        rules(hold_pace_seconds=3, held_most=most)
        assert (lease_next_problem(ann) is None) is stopped


def test_automatic_hold_covers_only_votes_since_the_release(ann, eva):
    """A moderator's own hold covers all votes."""
    singles(2)
    give(ann)
    pause_judge(ann, eva)
    resume_judge(ann, eva)
    assert change_votes(ann, "resume", eva, "they read") == 1
    give(ann)
    put_on_hold(_judge(ann), "gold")
    assert get_pending_votes(_judge(ann)).count() == 1
    pause_judge(ann, eva)
    assert get_pending_votes(_judge(ann)).count() == 2


def test_hold_for_gold_counts_only_the_last_ten_answers(rules, ann, eva):
    """Upheld contests are not counted, which can end the hold."""
    rules(gold_every=1)
    gold(30)
    for _ in range(20):
        give(ann, choice=0)
    for _ in range(4):
        assert _judge(ann).held is None
        last = give(ann, choice=1)
    assert (_judge(ann).cause, _judge(ann).measured) == ("gold", {"right": 6, "over": 10})
    again = give(ann, choice=1)
    two = contest_gold(ann, last.ref, "both fit"), contest_gold(ann, again.ref, "both fit")
    settle_contest(two[0], eva, upheld=True)  # then six of the last ten are right, as before
    assert _judge(ann).held is not None
    settle_contest(two[1], eva, upheld=True)  # then seven
    assert _judge(ann).held is None


def test_hold_for_gold_ends_above_hold_gold_percent(rules, ann, eva):
    """Of the last five answers, two are correct; after a question is retired, three are."""
    rules(gold_every=1, hold_gold_over=5, hold_gold_percent=50)
    gold(6)
    last = [give(ann, choice=int(at > 2)) for at in range(6)][-1]
    assert _judge(ann).measured == {"right": 2, "over": 5}
    settle_contest(contest_gold(ann, last.ref, "both fit"), eva, upheld=True)
    assert _judge(ann).held is None


@pytest.mark.parametrize("cause", ["pace", "address", "training", "moderator"])
def test_upheld_contest_ends_only_a_hold_for_gold(rules, ann, eva, cause):
    rules(gold_every=1)
    gold(1)
    slot = give(ann, choice=1)
    put_on_hold(_judge(ann), cause)
    settle_contest(contest_gold(ann, slot.ref, "both fit"), eva, upheld=True)
    assert _judge(ann).cause == cause


def test_gold_answers_of_judges_on_hold_are_not_in_statistics(rules, ann, eva):
    """Neither are those of a paid job that the market has rejected."""
    rules(gold_every=1)
    gold(1)
    Judge.objects.create(person=ann, job=7, quota=5)
    give(ann)
    found = [measure_agreement()["gold"]]
    for out, back in ((pause_judge, resume_judge), (exclude_paid_votes, include_paid_votes)):
        for act in (out, back):
            act(*((ann, eva) if out is pause_judge else (7, "the market says so")))
            found.append(measure_agreement()["gold"])
    assert found == [1, None, 1, None, 1]


def test_erasing_a_judge_excludes_the_votes_on_hold(rules, bob, ann):
    """No moderator can review them any more, so another judge is asked."""
    rules(hold_pace_seconds=3, judges=1)
    (problem,) = twin(halves=1)
    give(ann)
    assert fresh(problem).state == "judging"
    erase(ann, texts=False)
    event = problem.events.get(kind="exclude-vote")
    assert event.reason == "the judge was erased before a moderator checked the votes"
    give_in(bob, 9.0)
    assert fresh(problem).state == "valid"
    assert problem.slots.filter(excluded=True).count() == 1


def test_contesting_every_miss_does_not_prevent_a_hold(rules, ann, eva):
    """An upheld contest of such a judge does not end the hold."""
    rules(gold_every=1)
    gold(20)
    made = []
    for at in range(12):
        slot = give(ann, choice=at % 2)
        if not slot.right and _judge(ann).held is None:
            made.append(contest_gold(ann, slot.ref, "I think otherwise."))
    assert len(made) == MAX_CREDITED_CONTESTS + 1
    assert _judge(ann).cause == "gold"
    settle_contest(made[0], eva, upheld=True)
    assert _judge(ann).cause == "gold"


def test_contests_of_retired_questions_are_not_pending(rules, ann, bob, eva):
    """Ann's fourth answer is ignored once bob's contests have retired the other three questions."""
    rules(gold_every=1)
    gold(MAX_CREDITED_CONTESTS + 1)
    made = [
        contest_gold(who, give(who, choice=1).ref, "both fit")
        for who in (ann, bob)
        for _ in range(MAX_CREDITED_CONTESTS + 1)
    ]
    assert count_gold_answers([ann])[ann.pk] == (0, MAX_CREDITED_CONTESTS + 1)
    for one in made[-MAX_CREDITED_CONTESTS:]:
        settle_contest(one, eva, upheld=True)
    assert count_gold_answers([ann])[ann.pk] == (0, 0)


def test_false_hold_rate_of_careful_and_guessing_judges(site):
    """With 95 % accuracy, fewer than 7 of 10 are correct once in 973 checks; with 50 %, in 83 %."""
    assert compute_false_hold_rate(0.95) == pytest.approx(0.001028, abs=1e-6)
    assert compute_false_hold_rate(0.5) == pytest.approx(848 / 1024)


@pytest.mark.parametrize(
    ("questions", "misses", "contested", "then"),
    [
        pytest.param(6, 1, False, "vote", id="passed with 4 of 5"),
        pytest.param(10, 2, False, "other questions", id="failed, so it restarts"),
        pytest.param(10, 2, True, "other questions", id="contested answers are incorrect"),
        pytest.param(5, 5, False, "hold", id="failed, and no question is left"),
        pytest.param(4, 0, False, "vote", id="skipped, as there are too few questions"),
    ],
)
def test_training_comes_before_the_first_vote(rules, ann, questions, misses, contested, then):
    rules(training_questions=5, training_right=4)
    gold(questions), twin()
    asked = []
    for at in range(5 if questions >= 5 else 0):
        asked.append(give(ann, choice=int(at < misses)))
        assert asked[at].gold
        if contested and not asked[at].right:
            contest_gold(ann, asked[at].ref, "I think otherwise.")
    if then == "other questions":
        assert _judge(ann).qualified is None
        second = [give(ann) for _ in range(5)]
        assert not {slot.problem for slot in asked} & {slot.problem for slot in second}
        assert _judge(ann).qualified is not None
    vote = give(ann)
    assert (vote.gold, vote.provisional) == (False, then == "hold")
    assert _judge(ann).cause == ("training" if then == "hold" else "")
    assert Slot.objects.filter(holder=ann, gold=False).exclude(answered_at=None).count() == 1


def _train(browser: Any, *, wrong: bool = False) -> Iterator[str]:
    """Answer two training questions; yield the page before each answer and after it."""
    for _ in range(2):
        browser.post("/judge/next/", {"key": new_key()})
        yield browser.get("/judge/").content.decode()
        held = browser.person.slots.get(answered_at=None)
        choice = 1 - held.problem.answer if wrong else held.problem.answer
        sent = {"key": new_key(), "problem": held.ref, "choice": choice}
        yield browser.post("/judge/answer/", sent, follow=True).content.decode()


@pytest.mark.parametrize("pace", [0, 3])
def test_training_pages_show_progress_and_result(rules, contributor, visit, pace):
    """The last page says that votes count or that they are on hold, not both."""
    rules(training_questions=2, training_right=2, local_first=False, hold_pace_seconds=pace)
    gold(2), twin()
    browser = visit(contributor())
    assert "Start with a short training" in browser.get("/judge/").content.decode()
    _, first, _, last = _train(browser)
    assert "A jug is heavier than a cup." in first
    assert "Training: you have answered 1 of 2 questions, 1 of them correctly." in first
    assert "You have passed the training" in last
    told = ["votes count from now on" in last, "Your votes are on hold" in last]
    assert told == [pace == 0, pace > 0]
    assert "Start with a short training" not in browser.get("/judge/").content.decode()


def test_pages_say_that_votes_wait_after_a_failed_training(rules, contributor, visit):
    rules(training_questions=2, training_right=2, local_first=False)
    gold(2)
    browser = visit(contributor())
    pages = list(_train(browser, wrong=True))
    assert [f"Training question {n} of 2" in pages[2 * n - 2] for n in (1, 2)] == [True, True]
    wait = "You can judge, but your votes count only after a moderator has approved them."
    assert [wait in page for page in pages[1::2]] == [False, True]
    assert "Try again with other questions" not in pages[3]
    assert "your votes are on hold" not in pages[0]
    browser.post("/judge/next/", {"key": new_key()})
    assert "your votes are on hold" in browser.get("/judge/").content.decode()
    assert give(browser.person).provisional
    page = browser.get("/judge/").content.decode()
    assert "There is nothing for you to judge now" in page
    assert "Your votes are on hold" in page
    for path in ("/judge/", "/judge/history/"):
        assert "You have not passed the training." in browser.get(path).content.decode()
    assert "Your votes are on hold" in browser.get("/people/news/").content.decode()


def test_paid_votes_on_hold_need_moderator_and_market(rules, person, eva):
    rules(hold_pace_seconds=3, judges=1)
    problems = singles(2)
    ann, bob = person("ann", hired=True, is_judge=True), person("bob", hired=True, is_judge=True)
    for who in (ann, bob):
        Judge.objects.create(person=who, job=who.pk, quota=1, provisional=True)
        give(who)
    assert include_paid_votes(ann.pk, "approved") == 0
    assert _states(problems) == ["judging", "judging"]
    resume_judge(ann, eva)
    assert change_votes(ann, "resume", eva, "looked") == 1
    resume_judge(bob, eva)
    assert change_votes(bob, "resume", eva, "looked") == 0
    assert _states(problems) == ["valid", "judging"]
    assert include_paid_votes(bob.pk, "approved") == 1
    assert _states(problems) == ["valid", "valid"]
