"""Template contexts of the pages for writing and for a person's own twins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _, ngettext

from winosmith.problem import BLANK
from winosmith.text import Change, diff_text, mark_differences
from winosmith.validate import DOMAINS
from winosmith.web.judge import submissions
from winosmith.web.judge.votes import list_votes
from winosmith.web.moderate import decisions
from winosmith.web.moderate.people import ProblemCounts, count_problems_by_state
from winosmith.web.pages import round_percent
from winosmith.web.people.models import Person
from winosmith.web.people.news import MAX_ITEMS, Item, Work
from winosmith.web.problems import checks
from winosmith.web.problems.checks import find_text_hints, mark_rejected, summarize
from winosmith.web.problems.family import find_root
from winosmith.web.problems.lookalikes import find_lookalikes
from winosmith.web.problems.models import Event, Problem, State, Twin, Version
from winosmith.web.problems.states import LATE, get_public_time, is_visible_to
from winosmith.web.write import rules
from winosmith.web.write.models import Draft
from winosmith.web.write.rules import TwinInput, check_twin


def make_readings(typed: TwinInput) -> list[list[dict[str, Any]]]:
    """Fill each half's blank with each option; halves without exactly one blank have no reading.

    Each reading has its `option`, the `pieces` of its sentence, and whether it is the `right` one.
    A piece is a text and its kind: "filled" for a filled blank, "differs" for a difference between
    the halves, or "".
    """
    first, second = typed.sentences
    return [
        [
            {
                "option": option,
                "right": answer == number,
                "pieces": _fill_blank(mark_differences(half, other or half), option),
            }
            for number, option in enumerate(typed.options)
            if option and half.count(BLANK) == 1
        ]
        for half, other, answer in zip((first, second), (second, first), typed.answers, strict=True)
    ]


def _fill_blank(half: Iterable[Change], option: str) -> list[tuple[str, str]]:
    pieces = []
    for text, kind in half:
        before, blank, after = text.partition(BLANK)
        plain = "differs" if kind else ""
        pieces += [(before, plain), (option if blank else "", "filled"), (after, plain)]
    return [(text, kind) for text, kind in pieces if text]


MAX_LOOKALIKES = 3
"""Maximum number of near-duplicates shown."""


def make_draft_context(
    draft: Draft,
    typed: TwinInput,
    person: Person,
    *,
    faults: dict[str, list[str]] | None = None,
    stored: Draft | None = None,
    error: str = "",
) -> dict[str, Any]:
    """Return the template context for a draft's page.

    `faults` is the advice on a rejected form, by field. `stored` is the draft if it has newer input
    from another window.
    """
    form, faults = typed.as_form(), faults or {}
    halves = [
        {
            "number": number,
            "title": title,
            "sentence": form[f"sentence_{number}"],
            "answer": form[f"answer_{number}"],
            "faults": faults.get(f"sentence_{number}", []),
            "answer_faults": faults.get(f"answer_{number}", []),
            "error": f"sentence-{number}-error",
            "answer_error": f"answer-{number}-error",
        }
        for number, title in ((1, _("First half")), (2, _("Second half")))
    ]
    labels = (_("Social: two people of the same gender"), _("Physical: two things"))
    return {
        "draft": draft,
        "typed": typed,
        "version": stored.version if stored else draft.version,
        "domains": list(zip(DOMAINS, labels, strict=True)),
        "domain_faults": faults.get("domain", []),
        "halves": halves,
        "stored": stored,
        "stored_typed": TwinInput.from_form(stored.typed) if stored else None,
        "error": error,
        **checks.make_form_context(typed.options, faults),
        **make_checks_context(draft, typed, person, faults),
    }


def make_checks_context(
    draft: Draft, typed: TwinInput, person: Person, faults: dict[str, list[str]] | None = None
) -> dict[str, Any]:
    checks = mark_rejected(check_twin(typed, draft.anchors), faults or {})
    typed = typed.without_long_texts()
    halves = typed.halves()
    # Near-duplicates are only searched for halves of at least five words.
    begun = [half for half in halves if len(half.sentence.split()) >= 5]
    near = (
        find_lookalikes(begun, skip_twin=draft.revises_id, reader=person, limit=MAX_LOOKALIKES)
        if begun
        else []
    )
    groups = ((0, _("First half")), (1, _("Second half")), (None, _("Both together")))
    return {
        "draft": draft,
        "groups": [
            (name, [check for check in checks if check.half == half]) for half, name in groups
        ],
        **summarize(checks),
        "previews": make_readings(typed),
        "near": [{"one": one, "percent": round_percent(one.share)} for one in near],
        "hints": find_text_hints(halves, settings.RULES.words_to_flag),
    }


def count_problems(person: Person | None) -> ProblemCounts:
    """Count a person's problems; `person` is None for a visitor who has not written yet."""
    return count_problems_by_state(person) if person else ProblemCounts()


def make_version_context(person: Person | None, twin: Twin) -> dict[str, Any] | None:
    """Return the template context for a person's perturbed problem; None for other twins.

    The context contains the problem, its version with the depths, and its parent with the edits
    since then. Parent and edits are None if the person may not see the parent.
    """
    return make_version_contexts(person, [twin]).get(twin.pk)


