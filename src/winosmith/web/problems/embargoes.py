"""Embargoes: of a problem, and of all that was perturbed from it.

A version shares most of its words with what it was made of, so what is kept from the public can't
be left in its versions. The embargo goes down the tree, never up: what a version was made of was
public before, or is its own author's. `Problem.embargo` says of each whether it is kept back, and
`Version.covered` whether only because of what stands above it; so nothing has to be looked up in
the tree to know what is public.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from winosmith.web._chunked import chunked
from winosmith.web.people.models import Person
from winosmith.web.problems.family import lock
from winosmith.web.problems.models import Event, Problem, Version
from winosmith.web.problems.public import settle

COVERING = {True: "cover", False: "uncover"}
"""Kinds of the events of versions that follow what stands above them: nobody decided about them."""

CHUNK = 500
"""Versions that are changed by one statement."""


def put_under(problem: Problem, *, by: Person | None = None) -> int:
    """Put a problem under embargo, and every version of it; the caller is in a transaction.

    One that was covered has an embargo of its own from now on.

    What becomes of the versions is written down; what becomes of the problem itself, by the caller.

    Returns:
        How many versions went under embargo with it.
    """
    _lock_family(problem)
    Problem.objects.filter(pk=problem.pk).update(embargo=True)
    Version.objects.filter(problem=problem).update(covered=False)
    problem.became(embargo=True)
    return len(_spread([problem.pk], by, embargo=True))


def lift(problem: Problem, *, by: Person | None = None) -> int:
    """Lift an embargo, and that of the versions which had it from this problem alone.

    Those that were put under embargo by themselves stay so, with their own versions. Where what
    the problem was perturbed from is under embargo, it stays covered by that.

    Returns:
        How many versions were freed with it.
    """
    _lock_family(problem)
    if is_covered(problem):
        Version.objects.filter(problem=problem).update(covered=True)
        return 0
    lifted = Problem.objects.filter(pk=problem.pk, embargo=True).update(embargo=False)
    Version.objects.filter(problem=problem).update(covered=False)
    freed = _spread([problem.pk], by, embargo=False)
    # what was under none is public already, or waits by its own right
    for some in chunked([problem.pk, *freed] if lifted else freed, CHUNK):
        twins = Problem.objects.filter(pk__in=some).values_list("twin", flat=True)
        settle(set(twins), new=some)
    problem.became(embargo=False)
    return len(freed)


def cover_below(keys: Sequence[int]) -> int:
    """Cover the versions of problems under embargo that are not yet; return how many there were.

    For versions that came in many at once (`winosmith.web._import`).
    """
    return len(_spread(keys, None, embargo=True))


def covering(problem: Problem) -> Event:
    """Return the event that tells that a problem comes in covered, for the caller to insert."""
    return _event(problem, None, embargo=True)


def is_covered(problem: Problem) -> bool:
    """Tell whether what a problem was perturbed from is under embargo."""
    rows = Version.objects.filter(problem=problem, parent__embargo=True)
    return bool(rows.exists())


def _lock_family(problem: Problem) -> None:
    """Let nobody add a version to a problem's family until the transaction ends."""
    if Version.objects.filter(problem=problem).exists():
        lock(problem)


def _spread(keys: Sequence[int], by: Person | None, *, embargo: bool) -> list[int]:
    """Cover all below problems, down to what has an embargo of its own; or uncover it.

    Returns:
        The keys of the versions that were.
    """
    changed: list[int] = []
    above = list(keys)
    while above:
        below = [row for some in chunked(above, CHUNK) for row in _next(some, covered=not embargo)]
        for rows in chunked(below, CHUNK):
            keys = [row.pk for row in rows]
            Problem.objects.filter(pk__in=keys).update(embargo=embargo)
            type(rows[0]).objects.filter(pk__in=keys).update(covered=embargo)
            Event.objects.bulk_create(_event(row.problem, by, embargo) for row in rows)
        above = [row.pk for row in below]
        changed += above
    return changed


def _next(above: Sequence[int], *, covered: bool) -> Sequence[Version]:
    """Return the children of problems that are covered and kept back, or neither."""
    rows = Version.objects.filter(parent__in=above, covered=covered, problem__embargo=covered)
    return list(rows.select_related("problem").order_by("pk"))


def _event(problem: Problem, by: Person | None, embargo: bool) -> Event:
    state = problem.state
    reason = (
        _("what it was perturbed from is under embargo")
        if embargo
        else _("what it was perturbed from is under no embargo any more")
    )
    kind = COVERING[embargo]
    return Event(problem=problem, actor=by, kind=kind, before=state, after=state, reason=reason)
