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
from winosmith.web.judge.exclusion import change_votes, resume_judge
from winosmith.web.judge.models import Gold, Judge, Slot
from winosmith.web.judge.trust import (
    add_gold,
    contest_gold,
    count_gold_answers,
    settle_contest as settle,
)
from winosmith.web.judge.turns import (
    ProblemLostError,
    get_current_slot,
    lease_next_problem,
    needs_local_answer,
    skip_problem,
    store_answer,
    store_local_answer,
)
from winosmith.web.judge.votes import iter_responses, list_votes
from winosmith.web.people.privacy import export_personal_data
from winosmith.web.problems.lookalikes import Half, find_lookalikes


def _paused(person: Any) -> bool:
    return Judge.objects.get(person=person).held is not None


def test_gold_is_never_a_vote(db: Any, rules: Any, ann: Any) -> None:
    """An answer to a gold question is in no votes, responses or verdicts."""
    rules(gold_every=1)
    (problem,) = gold(1)
    slot = give(ann)
    problem.refresh_from_db()
    assert slot.gold
    assert slot.right
    assert slot.problem == problem
    assert (list_votes(problem), list(iter_responses([problem])), problem.state) == (
        [],
        [],
        "judging",
    )


def test_gold_comes_as_often_as_the_site_says(db: Any, rules: Any, ann: Any) -> None:
    """Of 120 problems about one in five is gold, at distances that differ."""
    rules(gold_every=5, judges=1, local_first=False)
    gold(60)
    singles(115)
    found = [give(ann).gold for _ in range(120)]
    assert 6 <= sum(found) <= 48
    places = [at for at, is_gold in enumerate(found) if is_gold]
    assert len({after - before for before, after in itertools.pairwise(places)}) > 3


@pytest.mark.parametrize("every", [0, 1])
def test_a_gold_question_waits_no_longer_than_another_problem(
    database: Any, rules: Any, ann: Any, bob: Any, every: int
) -> None:
    """Past its lease a problem, gold or not, is its judge's until somebody else takes one."""
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
            told.append(str(store_answer(ann, slot.ref, 0).gold))
        except ProblemLostError as error:
            told.append(str(error)[:40])
    assert told == [str(bool(every)), "This problem is no longer reserved for y"]


def test_a_gold_question_of_the_training_waits(db: Any, rules: Any, ann: Any, bob: Any) -> None:
    """Who comes back late to the training goes on with its question, whoever judges meanwhile."""
    rules(training_questions=2, training_right=2, local_first=False)
    gold(2)
    Judge.objects.create(person=bob, qualified=timezone.now())
    slot = lease_next_problem(ann)
    Slot.objects.filter(pk=slot.pk).update(lease_until=timezone.now())
    assert lease_next_problem(bob) is not None
    assert store_answer(ann, slot.ref, 0).gold


def test_a_gold_question_is_asked_once_a_person(db: Any, rules: Any, ann: Any, bob: Any) -> None:
    """With all gold questions answered, a judge gets problems; others still get the gold."""
    rules(gold_every=1, judges=1)
    gold(2), twin(halves=1), twin(halves=1)
    assert [give(ann).gold for _ in range(3)] == [True, True, False]
    assert give(bob).gold


def test_a_problem_with_slots_becomes_gold_for_everybody(db: Any, rules: Any, ann: Any) -> None:
    """A problem that had open slots, once it is gold, comes to the first people of a site, too."""
    first = ann
    rules(gold_every=1, judges=first.pk + 1 - first.pk % 2)
    (problem,) = twin(halves=1)  # one of its slots has the number of the person
    add_gold(problem, "A jug is heavier than a cup.")
    twin(halves=1)
    assert give(first).gold
    assert {slot.n for slot in problem.slots.filter(gold=False)} >= {first.pk}