def make_version_contexts(
    person: Person | None, twins: Iterable[Twin]
) -> dict[int, dict[str, Any]]:
    """Map the key of each perturbed problem's twin to its context (see `make_version_context`)."""
    rows = Version.objects.filter(problem__twin__in=list(twins), parent__isnull=False)
    found: dict[int, dict[str, Any]] = {}
    for version in rows.select_related("problem", "parent__twin").order_by("problem"):
        problem, above = version.problem, version.parent
        parent = above if above and is_visible_to(person, above) else None
        place = {
            "problem": problem,
            "version": version,
            "parent": parent,
            "pieces": diff_text(parent.sentence, problem.sentence) if parent else None,
        }
        found.setdefault(problem.twin_id, place)
    return found


PAGE_SIZE = 20


def list_own_twins(person: Person | None) -> QuerySet[Twin]:
    halves = Problem.objects.filter(twin=OuterRef("pk"), gold=False)
    mine = Twin.objects.filter(contributor=person) if person else Twin.objects.none()
    return mine.filter(Exists(halves)).prefetch_related("problems").order_by("-pk")


def make_twin_context(
    person: Person, twin: Twin, error: str = "", posted: Any = None
) -> dict[str, Any]:
    problems = submissions.get_own_halves(person, twin)
    held = any(problem.state == State.HELD for problem in problems)
    posted = posted or {}
    readings = make_readings(rules.to_input(twin)) if len(problems) == 2 else [[]] * len(problems)
    halves = []
    for problem, reading in zip(problems, readings, strict=True):
        decided = problem.decided is not None and problem.state != State.JUDGING
        events = [
            (event.at, _describe_event(event), submissions.get_contributor_reason(event))
            for event in problem.events.order_by("pk")
        ]
        halves.append(
            {
                "problem": problem,
                "state": State(problem.state),
                "until": get_public_time(problem),
                "readings": reading,
                "votes": list_votes(problem) if decided else [],
                "history": [event for event in events if any(event[1:])],
                "appeal": decisions.get_open_appeal(problem),
                "may_appeal": decisions.may_appeal(person, problem),
                "typed": posted.get("text", "") if posted.get("problem") == problem.ref else "",
            }
        )
    hints: list[str] = []
    if held:
        root = find_root(problems[0])
        hints = checks.find_contributor_hints(problems, person, skip_twin=twin.pk, family=root)
    return {
        "twin": twin,
        "version": make_version_context(person, twin),
        "halves": halves,
        "held": held,
        "hints": hints,
        "anonymous": person.anonymous,
        "may_withdraw": submissions.may_withdraw(person, twin),
        "may_revise": submissions.may_revise(person, twin),
        "later": Twin.objects.filter(revises=twin).first(),
        "error": error,
        "longest_appeal": decisions.MAX_REASON,
    }


def _describe_event(event: Event) -> str:
    """Describe an event for the contributor; return "" if showing its reason is enough."""
    if event.kind == "appeal":
        return _("You appealed")
    if event.kind == "exclude-vote":
        return _("A vote was excluded")
    if event.kind == "include-vote":
        return _("A vote was included again")
    if event.kind == "recount":
        return _describe_effect(event)
    if not event.reason:
        return ""
    moved = event.before not in ("", event.after) and event.actor_id is not None
    own = event.actor_id == event.problem.twin.contributor_id
    return _describe_effect(event) if event.kind == "decline" or (moved and not own) else ""


def iter_submission_news(person: Person, after: datetime) -> Iterator[Item]:
    rows = Event.objects.filter(problem__twin__contributor=person, problem__gold=False)
    is_news = ~Q(before="") & (~Q(before=F("after")) | Q(kind__in=("decline", LATE)))
    rows = rows.filter(is_news, at__gt=after).exclude(actor=person)
    for event in rows.select_related("problem__twin").order_by("-pk")[:MAX_ITEMS]:
        to = reverse("write:twin", args=[event.problem.twin.ref])
        text, reason = _describe_effect(event), submissions.get_contributor_reason(event)
        yield Item(event.at, text, to, event.problem.sentence, reason)


def _describe_effect(event: Event) -> str:
    if event.kind == "decline":
        return _("A moderator declined your appeal")
    if event.kind == LATE:
        return _("Your sentence is public")
    by_votes = {
        State.VALID: _("Judges found your sentence valid"),
        State.REJECTED: _("Judges rejected your sentence"),
    }
    by_moderator = {
        State.VALID: _("A moderator accepted your sentence"),
        State.REJECTED: _("A moderator rejected your sentence"),
        State.JUDGING: _("A moderator approved your sentence for judging"),
        State.HELD: _("Your sentence is waiting for a moderator"),
        State.WITHDRAWN: _("A moderator withdrew your sentence"),
    }
    by_recount = {
        State.VALID: _("The votes were counted again: judges found your sentence valid"),
        State.REJECTED: _("The votes were counted again: judges rejected your sentence"),
        State.JUDGING: _("Some votes were excluded; other judges will judge your sentence"),
    }
    texts = by_votes if event.actor_id is None else by_moderator
    if event.kind == "recount":
        texts = by_recount
    return texts.get(State(event.after), _("Your sentence: %s") % State(event.after).label)


def iter_draft_reminders(person: Person) -> Iterator[Work]:
    n = len(rules.list_drafts(person))
    if n:
        text = ngettext("%d draft is not submitted yet", "%d drafts are not submitted yet", n)
        yield Work(text % n, reverse("write:start"))
