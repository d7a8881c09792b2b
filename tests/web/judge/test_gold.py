"""Gold questions: fair, indistinguishable, and never votes."""

import contextlib
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.web.judge.making import give, gold, singles, twin
from winosmith import Dataset, Problem
from winosmith.errors import InputError
from winosmith.web.importing import import_problems
from winosmith.web.judge import turns
from winosmith.web.judge.exclusion import change_votes, resume_judge
from winosmith.web.judge.models import Gold, Judge, Slot
from winosmith.web.judge.trust import (
    add_gold,
    contest_gold,
    count_gold_answers,
    settle_contest as settle,
)
from winosmith.web.judge.turns import lease_next_problem, needs_local_answer
from winosmith.web.judge.votes import iter_responses, list_votes
from winosmith.web.people.privacy import export_personal_data
from winosmith.web.problems.lookalikes import Half, find_lookalikes


def _is_on_hold(person: Any) -> bool:
    return Judge.objects.get(person=person).held is not None


def test_gold_is_never_a_vote(rules, ann):
    rules(gold_every=1)
    (problem,) = gold(1)
    assert needs_local_answer(lease_next_problem(ann))
    slot = give(ann)
    problem.refresh_from_db()
    assert slot.gold
    assert slot.right
    assert slot.problem == problem
    assert (list_votes(problem), list(iter_responses([problem]))) == ([], [])
    assert problem.state == "judging"


def test_gold_is_as_frequent_as_gold_every_says(rules, ann):
    rules(gold_every=5, judges=1, local_first=False)
    gold(60)
    singles(115)
    found = [give(ann).gold for _ in range(120)]
    assert 6 <= sum(found) <= 48
    places = [at for at, is_gold in enumerate(found) if is_gold]
    assert len({after - before for before, after in itertools.pairwise(places)}) > 3


@pytest.mark.parametrize("every", [0, 1])
def test_expired_leases_of_gold_and_other_problems_end_alike(database, rules, ann, bob, every):
    """An expired problem stays with its judge until another judge leases a problem."""
    rules(gold_every=every, local_first=False)
    gold(3)
    told = []
    for taken in (False, True):
        if taken:
            twin(halves=1)
        slot = lease_next_problem(ann)
        Slot.objects.filter(pk=slot.pk).update(lease_until=timezone.now())
        if taken:
            lease_next_problem(bob)
        try:
            told.append(turns.store_answer(ann, slot.ref, 0).gold)
        except turns.ProblemLostError as error:
            told.append("lost" if "another judge took it" in str(error) else error)
    assert told == [every == 1, "lost"]


def test_expired_training_question_stays_with_its_judge(rules, ann, bob):
    rules(training_questions=2, training_right=2, local_first=False)
    gold(2)
    Judge.objects.create(person=bob, qualified=timezone.now())
    slot = lease_next_problem(ann)
    Slot.objects.filter(pk=slot.pk).update(lease_until=timezone.now())
    assert lease_next_problem(bob) is not None
    assert turns.store_answer(ann, slot.ref, 0).gold


def test_gold_question_is_asked_once_per_judge(rules, ann, bob):
    rules(gold_every=1, judges=1)
    gold(2), twin(halves=1), twin(halves=1)
    assert [give(ann).gold for _ in range(3)] == [True, True, False]
    assert give(bob).gold


def test_problem_with_open_slots_can_become_gold(rules, ann):
    """The number of a gold slot is the judge's id, which may be the number of an open slot."""
    first = ann
    rules(gold_every=1, judges=first.pk + 1 - first.pk % 2)
    (problem,) = twin(halves=1)  # one of its slots has the number of the person
    add_gold(problem, "A jug is heavier than a cup.")
    twin(halves=1)
    assert give(first).gold
    assert {slot.n for slot in problem.slots.filter(gold=False)} >= {first.pk}


@pytest.mark.parametrize(
    ("answers", "right", "held"), [(9, 0, False), (10, 6, True), (10, 7, False), (10, 9, False)]
)
def test_judge_below_70_percent_of_ten_gold_answers_is_put_on_hold(
    rules, ann, answers, right, held
):
    """With `held_most=0` such a judge gets no further problem."""
    rules(gold_every=1, held_most=0)
    gold(10), twin()
    for at in range(answers):
        give(ann, choice=0 if at < right else 1)
    assert _is_on_hold(ann) is held
    assert (lease_next_problem(ann) is None) is held


def test_votes_of_a_judge_on_hold_wait_for_a_moderator(rules, ann, eva):
    """After the release, earlier gold answers are not counted."""
    (problem,) = twin(halves=1)
    give(ann)
    rules(gold_every=1)
    gold(10), twin()
    for _ in range(10):
        give(ann, choice=1)
    assert _is_on_hold(ann)
    assert list_votes(problem) == []
    resume_judge(ann, eva)
    assert change_votes(ann, "resume", eva, "a bad day") == 1
    assert len(list_votes(problem)) == 1
    assert lease_next_problem(ann) is not None
    since = Judge.objects.get(person=ann).since
    assert not Slot.objects.filter(holder=ann).gold_answers(since).exists()