def test_one_miss_pauses_nobody(db: Any, rules: Any, ann: Any) -> None:
    """Nine misses in a row, one short of the least number, leave a judge judging."""
    rules(gold_every=1)
    gold(9)
    for _ in range(9):
        give(ann, choice=1)
    assert not _paused(ann)


@pytest.mark.parametrize(("right", "held"), [(6, True), (7, False), (9, False)])
def test_who_guesses_is_held_by_the_last_ten(
    db: Any, rules: Any, ann: Any, right: int, held: bool
) -> None:
    """Of ten: 6 right are below 70 %, 7 are not; who is held with no vote to spare is stopped."""
    rules(gold_every=1, held_most=0)
    gold(10), twin()
    for at in range(10):
        give(ann, choice=0 if at < right else 1)
    assert _paused(ann) is held
    assert (lease_next_problem(ann) is None) is held


def test_votes_of_a_held_judge_wait_until_a_moderator_decides(
    db: Any, rules: Any, ann: Any, eva: Any
) -> None:
    """A hold for gold lets undecided votes wait; a moderator lets them count, measuring anew."""
    (problem,) = twin(halves=1)
    give(ann)
    rules(gold_every=1)
    gold(10), twin()
    for _ in range(10):
        give(ann, choice=1)
    assert _paused(ann)
    assert list_votes(problem) == []
    resume_judge(ann, eva)
    assert change_votes(ann, "resume", eva, "a bad day") == 1
    assert len(list_votes(problem)) == 1
    assert lease_next_problem(ann) is not None
    since = Judge.objects.get(person=ann).since
    assert not Slot.objects.filter(holder=ann).gold_answers(since).exists()


def test_a_contested_answer_counts_only_when_it_is_settled(
    db: Any, rules: Any, ann: Any, bob: Any, eva: Any
) -> None:
    """A moderator's word lifts the pause, no contest does; upheld, the question is retired."""
    rules(gold_every=1)
    gold(10)
    slots = [give(ann, choice=0 if at < 4 else 1) for at in range(10)]
    assert _paused(ann)
    made = contest_gold(ann, slots[9].ref, "The jug is glass, too.")
    assert _paused(ann)
    assert count_gold_answers([ann])[ann.pk] == (4, 9)
    settle(made, eva, upheld=False)
    assert _paused(ann)
    assert count_gold_answers([ann])[ann.pk] == (4, 10)
    with pytest.raises(InputError, match="another moderator has already decided this"):
        settle(made, eva, upheld=True)
    other = contest_gold(ann, slots[8].ref, "Both fit.")
    settle(other, eva, upheld=True)
    assert Gold.objects.filter(retired=True).count() == 1
    assert count_gold_answers([ann])[ann.pk] == (4, 9)
    assert not _paused(ann)
    assert slots[8].problem not in {give(bob).problem for _ in range(9)}


def test_a_right_answer_is_not_contested(db: Any, rules: Any, bob: Any, ann: Any) -> None:
    """There is nothing to contest where the answer was right, or was another's."""
    rules(gold_every=1)
    gold(1)
    slot = give(ann)
    for somebody in (ann, bob):
        with pytest.raises(InputError, match="can't be contested"):
            contest_gold(somebody, slot.ref, "But no.")


@pytest.mark.parametrize("text", ["x", f" {'x' * 2000} "])
def test_a_contest_has_up_to_2000_characters(db: Any, rules: Any, ann: Any, text: str) -> None:
    """The shortest and the longest contest are kept, without the space around them."""
    rules(gold_every=1)
    gold(1)
    assert contest_gold(ann, give(ann, choice=1).ref, text).text == text.strip()


@pytest.mark.parametrize("text", ["", "  ", "x" * 2001])
def test_a_contest_says_why(db: Any, ann: Any, text: str) -> None:
    """Without a word, or with too many, nothing is contested."""
    with pytest.raises(InputError, match="1 to 2000 characters"):
        contest_gold(ann, "any", text)


