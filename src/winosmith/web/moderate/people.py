"""Records of people for moderators: pseudonyms, problems, votes, roles, and agreement.

Moderators appoint judges and put them on hold; admins appoint moderators.

The agreement between pairs of judges is Cohen's kappa with its interval. Two accounts of one person
agree more than accounts of two people; a judge who follows different rules agrees less. Kappa can't
distinguish careful judging from these causes, so the site takes no action based on kappa.
Moderators read it together with pace, gold questions and judged problems.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy

from winosmith.errors import InputError
from winosmith.metrics import Proportion, proportion, wilson_interval
from winosmith.web._cache import get_cached_stats, get_cached_stats_by_key
from winosmith.web._lock import writing
from winosmith.web.jobs import VOTES, Job, Progress, create_job
from winosmith.web.judge import exclusion
from winosmith.web.judge.models import Judge, Slot, Slots
from winosmith.web.judge.trust import ADDRESS, GOLD, PACE, Pace, count_gold_answers, measure_pace
from winosmith.web.judge.votes import compare_with_others, compute_chance_agreement
from winosmith.web.moderate.decisions import clean_reason
from winosmith.web.moderate.models import Appointment
from winosmith.web.pages import format_percentage_interval, get_newest_rows, to_fixed, to_percent
from winosmith.web.people.gates import may_judge
from winosmith.web.people.models import Person, get_pseudonym
from winosmith.web.people.news import MAX_ITEMS, Item
from winosmith.web.problems.models import Problem, State, Twin, Version


@dataclass(frozen=True, slots=True)
class ProblemCounts:
    """Numbers of a person's problems (halves) by state.

    Attributes:
        perturbed: The number of perturbed problems, which are also counted in their states.
    """

    held: int = 0
    judging: int = 0
    valid: int = 0
    rejected: int = 0
    revised: int = 0
    withdrawn: int = 0
    perturbed: int = 0

    @property
    def total(self) -> int:
        return sum(getattr(self, state) for state in State.values)

    @property
    def undecided_count(self) -> int:
        return self.held + self.judging


def count_problems_by_state(person: Person) -> ProblemCounts:
    return count_problems_of_people([person])[person.pk]


def count_problems_of_people(people: Sequence[Person]) -> dict[int, ProblemCounts]:
    """Map each person's key to the counts of their problems by state.

    The counts of people with thousands of problems are cached.
    """
    return get_cached_stats_by_key(
        "moderate.written", [person.pk for person in people], _count_problems
    )


def _count_problems(people: list[int]) -> dict[int, tuple[int, ProblemCounts]]:
    theirs = Problem.objects.filter(twin__contributor__in=people, gold=False)
    states = theirs.values("twin__contributor", "state").annotate(n=Count("pk")).order_by()
    versions = Version.objects.filter(problem__twin__contributor__in=people, parent__isnull=False)
    perturbed = versions.values("problem__twin__contributor").annotate(n=Count("pk")).order_by()
    found: dict[int, dict[str, int]] = {person: {} for person in people}
    for person, state, n in states.values_list("twin__contributor", "state", "n"):
        found[person][state] = n
    for person, n in perturbed.values_list("problem__twin__contributor", "n"):
        found[person]["perturbed"] = n
    counted = {person: ProblemCounts(**counts) for person, counts in found.items()}
    return {person: (counts.total, counts) for person, counts in counted.items()}


@dataclass(frozen=True, slots=True)
class JudgingRecord:
    """A person's votes and their quality.

    Attributes:
        answers: The number of votes, of which `excluded` don't count and `waiting` are pending.
        agreement: The agreement with the other judges; None if there is nothing to compare.
        gold: The fraction of gold questions answered correctly, or None.
        held: The judge's row if their votes wait for a moderator; otherwise None.
    """

    answers: int = 0
    excluded: int = 0
    waiting: int = 0
    pace: Pace = field(default_factory=Pace)
    agreement: Proportion | None = None
    gold: Proportion | None = None
    held: Judge | None = None

    @property
    def pace_text(self) -> str:
        if self.pace.seconds is None:
            return "–"
        return _("%(seconds)s s (%(over)d)") % {
            "seconds": to_fixed(self.pace.seconds, 1),
            "over": self.pace.answer_count,
        }

    @property
    def agreement_text(self) -> str:
        return _format_fraction(self.agreement)

    @property
    def gold_text(self) -> str:
        return _format_fraction(self.gold)

    @property
    def chance_text(self) -> str:
        if self.agreement is None or self.agreement.chance is None:
            return ""
        values = {"chance": to_percent(self.agreement.chance, 0), "ties": self.agreement.ties}
        found = _("By chance, %(chance)s of the choices would agree with the majority.") % values
        if values["ties"]:
            found += " " + _("Not compared, because the other judges tied: %(ties)d.") % values
        return found

    @property
    def hold_reason(self) -> str:
        if self.held is None:
            return ""
        values, cause = self.held.measured, str(self.held.get_cause_display())
        if self.held.cause == PACE:
            numbers = _("median of %(seconds)s s per problem over %(over)d answers")
        elif self.held.cause == GOLD:
            numbers = _("%(right)d of the last %(over)d correct")
        elif self.held.cause == ADDRESS:
            numbers = _("%(accounts)d accounts within an hour")
        else:
            return cause
        return f"{cause}: {numbers % values}" if values else cause


def _format_fraction(found: Proportion | None) -> str:
    if found is None:
        return "–"
    interval = format_percentage_interval(found.interval, 0)
    return f"{to_percent(found.value, 0)} ({interval}), {int(found.right)} / {found.n}"


def get_judging_records(people: Sequence[Person]) -> dict[int, JudgingRecord]:
    counted = Slot.objects.votes().filter(holder__in=people).values("holder").order_by()
    counted = counted.annotate(
        n=Count("pk"),
        out=Count("pk", filter=Q(excluded=True)),
        waits=Count("pk", filter=Q(excluded=False, provisional=True)),
    )
    votes = {
        key: {"answers": n, "excluded": out, "waiting": waits}
        for key, n, out, waits in counted.values_list("holder", "n", "out", "waits")
    }
    held = {one.pk: one for one in Judge.objects.filter(person__in=people, held__isnull=False)}
    agreeing, gold = compare_with_others(votes), count_gold_answers(people)
    records = {}
    for person in people:
        right, n = gold[person.pk]
        records[person.pk] = JudgingRecord(
            **votes.get(person.pk, {}),
            pace=measure_pace(person.pk) if person.pk in votes or n else Pace(),
            agreement=agreeing.get(person.pk),
            gold=proportion([True] * right + [False] * (n - right)) if n else None,
            held=held.get(person.pk),
        )
    return records


def get_keys_on_hold() -> QuerySet[Judge]:
    """Return the keys of the people whose votes are on hold."""
    return Judge.objects.exclude(held=None).values("person")


PAGE_SIZE = 30

MEMBER_FILTERS = {
    "judges": (gettext_lazy("judges"), Q(is_judge=True)),
    "held": (gettext_lazy("judges on hold"), Q(pk__in=get_keys_on_hold())),
    "moderators": (gettext_lazy("moderators"), Q(is_moderator=True)),
    "contributors": (
        gettext_lazy("contributors"),
        Q(Exists(Twin.objects.filter(contributor=OuterRef("pk")))),
    ),
}
"""Filters of the list of people: the label and the condition of each filter."""


def get_member_page(*, only: str = "", before: str = "") -> tuple[list[dict[str, Any]], str]:
    """Return a page of people who were not erased; see `winosmith.web.pages.get_newest_rows`."""
    rows = Person.objects.filter(erased=None).order_by("-pk")
    if only in MEMBER_FILTERS:
        rows = rows.filter(MEMBER_FILTERS[only][1])
    people, older = get_newest_rows(rows, before, PAGE_SIZE)
    return list_members(people), older


def list_members(people: Sequence[Person]) -> list[dict[str, Any]]:
    written, judged = count_problems_of_people(people), get_judging_records(people)
    return [
        {
            "person": one,
            "name": get_pseudonym(one),
            "written": written[one.pk],
            "judged": judged[one.pk],
        }
        for one in people
    ]


Kind = Appointment.Kind


def get_possible_changes(person: Person, other: Person) -> list[Any]:
    """Return the kinds of changes that a person may make to another person.

    Moderators change judges, but never admins or themselves. Visitors have no role.
    """
    is_other = other.pk != person.pk and other.is_active and not other.anonymous
    if not person.can_moderate or not is_other or other.is_superuser:
        return []
    kinds: list[Any] = [Kind.NO_JUDGE if other.is_judge else Kind.JUDGE]
    judged = get_judging_records([other])[other.pk]
    held = judged.held
    kinds += [Kind.PAUSE] * (held is None or held.cause != Judge.Cause.MODERATOR)
    kinds += [Kind.RESUME] * (held is not None)
    kinds += [Kind.DISCARD] * (held is not None and judged.waiting > 0)
    kinds += [Kind.EXCLUDE] * (judged.answers > judged.excluded)
    kinds += [Kind.INCLUDE] * (judged.excluded > 0)
    if person.is_superuser:
        kinds.append(Kind.NO_MODERATOR if other.is_moderator else Kind.MODERATOR)
    return kinds


def get_people_held_as_group(other: Person) -> list[Person]:
    """Return the other people who were put on hold together with a person."""
    own = Judge.objects.filter(person=other, held__isnull=False).exclude(together="").first()
    if own is None:
        return []
    rows = Person.objects.filter(judging__together=own.together, judging__held__isnull=False)
    return list(rows.exclude(pk=other.pk).order_by("pk"))


def change_person(person: Person, other: Person, kind: str, reason: str) -> Appointment:
    """Change another person's roles, or whether their votes count; return the log entry.

    Only admins appoint moderators. Votes are changed by a job (`run_vote_job`).
    """
    reason = clean_reason(reason)
    with writing():
        now = Person.objects.select_for_update().get(pk=other.pk)
        if kind not in get_possible_changes(person, now):
            raise InputError(_("You can’t make this change, or it has already been made."))
        change = Kind(kind)
        if change in (Kind.JUDGE, Kind.NO_JUDGE):
            Person.objects.filter(pk=now.pk).update(is_judge=change == Kind.JUDGE)
        elif change in (Kind.MODERATOR, Kind.NO_MODERATOR):
            Person.objects.filter(pk=now.pk).update(is_moderator=change == Kind.MODERATOR)
        elif change in (Kind.PAUSE, Kind.DISCARD):
            exclusion.pause_judge(now, person)
        elif change == Kind.RESUME:
            exclusion.resume_judge(now, person)
        decision = Appointment.objects.create(person=now, actor=person, kind=kind, reason=reason)
        if decision.kind in exclusion.CHANGES:
            asked, total = {"name": get_pseudonym(now)}, _find_votes_to_change(decision).count()
            decision.job = create_job(person, VOTES, asked, state=Job.State.WAITING, total=total)
            decision.save(update_fields=["job"])
        return decision


def run_vote_job(job: Job, progress: Progress) -> None:
    """Change a judge's votes according to a moderator's decision, in the worker.

    Each problem has its own transaction, so that an interrupted job can resume. Problems that then
    lack votes are judged again. A decision that was replaced by a later decision changes nothing.
    """
    decision = Appointment.objects.select_related("person", "actor").get(job=job)
    kinds = _INCLUSION_KINDS if decision.kind in _INCLUSION_KINDS else _HOLD_KINDS
    if decision.actor is not None and decision == _get_latest_decision(decision.person, kinds):
        before = job.total - _find_votes_to_change(decision).count()
        exclusion.change_votes(
            decision.person,
            decision.kind,
            decision.actor,
            decision.reason,
            until=decision.at,
            progress=lambda changed: progress(before + changed),
        )


def get_unfinished_decisions(other: Person) -> list[Appointment]:
    """Return the current decisions about a judge's votes whose jobs are not finished."""
    found = (_get_latest_decision(other, kinds) for kinds in (_INCLUSION_KINDS, _HOLD_KINDS))
    return [one for one in found if one and one.job and one.job.state != Job.State.DONE]


