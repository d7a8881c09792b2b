"""How far judges agree about the public problems."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, QuerySet
from django.utils.translation import gettext_lazy as _

from winosmith.web._kept import kept
from winosmith.web.problems.models import Problem
from winosmith.web.problems.public import public_problems
from winosmith.web.read.figures import figures

__all__ = ["AGREEMENTS", "Agreement", "agreeing", "agreement"]

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
    return kept("read.agreement", lambda: _Counted(figures().problems, _agreement())).agreement


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
