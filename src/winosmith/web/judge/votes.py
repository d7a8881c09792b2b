"""Votes on a problem: slots for as many people as shall judge it, what they say, the verdict.

And how far judges agree: on the whole site, and each one with the others.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from django.conf import settings
from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_noop

from winosmith import Dataset, Response
from winosmith.lineage import UNVALIDATED
from winosmith.metrics import Reliability, answer_table, krippendorff_alpha, wilson_interval
from winosmith.validate import VoteRules, votes
from winosmith.web._kept import cached
from winosmith.web._lock import chunked, writing
from winosmith.web.judge.models import Gold, Skip, Slot, Verdict
from winosmith.web.pages import retold
from winosmith.web.people.models import Person, pseudonym
from winosmith.web.problems.models import Problem, State
from winosmith.web.problems.records import as_problem
from winosmith.web.problems.states import move

CHUNK = 500
"""Slots, or problems with their votes, that are read or written at once."""

WIDTH = 1000
"""Places that a problem has in the queue: more than judges it ever gets."""


def tally(problem: Problem) -> tuple[int, int]:
    """Return how many votes on a problem are awaited, and how many count.

    Those are awaited whose slot is open, and those that a market has yet to confirm.
    """
    slots = Slot.objects.filter(problem=problem, gold=False, excluded=False)
    rows = list(slots.values_list("open", "provisional", "answered_at"))
    return (
        sum(is_open or provisional for is_open, provisional, _ in rows),
        sum(at is not None and not provisional for _, provisional, at in rows),
    )


def place_of(problem: Problem) -> int:
    """Return the place of a problem's first slot in the queue."""
    return problem.pk * WIDTH


def locked(key: int) -> Problem:
    """Return a problem as it is now; it stays so until the transaction ends."""
    rows = Problem.objects.select_related("twin__contributor")
    return rows.select_for_update(of=("self",), no_key=True).get(pk=key)


def counted(problem: Problem) -> int:
    """Return how many votes a problem has, with those that a market has yet to confirm.

    Those that were taken out of the count are none.
    """
    return Slot.objects.votes().filter(problem=problem, excluded=False).count()


def open_slots(problem: Problem) -> None:
    """Open a problem to judges; call it where the problem becomes JUDGING.

    The first time it gets k slots (`SiteRules.judges`). Held back and let through again, it gets
    those that were still open. Where everybody had voted, a moderator wants it judged again: it
    gets k + 1 more, an even number, so that the votes in all stay odd and can't be tied, and
    enough to overrule the k before.
    """
    with writing():
        rows = Slot.objects.filter(problem=problem, gold=False)
        rows.filter(open=False, answered_at=None).update(open=True, **_given_back())
        missing = settings.RULES.judges - counted(problem) - rows.filter(open=True).count()
        if missing > 0:
            add_slots(problem, missing)
        elif not rows.filter(Q(open=True) | Q(provisional=True, excluded=False)).exists():
            add_slots(problem, settings.RULES.judges + 1)


def open_new(problems: Iterable[Problem]) -> None:
    """Open many problems to judges at once that never had a slot, as `open_slots` does one by one.

    Their twins are loaded already.
    """
    numbers = range(1, settings.RULES.judges + 1)
    slots = [_slot(problem, n) for problem in problems for n in numbers]
    Slot.objects.bulk_create(slots, batch_size=CHUNK)


def _slot(problem: Problem, n: int, lease_until: datetime | None = None) -> Slot:
    return Slot(
        problem=problem,
        n=n,
        place=place_of(problem) + n,
        twin_id=problem.twin_id,
        contributor_id=problem.twin.contributor_id,
        lease_until=lease_until,
    )


def add_slots(problem: Problem, count: int) -> None:
    """Add slots to a problem; the first ones wait in the queue, later ones come first."""
    last = Slot.objects.filter(problem=problem).aggregate(last=Max("n"))["last"] or 0
    lease_until = timezone.now() if last else None
    Slot.objects.bulk_create(
        _slot(problem, n, lease_until) for n in range(last + 1, last + 1 + count)
    )


def close_slots(problem: Problem) -> None:
    """Close a problem to judges; call it where the problem leaves JUDGING. Votes stay."""
    with writing():
        Slot.objects.filter(problem=problem, gold=False, open=True).update(open=False)


