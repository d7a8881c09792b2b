"""The public figures, how far judges agree, and the data card that tells of both.

Only what has been decided is counted, and nothing under embargo: a figure tells no more than the
public problems do, and how many were not found valid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Count, Exists, IntegerField, Max, Min, OuterRef, Q, QuerySet
from django.db.models.functions import Cast
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext_lazy as _

from winosmith import __version__
from winosmith.web._cache import cached
from winosmith.web._site import SiteRules
from winosmith.web.people.consent import current_documents
from winosmith.web.people.models import Document
from winosmith.web.problems.models import Problem, State, Twin, Version
from winosmith.web.problems.states import public_problems


@dataclass(frozen=True, slots=True)
class Figures:
    """What the site has.

    Attributes:
        problems: public ones.
        twins: of which both halves are public.
        singles: public originals whose other half is not.
        perturbed: public problems that were perturbed from others; `families` of them have one
            root each.
        contributors: who wrote them, imported ones aside.
        judged: problems that judges have decided about, none of them under embargo, nor waiting
            for the other half of its twin.
        domains: how many public problems of each domain; "" for none.
        since, until: the days on which the first and the last were written.
    """

    problems: int
    twins: int
    singles: int
    contributors: int
    judged: int
    domains: dict[str, int]
    since: Any = None
    until: Any = None
    perturbed: int = 0
    families: int = 0

    @property
    def rejected(self) -> int:
        """How many were judged and not found valid."""
        return self.judged - self.problems

    @property
    def share(self) -> float | None:
        """Valid problems in percent of the judged; None before the first."""
        return 100 * self.problems / self.judged if self.judged else None

    @property
    def lost(self) -> float | None:
        """Problems that were not found valid, in percent of the judged."""
        return 100 * self.rejected / self.judged if self.judged else None


def figures() -> Figures:
    """Return the figures; those of a large site are kept for a while."""
    return cached("read.figures", _figures)


def _figures() -> Figures:
    public = public_problems().select_related(None).order_by()
    totals = public.aggregate(
        problems=Count("id"),
        groups=Count("twin", distinct=True),
        contributors=Count("twin__contributor", distinct=True),
        since=Min("twin__created"),
        until=Max("twin__created"),
    )
    twins = totals["problems"] - totals["groups"]
    perturbed = public.filter(version__parent__isnull=False).aggregate(
        problems=Count("id"),
        groups=Count("twin", distinct=True),
        families=Count("version__root", distinct=True),
    )
    single = 2 * perturbed["groups"] - perturbed["problems"]
    rejected = Problem.objects.filter(state=State.REJECTED, embargo=False, gold=False, waits=False)
    judged = totals["problems"] + rejected.count()
    domains = public.values_list("twin__domain").annotate(n=Count("id")).order_by("-n")
    return Figures(
        problems=totals["problems"],
        twins=twins,
        singles=totals["problems"] - 2 * twins - single,
        contributors=totals["contributors"],
        judged=judged,
        domains=dict(domains),
        since=totals["since"],
        until=totals["until"],
        perturbed=perturbed["problems"],
        families=perturbed["families"],
    )


@dataclass(frozen=True, slots=True)
class _Piece:
    """What is kept: among how many public problems was looked, and the twin; None for none."""

    problems: int
    twin: int | None


def showpiece() -> list[Problem]:
    """Return the halves of the twin that the first page shows: people chose it.

    It is the one that a moderator chose last. Where none did, judges' votes choose it: of the
    public twins about both halves of which all agreed, it is the one with the most votes, the
    oldest of several; none where nobody judged. What is new is never shown for that.
    """
    twin = _chosen()
    if twin is None:
        twin = cached("read.showpiece", lambda: _Piece(figures().problems, _most_agreed())).twin
    halves = list(public_problems().filter(twin=twin).order_by("id")) if twin else []
    return halves if len(halves) == 2 else []


def _chosen() -> int | None:
    """Return the twin that a moderator chose last, of those of which both halves are public."""
    rows = Twin.objects.filter(chosen__isnull=False)
    public = rows.annotate(halves=Count("problems", filter=Q(problems__public=True)))
    return public.filter(halves=2).order_by("-chosen", "-pk").values_list("pk", flat=True).first()


def _most_agreed() -> int | None:
    agreed = ~Q(verdict__counts__contains=",") & ~Q(verdict__counts="") & Q(verdict__valid=True)
    rows = public_problems().filter(agreed, verdict__isnull=False)
    other = rows.filter(twin=OuterRef("twin")).exclude(pk=OuterRef("pk"))
    perturbed = Version.objects.filter(problem=OuterRef("pk"), parent__isnull=False)
    rows = rows.filter(Exists(other), ~Exists(perturbed))
    votes = Cast("verdict__counts", IntegerField())
    return rows.order_by(votes.desc(), "twin").values_list("twin", flat=True).first()


AGREEMENTS = [
    ("all", _("all agreed")),
    ("most", _("most agreed")),
    ("none", _("not judged here")),
]
"""What the filter offers. A public problem's most chosen option is its answer."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of judges.

    Attributes:
        problems: public problems that were judged here.
        votes: how many judgements they have.
        right: the share of them that chose the contributor's answer, in percent.
        unanimous: the share of the problems about which all did, in percent.
    """

    problems: int
    votes: int
    right: float
    unanimous: float


def agreeing(query: QuerySet[Problem], which: str) -> QuerySet[Problem]:
    """Keep the problems about which judges agreed so far; one of `AGREEMENTS`."""
    if which == "none":
        return query.filter(verdict=None)
    split = query.filter(verdict__counts__contains=",")
    return (
        split
        if which == "most"
        else query.exclude(verdict=None).exclude(verdict__counts__contains=",")
    )


def agreement() -> Agreement | None:
    """Return the agreement about public problems; None where nobody judged.

    That of a large site is kept for a while.
    """
    return cached("read.agreement", lambda: _Counted(figures().problems, _agreement())).agreement


@dataclass(frozen=True, slots=True)
class _Counted:
    """What is kept: among how many public problems was counted, and what was found."""

    problems: int
    agreement: Agreement | None


def _agreement() -> Agreement | None:
    rows = public_problems().select_related(None).exclude(verdict=None).order_by()
    found = [
        (list(map(int, counts.split(","))), problems)
        for counts, problems in rows.values_list("verdict__counts").annotate(n=Count("id"))
        if counts
    ]
    problems = sum(n for _counts, n in found)
    votes = sum(sum(counts) * n for counts, n in found)
    if not votes:
        return None
    right = sum(counts[0] * n for counts, n in found)
    unanimous = sum(n for counts, n in found if len(counts) == 1)
    return Agreement(problems, votes, 100 * right / votes, 100 * unanimous / problems)


@dataclass(frozen=True, slots=True)
class Card:
    """What the card is made of.

    Attributes:
        figures: what is public.
        agreement: of the judges, about public problems; None where nobody judged.
        rules: the site's settings.
        documents: what contributors agree to, in the versions that hold now.
    """

    figures: Figures
    agreement: Agreement | None
    rules: SiteRules
    documents: list[Document]


def card_of() -> Card:
    """Return the card of the site as it stands."""
    return Card(figures(), agreement(), settings.RULES, current_documents())


def card_markdown(card: Card, address: str) -> str:
    """Return the card as Markdown, in the site's language whoever asks for it.

    Args:
        card: from `card_of`.
        address: of the site.
    """
    context: dict[str, Any] = {"card": card, "address": address, "version": __version__}
    with translation.override(settings.LANGUAGE_CODE):
        return render_to_string("read/card.md", context)
