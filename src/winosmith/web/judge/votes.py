"""Votes on problems: slots for judges, the verdict, and the judges' agreement."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith import Dataset, Response, metrics
from winosmith.lineage import UNVALIDATED
from winosmith.problem import MAX_OPTIONS
from winosmith.validate import VoteRules, filter_by_votes
from winosmith.web._cache import get_cached_stats
from winosmith.web._lock import chunked, writing
from winosmith.web.judge.models import Gold, Skip, Slot, Verdict
from winosmith.web.people.models import Person, get_pseudonym
from winosmith.web.problems.models import Problem, State
from winosmith.web.problems.records import as_problem
from winosmith.web.problems.states import move

CHUNK = 500
"""Number of slots, or of problems with their votes, that are read or written at a time."""

POSITIONS_PER_PROBLEM = 1000
"""Number of queue positions reserved for each problem; must exceed the number of its judges."""


def get_queue_position(problem: Problem) -> int:
    return problem.pk * POSITIONS_PER_PROBLEM


def count_votes(problem: Problem) -> int:
    """Return the number of a problem's votes that are not excluded, including pending votes."""
    return Slot.objects.filter(problem=problem).included().count()


def open_slots(problem: Problem, *, extra: bool = False) -> None:
    """Open the slots of a problem in the state JUDGING, and add those that are missing.

    A new problem gets k slots (`SiteRules.judges`). A problem that was on hold gets its unanswered
    slots back; if its votes were completed during the hold, they decide it. With `extra`, a
    moderator wants the problem to be judged again: if all k judges have voted, it gets k + 1 more
    slots. This number is even, so that the total stays odd and can't be tied, and it is large
    enough to overrule the first k votes.
    """
    with writing():
        rows = Slot.objects.filter(problem=problem, gold=False)
        rows.filter(open=False, answered_at=None).update(open=True, **_make_returned_columns())
        outstanding = rows.filter(Q(open=True) | Q(provisional=True, excluded=False)).exists()
        add_slots(problem, max(0, count_missing_slots(rows)))
        if extra and not outstanding and count_votes(problem) >= settings.RULES.judges:
            add_slots(problem, settings.RULES.judges + 1, extra=True)
        settle_votes(problem)


def open_all_slots(problems: Iterable[Problem]) -> None:
    """Open the slots of many new problems, as `open_slots` does for one problem.

    The problems must have no slots, and their twins must be loaded.
    """
    numbers = range(1, settings.RULES.judges + 1)
    slots = [make_slot(problem, n) for problem in problems for n in numbers]
    Slot.objects.bulk_create(slots, batch_size=CHUNK)


def make_slot(problem: Problem, n: int, *, gold: bool = False, **columns: Any) -> Slot:
    """Return an unsaved slot with number `n`; a gold question's number is the judge's key."""
    return Slot(
        problem=problem,
        n=n,
        place=get_queue_position(problem) + (0 if gold else n),
        twin_id=problem.twin_id,
        contributor_id=problem.twin.contributor_id,
        gold=gold,
        **columns,
    )


def add_slots(problem: Problem, count: int, *, extra: bool = False) -> None:
    """Add slots to a problem.

    The first slots of a problem join the queue; additional slots get priority.
    """
    last = Slot.objects.filter(problem=problem).aggregate(last=Max("n"))["last"] or 0
    lease_until = timezone.now() if last else None
    Slot.objects.bulk_create(
        make_slot(problem, n, lease_until=lease_until, extra=extra)
        for n in range(last + 1, last + 1 + count)
    )


def count_missing_slots(slots: Iterable[Slot]) -> int:
    """Return how many slots a problem needs in addition to `slots`, its slots and votes.

    The number is negative if some slots are spare. Each excluded vote needs a replacement, also if
    a moderator asked for the vote by reopening the problem.
    """
    places = Counter((slot.extra, slot.excluded) for slot in slots)
    return settings.RULES.judges + places[True, True] - places[False, False]