def test_contested_answer_counts_only_after_a_decision(rules, ann, bob, eva):
    """Only an upheld contest retires the question and can end the hold."""
    rules(gold_every=1)
    gold(10)
    slots = [give(ann, choice=0 if at < 4 else 1) for at in range(10)]
    assert _is_on_hold(ann)
    made = contest_gold(ann, slots[9].ref, "The jug is glass, too.")
    assert _is_on_hold(ann)
    assert count_gold_answers([ann])[ann.pk] == (4, 9)
    settle(made, eva, upheld=False)
    assert _is_on_hold(ann)
    assert count_gold_answers([ann])[ann.pk] == (4, 10)
    with pytest.raises(InputError, match="another moderator has already decided this"):
        settle(made, eva, upheld=True)
    other = contest_gold(ann, slots[8].ref, "Both fit.")
    settle(other, eva, upheld=True)
    assert Gold.objects.filter(retired=True).count() == 1
    assert count_gold_answers([ann])[ann.pk] == (4, 9)
    assert not _is_on_hold(ann)
    assert slots[8].problem not in {give(bob).problem for _ in range(9)}


def test_only_own_incorrect_answers_can_be_contested(rules, bob, ann):
    rules(gold_every=1)
    gold(1)
    slot = give(ann)
    for somebody in (ann, bob):
        with pytest.raises(InputError, match="can't be contested"):
            contest_gold(somebody, slot.ref, "But no.")


def test_contest_has_1_to_2000_characters(rules, ann):
    rules(gold_every=1)
    gold(2)
    for text in ("", "  ", "x" * 2001):
        with pytest.raises(InputError, match="1 to 2000 characters"):
            contest_gold(ann, "any", text)
    for text in ("x", f" {'x' * 2000} "):
        assert contest_gold(ann, give(ann, choice=1).ref, text).text == text.strip()


def test_no_gold_is_given_if_no_other_problem_is_left(rules, ann):
    """Otherwise judges would recognize the question as gold."""
    rules(gold_every=1)
    gold(3)
    assert give(ann).gold
    rules(gold_every=0)
    assert not give(ann).gold
    rules(gold_every=1)
    assert [lease_next_problem(ann), lease_next_problem(ann)] == [None, None]


def test_gold_needs_an_answer_an_explanation_and_no_votes(ann):
    (withheld,) = twin(halves=1, opened=False)
    withheld.answer = None
    (voted,) = twin(halves=1)
    give(ann)
    (plain,) = twin(halves=1, opened=False)
    for problem, words, why in (
        (withheld, "because", "no answer"),
        (plain, " ", "needs an explanation"),
        (voted, "because", "already has votes"),
    ):
        with pytest.raises(InputError, match=why):
            add_gold(problem, words)


def test_lookalike_search_finds_imported_gold_like_others():
    """Its sentence is not shown, as that of any other problem in judging."""
    text = "The kettle did not fit into the cupboard by the door because the _ was too {}."
    for kind, end in (("judging", "wide and much too heavy"), ("gold", "full of plates and cups")):
        extra = {"gold.explanation": "Big things fill small ones."}
        one = Problem(kind, text.format(end), ("kettle", "cupboard"), 0, extra=extra)
        import_problems(Dataset([one]), kind)
    ends = ("wide and heavy", "full of plates")
    near = [find_lookalikes([Half(text.format(end))]) for end in ends]
    assert [[one.sentence for one in found] for found in near] == [[None], [None]]


def test_personal_data_do_not_reveal_gold_questions(rules, ann):
    """Held and skipped questions look the same in it, gold or not."""
    rules(gold_every=2, local_first=False)
    gold(20), singles(40)
    kinds: dict[bool, set[str]] = {}
    for _ in range(20):
        slot = lease_next_problem(ann)
        told = export_personal_data(ann)["other"]
        held = [row for row in told["judge.Slot.holder"] if row["ref"] == slot.ref]
        turns.skip_problem(ann, slot.ref, "known")
        left = export_personal_data(ann)["other"]
        for row in (*held, left.get("judge.Slot.holder"), left["judge.Judge.person"][0]):
            hidden = {"ref", "taken_at", "lease_until", "shown"}
            seen = row and {key: value for key, value in row.items() if key not in hidden}
            kinds.setdefault(slot.gold, set()).add(str(seen))
        assert not any("problem" in row for rows in left.values() for row in rows)
    assert kinds[True] == kinds[False]


def test_gold_and_other_problems_take_equally_many_queries(rules, ann):
    """Compared are leasing, the local answer, a refused answer, and skipping."""
    gold(70), singles(70)
    first = True
    give(ann)
    rules(gold_every=2)
    asked: dict[bool, set[Any]] = {True: set(), False: set()}
    for act in (turns.store_answer, turns.skip_problem) * 40:
        counts, slot = _count_queries(lease_next_problem, ann)
        counts += _count_queries(turns.store_local_answer, ann, slot.ref, 0)[0]
        counts += _count_queries(turns.store_answer, ann, slot.ref, None)[0]
        counts += _count_queries(turns.get_current_slot, ann)[0]
        if act is turns.skip_problem:
            counts += _count_queries(turns.skip_problem, ann, slot.ref, "known")[0]
        else:
            turns.store_answer(ann, slot.ref, slot.problem.answer)
        asked[slot.gold].add((first, *counts))
        first = slot.gold
    assert asked[True] == asked[False]


def _count_queries(act: Callable[..., Any], *said: Any) -> tuple[list[int], Any]:
    """Return the number of queries of an action, and its result or None if it is refused."""
    found = None
    with CaptureQueriesContext(connection) as statements, contextlib.suppress(InputError):
        found = act(*said)
    return [len(statements)], found