def _find_votes_to_change(decision: Appointment) -> Slots:
    return exclusion.find_votes_to_change(decision.person, decision.kind, decision.at)


_INCLUSION_KINDS = (Kind.EXCLUDE, Kind.INCLUDE)
_HOLD_KINDS = (Kind.PAUSE, Kind.RESUME, Kind.DISCARD)
"""In each of the two tuples, only the last decision applies.

The first tuple concerns all votes, and the second only pending votes.
"""


def iter_vote_decisions(person: Person, after: datetime) -> Iterator[Item]:
    """Yield moderators' decisions on a judge's votes.

    The reasons are omitted, because only the log contains them.
    """
    texts = {
        Kind.EXCLUDE: _("A moderator excluded your votes"),
        Kind.INCLUDE: _("A moderator included your votes again"),
        Kind.PAUSE: _("A moderator put your votes on hold to check them"),
        Kind.RESUME: _("A moderator approved your votes that were on hold"),
        Kind.DISCARD: _("A moderator discarded your votes that were on hold: they do not count"),
    }
    to = reverse("judge:history" if may_judge(person) else "people:me")
    rows = Appointment.objects.filter(person=person, kind__in=texts, at__gt=after)
    for row in rows.order_by("-pk")[:MAX_ITEMS]:
        yield Item(row.at, texts[Kind(row.kind)], to)