def free_place(problem: Problem) -> bool:
    """Make room for an excluded vote to count again; return whether there is room.

    Slots that replaced excluded votes are deleted unless another judge has leased or answered them.
    Thus, no extra votes count, and an even number of judges can't be tied.
    """
    rows = Slot.objects.filter(problem=problem, gold=False)
    spare = 1 - count_missing_slots(rows)
    is_free = Q(open=False) | Q(holder=None) | Q(lease_until__lte=timezone.now())
    free = rows.filter(is_free, extra=False, answered_at=None).order_by("-n")
    slots = list(free.select_for_update(skip_locked=True)[: max(0, spare)])
    if len(slots) < spare:
        return False
    for slot in slots:
        slot.delete()
    return True


def close_slots(problem: Problem) -> None:
    """Close a problem's unanswered slots; call this when the problem leaves JUDGING."""
    with writing():
        Slot.objects.filter(problem=problem, gold=False, open=True).update(open=False)


EMPTY_ANSWER: dict[str, Any] = {
    **dict.fromkeys(("taken_at", "local_choice", "local_at", "local_seconds", "choice")),
    "ambiguous": False,
    "associative": False,
    "comment": "",
}
"""The columns of a slot that no judge has answered: an undone answer stays in them until another
judge can get the slot."""


def _make_returned_columns() -> dict[str, Any]:
    return {**EMPTY_ANSWER, "holder": None, "lease_until": timezone.now()}


def return_slot(slot: Slot) -> None:
    """Return a slot to the queue, where other judges get it before all fresh slots.

    A gold question's slot is closed. The slot of a problem that is no longer judged stays closed.
    """
    closed = {"open": False} if slot.gold else {}
    Slot.objects.filter(pk=slot.pk).update(**closed, **_make_returned_columns())


def settle_votes(problem: Problem) -> None:
    """Decide a problem if no votes are outstanding; the caller has locked the problem.

    A vote is outstanding if its slot is open, or if it waits for a moderator or a market. If votes
    are missing, for example after an exclusion, slots are added instead.
    """
    slots = list(Slot.objects.filter(problem=problem, gold=False))
    if any(slot.open or slot.provisional for slot in slots if not slot.excluded):
        return
    missing = count_missing_slots(slot for slot in slots if slot.answered_at)
    if missing > 0:
        add_slots(problem, missing)
    else:
        decide_by_votes(problem)


def decide_by_votes(
    problem: Problem, *, actor: Person | None = None, kind: str = "verdict"
) -> None:
    """Decide from a problem's votes whether the problem is valid.

    The reasons are stored with the problem, in the words of `winosmith.validate`. `actor` is the
    moderator whose action led to the decision; None if the last vote led to it.
    """
    with writing():
        datum, cast = as_problem(problem), list(iter_responses([problem]))
        dropped = filter_by_votes(Dataset([datum]), cast, get_vote_rules()).dropped
        reasons = dropped[0].reason.split(" | ") if dropped else []
        to = State("rejected" if dropped else "valid")
        if problem.state != to:
            move(problem, to, actor=actor, kind=kind, reason="; ".join(reasons))
        problem.reasons, changed = reasons, ["reasons"]
        if UNVALIDATED in (problem.record.get("extra") or {}):  # generated; see `as_problem`
            problem.record = {**problem.record, "validated": not dropped}
            changed.append("record")
        problem.save(update_fields=changed)
        chosen = Counter(response.choice for response in cast if response.purpose == "validate")
        counts = ",".join(map(str, sorted(chosen.values(), reverse=True)))
        Verdict(problem=problem, counts=counts, valid=not dropped).save()


def get_vote_rules() -> VoteRules:
    """Return the site's rules for votes, for `winosmith.validate`.

    With these rules, `winosmith check` on a download gives the same result as the site.
    """
    rules = settings.RULES
    return VoteRules(
        judges=rules.judges, local_before=rules.local_before, both_halves=rules.both_halves
    )


@dataclass(frozen=True, slots=True)
class Vote:
    """A vote on a problem, without its judge.

    Attributes:
        judge: The label "Judge 1", "Judge 2", … in the reader's language, in the order of slots.
            The label is stable, but applies only to this problem, so that readers can't follow a
            judge from one problem to the next.
        choice, local_choice: 0-based indices of options; None for neither, or if not asked.
        chose, local: The texts of these options; `local` is empty for None.
        right: Whether the choice is the problem's answer; None if the answer is withheld.
    """

    judge: str
    choice: int | None
    ambiguous: bool
    associative: bool
    local_choice: int | None
    comment: str
    right: bool | None
    excluded: bool
    provisional: bool
    chose: str
    local: str