def _given_back() -> dict[str, object]:
    """Return the columns of a slot that anybody may take, before all fresh ones."""
    return {
        "holder": None,
        "taken_at": None,
        "lease_until": timezone.now(),
        "local_choice": None,
        "local_at": None,
        "local_seconds": None,
    }


def give_back(slot: Slot) -> None:
    """Take a slot from its holder, so that others get it before all fresh ones.

    One on a gold question is nobody else's: it is closed.
    """
    Slot.objects.filter(pk=slot.pk).update(open=not slot.gold, **_given_back())


def settle_votes(problem: Problem) -> None:
    """Decide a problem when nobody's answer is awaited any more; the caller holds its lock.

    Where votes are missing (a moderator excluded some, or the site asks for more judges than when
    the problem was opened), slots are added instead.
    """
    awaited, voted = tally(problem)
    if awaited:
        return
    missing = settings.RULES.judges - voted
    if missing > 0:
        add_slots(problem, missing)
    else:
        decide(problem)


def decide(problem: Problem, *, by: Person | None = None, kind: str = "verdict") -> None:
    """Find a problem valid or not, by the votes that it has.

    The reasons are kept with the problem, in the words of `winosmith.validate`.

    Args:
        problem: in any state that leads to a verdict.
        by: the moderator whose act brought it about; None for the last vote.
        kind: of the event that is written down.
    """
    with writing():
        datum, cast = as_problem(problem), list(responses([problem]))
        dropped = votes(Dataset([datum]), cast, vote_rules()).dropped
        reasons = dropped[0].reason.split(" | ") if dropped else []
        to = State("rejected" if dropped else "valid")
        if problem.state != to:
            move(problem, to, by=by, kind=kind, reason="; ".join(reasons))
        problem.reasons = reasons
        problem.save(update_fields=["reasons"])
        _validated(problem, not dropped)
        chosen = Counter(response.choice for response in cast if response.purpose == "validate")
        counts = ",".join(map(str, sorted(chosen.values(), reverse=True)))
        Verdict(problem=problem, counts=counts, valid=not dropped).save()


def _validated(problem: Problem, valid: bool) -> None:
    """Note on a generated problem whether people found it valid; see `as_problem`."""
    if UNVALIDATED not in (problem.record.get("extra") or {}):
        return
    problem.record = {**problem.record, "validated": valid}
    Problem.objects.filter(pk=problem.pk).update(record=problem.record)


FAULTS = (
    gettext_noop("enough votes: %(n)s of the %(of)s judges that are needed"),
    gettext_noop("majority: %(n)s of %(of)s judges chose the right option"),
    gettext_noop("ambiguity: %(n)s of %(of)s judges find one option clearly more plausible"),
    gettext_noop(
        "word association: %(n)s of %(of)s judges find that nearby words do not give the answer "
        "away"
    ),
    gettext_noop("local context: %(n)s of %(of)s judges found the right option from %(context)s"),
)
"""What `winosmith.validate.votes` says of a problem that is not valid: what is stored of it."""


_NEXT = re.compile(f"; (?={'|'.join(fault.partition(':')[0] for fault in FAULTS)}: )")


def in_words(reason: str) -> str:
    """Return the reason of a verdict in the reader's language; another text as it is.

    Args:
        reason: one of `Problem.reasons`, or several of them as the log holds them.
    """
    return "; ".join(retold(each, FAULTS) for each in _NEXT.split(reason))


UNDEFINED = (
    gettext_noop("no item has two answers or more"),
    gettext_noop("everybody always gave the same one answer, so that nothing is left to chance"),
    gettext_noop(
        "the items have %(least)s to %(most)s answers; Fleiss' kappa needs as many for each"
    ),
)
"""Why `winosmith.metrics` defines no coefficient of agreement: what `Reliability.reason` says."""


def why_undefined(reason: str) -> str:
    """Return why a coefficient of agreement is not defined, in the reader's language."""
    return retold(reason, UNDEFINED)


def vote_rules() -> VoteRules:
    """Return the rules of `winosmith.validate` that this site decides by.

    `winosmith check` on a download, with the same numbers, comes to the same result.
    """
    rules = settings.RULES
    return VoteRules(
        judges=rules.judges, local_before=rules.local_before, both_halves=rules.both_halves
    )


