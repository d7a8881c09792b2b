"""One's own twins: how many, how they stand, what judges said, and what can be done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from winosmith.errors import InputError
from winosmith.lineage import changes
from winosmith.web._cache import cached
from winosmith.web.judge.submissions import may_revise, may_withdraw, own_problems
from winosmith.web.judge.submissions import withdraw as take_back
from winosmith.web.judge.votes import Vote, votes_of
from winosmith.web.moderate import decisions
from winosmith.web.people.gates import existing_writer, new_key, once
from winosmith.web.people.models import Person
from winosmith.web.problems.checks import live_hints
from winosmith.web.problems.family import root_of
from winosmith.web.problems.models import Problem, State, Twin, Version
from winosmith.web.problems.states import public_problems, visible_to, waits_until
from winosmith.web.write import rules
from winosmith.web.write.page import preview


@dataclass(frozen=True, slots=True)
class Counts:
    """How many.

    Attributes:
        today: twins that the person wrote since midnight, in the site's time.
        waiting: twins of theirs of which a half awaits a moderator.
        judging: of which a half is being judged.
        valid: of which both halves were found valid.
        site: public problems of the site.
        goal: how many valid problems the site wants; 0 for none.
    """

    today: int
    waiting: int
    judging: int
    valid: int
    site: int
    goal: int

    @property
    def share(self) -> int:
        """How much of the goal is reached, in per cent, 0–100."""
        return min(100, self.site * 100 // self.goal) if self.goal else 0


def counts(person: Person | None) -> Counts:
    """Return the counts of a person; None for somebody who has not written yet.

    Where there are many problems, or many of the person, the counts are those of a moment ago.
    """
    site, goal = (
        cached("write.public", lambda: _Counted(public_problems().count())).problems,
        settings.RULES.goal,
    )
    if person is None:
        return Counts(0, 0, 0, 0, site, goal)
    mine = cached(f"write.counts.{person.pk}", lambda: _mine_now(person))
    today, waiting, judging, valid = mine.counts
    return Counts(today, waiting, judging, valid, site, goal)


@dataclass(frozen=True, slots=True)
class _Counted:
    """What is kept: over how many problems was counted, and the counts of a person's twins."""

    problems: int
    counts: Sequence[int] = ()


def _mine_now(person: Person) -> _Counted:
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    halves = Problem.objects.filter(twin=OuterRef("pk"), gold=False)
    having = {
        state: Exists(halves.filter(state=state))
        for state in (State.HELD, State.JUDGING, State.VALID)
    }
    all_valid = having[State.VALID] & ~Exists(halves.exclude(state=State.VALID))
    found = Twin.objects.filter(contributor=person).aggregate(
        today=Count("pk", filter=Exists(halves) & Q(created__gte=midnight)),
        waiting=Count("pk", filter=having[State.HELD]),
        judging=Count("pk", filter=having[State.JUDGING]),
        valid=Count("pk", filter=all_valid),
        twins=Count("pk"),
    )
    twins = found.pop("twins")
    return _Counted(2 * twins, tuple(found.values()))


def place_of(person: Person | None, twin: Twin) -> dict[str, Any] | None:
    """Return what stands beside a perturbed problem of one's own; None beside a twin.

    The problem, its version with the depths, and its parent with the edits from it: None where the
    parent is not, or no longer, for this person to see.
    """
    return places_of(person, [twin]).get(twin.pk)


def places_of(person: Person | None, twins: Iterable[Twin]) -> dict[int, dict[str, Any]]:
    """Return the same for many twins at once, by their keys; original ones are left out."""
    rows = Version.objects.filter(problem__twin__in=list(twins), parent__isnull=False)
    found: dict[int, dict[str, Any]] = {}
    for version in rows.select_related("problem", "parent__twin").order_by("problem"):
        problem, above = version.problem, version.parent
        parent = above if above and visible_to(person, above) else None
        told = {
            "problem": problem,
            "version": version,
            "parent": parent,
            "pieces": changes(parent.sentence, problem.sentence) if parent else None,
        }
        found.setdefault(problem.twin_id, told)
    return found


SIZE = 20
"""Twins on a page."""


@require_safe
def twins(request: HttpRequest) -> HttpResponse:
    """Show one's twins, the newest first."""
    person = existing_writer(request)
    page = Paginator(twins_of(person), SIZE).get_page(request.GET.get("page"))
    places = places_of(person, page.object_list)
    context = {
        "twins": [(twin, places.get(twin.pk)) for twin in page.object_list],
        "page": {
            "newer": f"page={page.number - 1}" if page.has_previous() else "",
            "older": f"page={page.number + 1}" if page.has_next() else "",
        },
        "counts": counts(person),
    }
    return render(request, "write/mine.html", context)


def twins_of(person: Person | None) -> QuerySet[Twin]:
    """Return somebody's twins with their halves, the newest first; attention questions aside."""
    halves = Problem.objects.filter(twin=OuterRef("pk"), gold=False)
    mine = Twin.objects.filter(contributor=person) if person else Twin.objects.none()
    return mine.filter(Exists(halves)).prefetch_related("problems").order_by("-pk")