def list_votes(problem: Problem, *, excluded: bool = False) -> list[Vote]:
    """Return the votes that count; with `excluded`, return all votes."""
    rows = Slot.objects.filter(problem=problem).votes().order_by("n")
    return [
        Vote(
            _("Judge %d") % slot.n,
            slot.choice,
            slot.ambiguous,
            slot.associative,
            slot.local_choice,
            slot.comment,
            None if problem.answer is None else slot.choice == problem.answer,
            slot.excluded,
            slot.provisional,
            _get_option_text(problem, slot.choice) or _("neither"),
            _get_option_text(problem, slot.local_choice),
        )
        for slot in rows
        if excluded or not (slot.excluded or slot.provisional)
    ]


def _get_option_text(problem: Problem, choice: int | None) -> str:
    known = choice is not None and choice < len(problem.options)
    return str(problem.options[choice]) if known else ""


def iter_responses(problems: Iterable[Problem]) -> Iterator[Response]:
    """Yield the responses of the votes that count, under the judges' pseudonyms.

    Each vote gives a response to the whole sentence. If the judge saw the local context first, the
    response to the local context precedes it. Within each chunk of problems, responses are sorted
    by time.
    """
    for chunk in chunked(problems, CHUNK):
        refs = {problem.pk: problem.ref for problem in chunk}
        slots = Slot.objects.filter(problem__in=list(refs)).counted()
        rows = list(slots.order_by("answered_at", "pk").values(*_RESPONSE_COLUMNS))
        people = Person.objects.only("salt").in_bulk({row["holder"] for row in rows})
        names = {key: get_pseudonym(person) for key, person in people.items()}
        for row in rows:
            ref, who, shown = refs[row.pop("problem")], names[row.pop("holder")], row.pop("shown")
            local, seconds = row.pop("local_choice"), row.pop("local_seconds")
            if local is not None:
                yield Response(ref, who, "local", local, shown=tuple(shown), seconds=seconds)
            yield Response(ref, who, "validate", shown=tuple(shown), **row)


_RESPONSE_COLUMNS = (
    *("problem", "holder", "shown", "local_choice", "local_seconds"),
    *("choice", "ambiguous", "associative", "seconds"),
)
"""Columns of a slot: first those that `iter_responses` converts, then fields of a `Response`."""


def count_skips(problem: Problem) -> dict[str, int]:
    rows: Any = Skip.objects.filter(problem=problem).values("reason")
    counts = rows.annotate(n=Count("pk")).values_list("reason", "n")
    return {str(Skip.Reason(reason).label): n for reason, n in counts}


def delete_timings(before: datetime) -> int:
    """Delete the timings of answers given before a time; return the number of these answers.

    Each transaction is small, so that other writers don't wait long.
    """
    empty = dict.fromkeys(("seconds", "local_seconds", "taken_at", "local_at"))
    timed = Slot.objects.filter(answered_at__lt=before).exclude(**empty)
    changed = 0
    while keys := list(timed.values_list("pk", flat=True)[:CHUNK]):
        with writing():
            Slot.objects.filter(pk__in=keys).update(**empty)
        changed += len(keys)
    return changed


MAX_PROBLEMS_COMPARED = 10_000
"""Maximum number of decided problems, newest first, from which alpha is computed."""

MAX_VOTES_COMPARED = 200
"""Maximum number of a judge's votes, newest first, that are compared with other judges' votes."""


def measure_agreement() -> dict[str, Any]:
    """Return the judges' agreement, without embargoes; on large sites, it is cached for a while.

    The result contains the number of `problems` decided by votes, and fractions, 0–1: `valid` of
    these problems were found valid, and on `unanimous` of them, all judges made the same choice.
    `pairs` of the pairs of a problem's judges made the same choice. `gold` of the answers to gold
    questions are correct. A fraction is None if there is nothing to count. `alpha` is
    Krippendorff's alpha, by the stored order of options, over the last `MAX_PROBLEMS_COMPARED`
    problems, whose number is `alpha_of`; "neither" counts as an answer. The counts come from the
    verdicts; only alpha needs the votes.
    """
    return get_cached_stats("judge.agreement", _compute_agreement)