@dataclass(frozen=True, slots=True)
class Vote:
    """What one judge said of a problem, without saying who it was.

    Attributes:
        judge: "Judge 1", "Judge 2", … in the reader's language: by their slots, the same at each
            look, and of this problem alone: nobody can be followed from one to the next.
        choice, local_choice: 0-based indices of options; None for neither, or not asked.
        chose, local: the same in words; `local` is empty for None.
        right: whether the choice is the problem's answer; None if the answer is withheld.
        excluded: it was taken out of the count.
        provisional: it is no vote before a market confirms who gave it.
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


def votes_of(problem: Problem, *, excluded: bool = False) -> list[Vote]:
    """Return the votes on a problem, without names.

    Args:
        problem: any; a gold question has none.
        excluded: those that are out of the count, or not yet in it, too.
    """
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
            _option(problem, slot.choice) or _("neither"),
            _option(problem, slot.local_choice),
        )
        for slot in rows
        if excluded or not (slot.excluded or slot.provisional)
    ]


def _option(problem: Problem, choice: int | None) -> str:
    known = choice is not None and choice < len(problem.options)
    return str(problem.options[choice]) if known else ""


def responses(problems: Iterable[Problem]) -> Iterator[Response]:
    """Yield the votes that count on problems, in the order in which people answered.

    Each is a response from the local context, where it was asked for, and one to the whole, by a
    pseudonym. Chunks of problems follow each other, in the order given, each ordered by time: a
    twin whose halves stand next to each other is whole in a chunk or ordered across two, which
    makes no difference where nobody judges both halves.
    """
    for chunk in chunked(problems, CHUNK):
        refs = {problem.pk: problem.ref for problem in chunk}
        rows = Slot.objects.filter(problem__in=list(refs)).counting()
        for slot in rows.select_related("holder").order_by("answered_at", "pk"):
            yield from _responses(slot, refs[slot.problem_id])


def _responses(slot: Slot, ref: str) -> Iterator[Response]:
    who, shown = pseudonym(cast("Person", slot.holder)), tuple(slot.shown)
    if slot.local_choice is not None:
        yield Response(
            ref, who, "local", slot.local_choice, shown=shown, seconds=slot.local_seconds
        )
    yield Response(
        ref,
        who,
        "validate",
        slot.choice,
        ambiguous=slot.ambiguous,
        associative=slot.associative,
        shown=shown,
        seconds=slot.seconds,
    )


def skips_of(problem: Problem) -> dict[str, int]:
    """Return how many judges passed a problem on, by their reason in words."""
    rows: Any = Skip.objects.filter(problem=problem).values("reason")
    counts = rows.annotate(n=Count("pk")).values_list("reason", "n")
    return {str(Skip.Reason(reason).label): n for reason, n in counts}


def forget_timings(before: datetime) -> int:
    """Forget how long answers took, and when they were begun, that were given before a time.

    Returns how many there were.

    In transactions of a few, so that others write in between.
    """
    gone = dict.fromkeys(("seconds", "local_seconds", "taken_at", "local_at"))
    timed = Slot.objects.filter(answered_at__lt=before).exclude(**gone)
    changed = 0
    while keys := list(timed.values_list("pk", flat=True)[:CHUNK]):
        with writing():
            Slot.objects.filter(pk__in=keys).update(**gone)
        changed += len(keys)
    return changed


LAST = 10_000
"""Problems that alpha is taken over: the last that were decided."""

LAST_OF_ONE = 200
"""Votes of one judge that their agreement with the others is taken over: the newest."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of the site's judges.

    Attributes:
        problems: how many were decided by votes.
        valid: how many of these were found valid.
        unanimous: on how many every judge chose the same.
        pairs: the fraction of pairs of judges of one problem who chose the same; None without any.
        alpha: Krippendorff's, over the last LAST problems, by the options' own order.
        alpha_of: over how many problems alpha was taken.
        gold: right answers to gold questions, and how many were given.
    """

    problems: int
    valid: int
    unanimous: int
    pairs: float | None
    alpha: Reliability | None
    alpha_of: int
    gold: tuple[int, int]


def agreement() -> Agreement:
    """Return the numbers; those of a large site are kept for a while.

    Counts come from one row a problem that its verdict wrote, grouped by the index on how the
    votes fell; nothing reads the votes again but alpha, over the last problems alone.
    """
    return cached("judge.agreement", _agreement)


def _agreement() -> Agreement:
    verdicts = _verdicts()
    groups = verdicts.values("counts").annotate(n=Count("pk")).order_by("counts")
    total = unanimous = same = pairs = 0
    for group in groups:
        counts = [int(count) for count in group["counts"].split(",")]
        judges, n = sum(counts), group["n"]
        total += n
        unanimous += n * (len(counts) == 1)
        same += n * sum(count * (count - 1) for count in counts)
        pairs += n * judges * (judges - 1)
    alpha, of = _alpha()
    asked = Gold.objects.filter(retired=False).values("pk")
    gold = Slot.objects.filter(problem__in=asked, gold=True, open=False, provisional=False)
    return Agreement(
        total,
        verdicts.filter(valid=True).count(),
        unanimous,
        same / pairs if pairs else None,
        alpha,
        of,
        (gold.filter(right=True).count(), gold.exclude(answered_at=None).count()),
    )


def _verdicts() -> QuerySet[Verdict]:
    """Return the verdicts, except for the few that wait for the other half of their twin."""
    return Verdict.objects.exclude(pk__in=Problem.objects.filter(waits=True).values("pk"))


def _alpha() -> tuple[Reliability | None, int]:
    """Return alpha over the last problems that were decided, and how many these are."""
    last = list(_verdicts().order_by("-at").values_list("pk", flat=True)[:LAST])
    chosen: dict[int, list[int | None]] = {key: [] for key in last}
    for start in range(0, len(last), CHUNK):
        rows = Slot.objects.filter(problem__in=last[start : start + CHUNK]).counting()
        for key, choice in rows.values_list("problem_id", "choice"):
            chosen[key].append(choice)
    if not last:
        return None, 0
    return krippendorff_alpha(answer_table(chosen.values())), len(last)


@dataclass(frozen=True, slots=True)
class Agreed:
    """How often a judge chooses what most of the others chose on the same problem.

    Attributes:
        same, of: votes that are what more than half of the others chose, and how many could be.
        ties: further votes on problems where the others chose evenly; they say nothing.
        chance: the share that would be the same if the judge's choices met the others' by chance.
    """

    same: int
    of: int
    ties: int
    chance: float

    @property
    def share(self) -> float:
        """0–1."""
        return self.same / self.of

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's of 95 %."""
        return wilson_interval(self.same, self.of)