def test_attention_comes_in_two_steps_as_all_others_do(db: Any, rules: Any, ann: Any) -> None:
    """A question that says itself what to choose begins with its local context, too."""
    rules(gold_every=1)
    gold(1, attention=True)
    slot = lease_next_problem(ann)
    assert slot.gold
    assert needs_local_answer(slot)


def test_gold_comes_only_where_another_problem_could(db: Any, rules: Any, ann: Any) -> None:
    """A judge for whom nothing else is left gets no gold question, which would be known by that."""
    rules(gold_every=1)
    gold(3)
    assert give(ann).gold
    rules(gold_every=0)
    assert not give(ann).gold
    rules(gold_every=1)
    assert [lease_next_problem(ann), lease_next_problem(ann)] == [None, None]


def test_gold_needs_an_answer_an_explanation_and_no_votes(db: Any, ann: Any) -> None:
    """A withheld answer, a missing explanation or a vote keep a problem from becoming gold."""
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


def test_an_import_is_looked_for_as_other_problems_are(db: Any) -> None:
    """Who types an imported gold question is told that a problem is alike, as for any other."""
    text = "The kettle did not fit into the cupboard by the door because the _ was too {}."
    for kind, end in (("judging", "wide and much too heavy"), ("gold", "full of plates and cups")):
        extra = {"gold.explanation": "Big things fill small ones."}
        one = Problem(kind, text.format(end), ("kettle", "cupboard"), 0, extra=extra)
        import_problems(Dataset([one]), kind)
    ends = ("wide and heavy", "full of plates")
    near = [find_lookalikes([Half(text.format(end))]) for end in ends]
    assert [[one.sentence for one in found] for found in near] == [[None], [None]]


def test_what_a_judge_downloads_about_themselves_tells_no_gold(
    db: Any, rules: Any, ann: Any
) -> None:
    """A judge's own file has the same of a gold question that they hold, or passed on."""
    rules(gold_every=2, local_first=False)
    gold(20), singles(40)
    kinds: dict[bool, set[str]] = {}
    for _ in range(20):
        slot = lease_next_problem(ann)
        told = export_personal_data(ann)["other"]
        held = [row for row in told["judge.Slot.holder"] if row["ref"] == slot.ref]
        skip_problem(ann, slot.ref, "known")
        left = export_personal_data(ann)["other"]
        for row in (*held, left.get("judge.Slot.holder"), left["judge.Judge.person"][0]):
            hidden = {"ref", "taken_at", "lease_until", "shown"}
            seen = row and {key: value for key, value in row.items() if key not in hidden}
            kinds.setdefault(slot.gold, set()).add(str(seen))
        assert not any("problem" in row for rows in left.values() for row in rows)
    assert kinds[True] == kinds[False]


def test_gold_takes_as_many_statements_as_other_problems(db: Any, rules: Any, ann: Any) -> None:
    """To take it, look at it whole, be refused and pass it on costs the same for both."""
    gold(70), singles(70)
    first = True
    give(ann)
    rules(gold_every=2)
    asked: dict[bool, set[Any]] = {True: set(), False: set()}
    for act in (store_answer, skip_problem) * 40:
        counts, slot = _counted(lease_next_problem, ann)
        counts += _counted(store_local_answer, ann, slot.ref, 0)[0]
        counts += _counted(store_answer, ann, slot.ref, None)[0]
        counts += _counted(get_current_slot, ann)[0]
        if act is skip_problem:
            counts += _counted(skip_problem, ann, slot.ref, "known")[0]
        else:
            store_answer(ann, slot.ref, slot.problem.answer)
        asked[slot.gold].add((first, *counts))
        first = slot.gold
    assert asked[True] == asked[False]


def _counted(act: Callable[..., Any], *said: Any) -> tuple[list[int], Any]:
    """Return how many statements an act makes, and what it returns; None where it is refused."""
    found = None
    with CaptureQueriesContext(connection) as statements, contextlib.suppress(InputError):
        found = act(*said)
    return [len(statements)], found