def _compute_agreement() -> tuple[int, dict[str, Any]]:
    verdicts = _get_final_verdicts()
    groups = verdicts.values_list("counts").annotate(n=Count("pk")).order_by("counts")
    total = unanimous = same = pairs = 0
    for text, n in groups:
        counts = [int(count) for count in text.split(",") if count]
        judges = sum(counts)
        total += n
        unanimous += n * (len(counts) == 1)
        same += n * sum(count * (count - 1) for count in counts)
        pairs += n * judges * (judges - 1)
    alpha, alpha_of = _compute_alpha()
    asked = Gold.objects.filter(retired=False).values("pk")
    gold = Slot.objects.filter(problem__in=asked, gold=True, open=False, provisional=False)
    answers = gold.answers().count()
    return total, {
        "problems": total,
        "valid": verdicts.filter(valid=True).count() / total if total else None,
        "unanimous": unanimous / total if total else None,
        "pairs": same / pairs if pairs else None,
        "alpha": alpha,
        "alpha_of": alpha_of,
        "gold": gold.filter(right=True).count() / answers if answers else None,
    }


def _get_final_verdicts() -> QuerySet[Verdict]:
    hidden = Problem.objects.filter(Q(waits=True) | Q(embargo=True))
    return Verdict.objects.exclude(pk__in=hidden.values("pk"))


def _compute_alpha() -> tuple[metrics.Reliability | None, int]:
    newest = _get_final_verdicts().order_by("-at").values_list("pk", flat=True)
    last = list(newest[:MAX_PROBLEMS_COMPARED])
    chosen: dict[int, list[int | None]] = {key: [] for key in last}
    twins = dict.fromkeys(last, 0)
    for keys in chunked(last, CHUNK):
        rows = Slot.objects.filter(problem__in=keys).counted()
        for key, twin, choice in rows.values_list("problem_id", "twin_id", "choice"):
            chosen[key].append(MAX_OPTIONS if choice is None else choice)
            twins[key] = twin
    if not last:
        return None, 0
    table = metrics.count_answers(chosen.values())
    return metrics.krippendorff_alpha(table, clusters=[*twins.values()]), len(last)


def compare_with_others(judges: Iterable[int]) -> dict[int, metrics.Proportion]:
    """Map each judge to the fraction of their votes that match the other judges' majority vote.

    Only a judge's last `MAX_VOTES_COMPARED` votes are compared, and only on problems with votes of
    at least two other judges. Votes on hold are compared with other votes, but no vote is compared
    with a vote on hold. `ties` counts the votes on problems without a majority; `n` does not
    include them. Judges without any problem that has a majority are omitted.
    """
    mine: dict[int, dict[int, int | None]] = {}
    for judge in judges:
        rows = Slot.objects.filter(holder=judge).included().order_by("-answered_at")
        mine[judge] = dict(rows.values_list("problem", "choice")[:MAX_VOTES_COMPARED])
    chosen: dict[int, dict[int, int | None]] = defaultdict(dict)
    for keys in chunked({problem for votes in mine.values() for problem in votes}, CHUNK):
        rows = Slot.objects.filter(problem__in=keys).counted()
        for problem, holder, choice in rows.values_list("problem", "holder", "choice"):
            chosen[problem][holder] = choice
    found = {}
    for judge, votes in mine.items():
        pairs: Counter[tuple[int | None, int | None]] = Counter()
        ties = 0
        for problem, choice in votes.items():
            others = Counter(other for who, other in chosen[problem].items() if who != judge)
            if others.total() < 2:
                continue
            most, n = others.most_common(1)[0]
            if 2 * n > others.total():
                pairs[choice, most] += 1
            else:
                ties += 1
        if pairs:
            agrees = [choice == most for choice, most in pairs.elements()]
            found[judge] = metrics.proportion(
                agrees, chance=compute_chance_agreement(pairs), ties=ties
            )
    return found


def compute_chance_agreement(counts: Mapping[tuple[Any, Any], int]) -> float:
    """Return the agreement expected by chance, 0–1, from counts of pairs of two raters' answers."""
    ours, theirs = Counter[Any](), Counter[Any]()
    for (a, b), count in counts.items():
        ours[a] += count
        theirs[b] += count
    return sum(ours[answer] * theirs[answer] for answer in ours) / ours.total() ** 2