def _get_latest_decision(other: Person, kinds: Sequence[Any]) -> Appointment | None:
    rows = Appointment.objects.filter(person=other, kind__in=kinds)
    return rows.select_related("person", "actor", "job").order_by("-pk").first()


MIN_SHARED = 20
"""Minimum number of shared problems for a pair of judges to be listed.

With this number, if a pair agrees on half of the problems, the 95 % interval (Wilson's) extends 20
percentage points in each direction. With fewer problems, chance could be mistaken for a result.
"""

MAX_JUDGES = 40
"""Maximum number of judges on a page, who form 780 pairs."""

JudgePair = tuple[int, int]
Table = Mapping[tuple[Any, Any], int]
"""Contingency table of two judges: the number of problems for each combination of their answers."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two judges, and the problems that both judged.

    Attributes:
        one, other: The primary keys of the judges.
        n: The number of problems that both judged.
        same: The number of these problems on which both chose the same option, or "neither".
        waits: The number of these problems with a vote that waits for a moderator or a market.
        chance: The agreement expected by chance, 0–1, given how often each judge gives each answer.
    """

    one: int
    other: int
    n: int
    same: int
    waits: int
    chance: float

    @property
    def share(self) -> float:
        """Return the fraction of equal choices, 0–1."""
        return self.same / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % Wilson interval of `share`."""
        return wilson_interval(self.same, self.n)

    @property
    def kappa(self) -> float | None:
        """Return Cohen's kappa, at most 1; None if only one answer was ever given.

        See Cohen (1960).
        """
        return self._correct_for_chance(self.share)

    @property
    def kappa_interval(self) -> tuple[float, float] | None:
        """Return a 95 % interval of kappa, computed from `interval` with `chance` held fixed.

        The usual interval contains a kappa of 0.9 in only 63 % of samples of 20; this interval does
        in 93 %. See Fleiss, Cohen and Everitt (1969) for the usual interval.
        """
        low, high = (self._correct_for_chance(end) for end in self.interval)
        return None if low is None or high is None else (low, high)

    def _correct_for_chance(self, fraction: float) -> float | None:
        return None if self.chance >= 1 else (fraction - self.chance) / (1 - self.chance)


def list_pairs(judge: Person | None = None) -> list[tuple[str, str, Pair]]:
    """Return pairs of judges with their pseudonyms, highest kappa first; cached on large sites.

    Both judges of a pair have judged at least `MIN_SHARED` common problems. Without `judge`, the
    pairs are among the `MAX_JUDGES` judges with the most votes. With `judge`, each pair consists of
    this judge and one of those who share the most problems.
    """
    key = 0 if judge is None else judge.pk
    found = get_cached_stats(f"moderate.agreement.{key}", lambda: _compute_pairs(judge))
    people = Person.objects.in_bulk({key for pair in found for key in (pair.one, pair.other)})
    names = {key: get_pseudonym(person) for key, person in people.items()}
    return [(names[pair.one], names[pair.other], pair) for pair in found]


def _compute_pairs(judge: Person | None) -> tuple[int, list[Pair]]:
    votes = Slot.objects.votes().filter(excluded=False, holder__erased=None)
    judges, others_votes = [], votes
    if judge is not None:
        theirs, judges = votes.filter(holder=judge).values("problem"), [judge.pk]
        others_votes = votes.filter(problem__in=theirs).exclude(holder=judge)
    most = others_votes.values("holder").annotate(n=Count("pk")).order_by("-n", "holder")
    judges += most.values_list("holder", flat=True)[: MAX_JUDGES - len(judges)]
    conditions = {
        "holder__in": judges,
        "holder__gt": F("holder"),
        "gold": False,
        "open": False,
        "excluded": False,
        "answered_at__isnull": False,
    }
    others = {f"problem__slots__{name}": value for name, value in conditions.items()}
    rows = votes.filter(holder__in=judges, **others).order_by()
    found = rows.values_list("holder", "problem__slots__holder", "choice", "problem__slots__choice")
    waiting = Q(provisional=True) | Q(problem__slots__provisional=True)
    found = found.annotate(n=Count("pk"), waits=Count("pk", filter=waiting))
    tables: dict[JudgePair, Counter[tuple[Any, Any]]] = defaultdict(Counter)
    waits: Counter[JudgePair] = Counter()
    for one, other, choice, others_choice, n, waiting_n in found:
        tables[one, other][choice, others_choice] += n
        waits[one, other] += waiting_n
    return sum(table.total() for table in tables.values()), rank_pairs(tables, waits)


def rank_pairs(tables: Mapping[JudgePair, Table], waits: Mapping[JudgePair, int]) -> list[Pair]:
    """Return the pairs with `MIN_SHARED` problems or more, highest kappa first.

    `waits` maps each pair to the number of problems with a pending vote.
    """
    pairs = [
        Pair(
            *judges,
            sum(table.values()),
            sum(count for (a, b), count in table.items() if a == b),
            waits.get(judges, 0),
            compute_chance_agreement(table),
        )
        for judges, table in tables.items()
        if sum(table.values()) >= MIN_SHARED
    ]
    return sorted(
        pairs, key=lambda pair: (pair.kappa is None, -(pair.kappa or 0.0), pair.one, pair.other)
    )