def with_others(judges: Iterable[int]) -> dict[int, Agreed]:
    """Return how far each judge agrees with the others, over their last LAST_OF_ONE votes.

    The judge's own vote is none of those that it is compared with, and only problems count on which
    two others or more voted. Votes that wait for a moderator are compared, never compared with.
    Judges without any such problem have no figure.
    """
    mine: dict[int, dict[int, int | None]] = {}
    for judge in judges:
        rows = _answered().filter(holder=judge).order_by("-answered_at")
        mine[judge] = dict(rows.values_list("problem", "choice")[:LAST_OF_ONE])
    chosen: dict[int, dict[int, int | None]] = defaultdict(dict)
    keys = list({problem for votes in mine.values() for problem in votes})
    for start in range(0, len(keys), CHUNK):
        rows = _answered().filter(problem__in=keys[start : start + CHUNK], provisional=False)
        for problem, holder, choice in rows.values_list("problem", "holder", "choice"):
            chosen[problem][holder] = choice
    found = {judge: _agreed(judge, votes, chosen) for judge, votes in mine.items()}
    return {judge: agreed for judge, agreed in found.items() if agreed is not None}


def _agreed(
    judge: int, mine: dict[int, int | None], chosen: dict[int, dict[int, int | None]]
) -> Agreed | None:
    pairs: list[tuple[int | None, int | None]] = []
    ties = 0
    for problem, choice in mine.items():
        others = Counter(other for who, other in chosen[problem].items() if who != judge)
        if others.total() < 2:
            continue
        most, n = others.most_common(1)[0]
        if 2 * n > others.total():
            pairs.append((choice, most))
        else:
            ties += 1
    if not pairs:
        return None
    ours, theirs = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(ours[choice] * theirs[choice] for choice in ours) / len(pairs) ** 2
    return Agreed(sum(a == b for a, b in pairs), len(pairs), ties, chance)


def _answered() -> QuerySet[Slot]:
    return Slot.objects.votes().filter(excluded=False)