@require_safe
def twin(request: HttpRequest, ref: str) -> HttpResponse:
    """Show one of one's twins, with what the judges said once it is decided."""
    person, found = _own(request, ref)
    return render(request, "write/twin.html", about(person, found))


@require_POST
def withdraw(request: HttpRequest, ref: str) -> HttpResponse:
    """Take a twin back."""

    def act(person: Person, found: Twin) -> str:
        take_back(person, found, request.POST.get("reason", "").strip()[:500])
        return _("It is withdrawn: nobody but you and the moderators sees it any more.")

    return _acted(request, ref, act)


@require_POST
def revise(request: HttpRequest, ref: str) -> HttpResponse:
    """Open the form, filled with a twin, to write a version that replaces it."""
    person, found = _own(request, ref)
    version = place_of(person, found)
    if version is not None:
        return redirect("perturb:revise", version["problem"].ref)
    try:
        return redirect("write:draft", rules.revise(person, found).ref)
    except InputError as refused:
        return render(request, "write/twin.html", about(person, found, str(refused)), status=422)


@require_POST
def appeal(request: HttpRequest, ref: str) -> HttpResponse:
    """Ask a moderator to look again at one half."""

    def act(person: Person, found: Twin) -> str:
        wanted = request.POST.get("problem", "")
        half = next((one for one in own_problems(person, found) if one.ref == wanted), None)
        if half is None:
            raise InputError(_("This half is not part of the twin; open the page again."))
        decisions.appeal(person, half, request.POST.get("text", ""))
        return _("A moderator will read your appeal and answer here.")

    return _acted(request, ref, act)


def _acted(request: HttpRequest, ref: str, act: Callable[[Person, Twin], str]) -> HttpResponse:
    """Do something to a twin once for a form, and lead back to its page."""
    person, found = _own(request, ref)
    try:
        result, _new = once(
            person,
            request.POST.get("key", ""),
            request.path,
            lambda: {"said": act(person, found)},
        )
    except InputError as refused:
        context = about(person, found, str(refused), request.POST)
        return render(request, "write/twin.html", context, status=422)
    messages.success(request, str(result["said"]))
    return redirect("write:twin", ref)


def _own(request: HttpRequest, ref: str) -> tuple[Person, Twin]:
    person = existing_writer(request)
    found = Twin.objects.select_related("revises").filter(ref=ref, contributor=person).first()
    if person is None or found is None or not own_problems(person, found):
        raise Http404
    return person, found


def about(person: Person, found: Twin, error: str = "", sent: Any = None) -> dict[str, Any]:
    """Return what the page of one's own twin shows.

    Args:
        person: who wrote it.
        found: the twin.
        error: why nothing came of what was asked for.
        sent: the form that was sent, to be shown again.
    """
    problems = own_problems(person, found)
    held = any(problem.state == State.HELD for problem in problems)
    sent = sent or {}
    readings = preview(rules.typed_of(found)) if len(problems) == 2 else [()] * len(problems)
    return {
        "twin": found,
        "version": place_of(person, found),
        "halves": [
            {
                "problem": problem,
                "state": State(problem.state),
                "until": waits_until(problem),
                "readings": reading,
                "votes": _votes(problem),
                "history": _history(problem),
                "appeal": decisions.open_appeal(problem),
                "may_appeal": decisions.may_appeal(person, problem),
                "typed": sent.get("text", "") if sent.get("problem") == problem.ref else "",
                "key": new_key(),
            }
            for problem, reading in zip(problems, readings, strict=True)
        ],
        "held": held,
        "hints": _hints(person, found, problems) if held else [],
        "anonymous": person.anonymous,
        "may_withdraw": may_withdraw(person, found),
        "may_revise": may_revise(person, found),
        "later": Twin.objects.filter(revises=found).first(),
        "key": new_key(),
        "error": error,
        "longest_appeal": decisions.LONGEST,
    }


def _hints(person: Person, found: Twin, problems: list[Problem]) -> list[str]:
    family = root_of(problems[0])
    return live_hints(problems, person, without=found.pk, family=family)


def _votes(problem: Problem) -> list[dict[str, Any]]:
    """Return what judges said, once nobody is asked any more."""
    if problem.decided is None or problem.state == State.JUDGING:
        return []
    return [
        {"vote": vote, "choice": _option(problem, vote.choice), "first": _local(problem, vote)}
        for vote in votes_of(problem)
    ]


def _local(problem: Problem, vote: Vote) -> str:
    return "" if vote.local_choice is None else _option(problem, vote.local_choice)


def _option(problem: Problem, choice: int | None) -> str:
    return _("neither") if choice is None else str(problem.options[choice])


def _history(problem: Problem) -> list[Any]:
    """Return what was done to a problem and why, without telling who did it."""
    events = problem.events.exclude(reason="").order_by("pk")
    return [(event.at, event.reason, event.kind) for event in events]
