"""What the forms of the queue say: what is to be done, to which problems, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.http import QueryDict
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web.moderate import batches
from winosmith.web.moderate.actions import ACTIONS, Action
from winosmith.web.moderate.queue import Where, found
from winosmith.web.moderate.reasons import in_the_log
from winosmith.web.problems.models import Problem

if TYPE_CHECKING:
    from winosmith.web.moderate.models import Batch
    from winosmith.web.people.models import Person

__all__ = ["MOST_PICKED", "Asked", "Confirmed", "back_to"]

MOST_PICKED = 200
"""Problems picked by hand; more than one page has."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a moderator wants to do, before the reason.

    Attributes:
        action: None where it is none.
        picks: problems' ids, each with the newest event that the moderator saw.
        everything: all that `where` finds, instead of what is picked.
        where: the filter of the list.
        back: the page to return to.
    """

    action: Action | None
    picks: tuple[tuple[str, int], ...]
    everything: bool
    where: Where
    back: str

    @classmethod
    def read(cls, form: QueryDict) -> Asked:
        """Return what a form says; a pick that is none is left out."""
        parts = [pick.rpartition(":") for pick in form.getlist("pick")[:MOST_PICKED]]
        picks = tuple((ref, int(seen)) for ref, _colon, seen in parts if _is_key(seen))
        return cls(
            ACTIONS.get(form.get("action", "")),
            picks,
            form.get("everything") == "1",
            Where.read(form.get("where", "")),
            back_to(form.get("back", "")),
        )

    def problems(self) -> list[Problem]:
        """Return the picked problems."""
        refs = [] if self.everything else [ref for ref, _seen in self.picks]
        query = Problem.objects.filter(ref__in=refs).select_related("twin__contributor")
        return list(query.order_by("pk"))

    def count(self, at: batches.Stand) -> int:
        """Return how many problems are meant."""
        if not self.everything:
            return len(self.picks)
        return found(self.where).filter(pk__lte=at[1]).count()


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The reason, and what the moderator was told before.

    Attributes:
        preset: the number of one of the action's reasons; -1 for none of them.
        text: in the moderator's own words.
        at: what was newest when the count was shown.
        expected: the count.
    """

    preset: int
    text: str
    at: batches.Stand
    expected: int

    @classmethod
    def read(cls, form: QueryDict) -> Confirmed:
        """Return what a form says."""
        event, newest, expected, preset = (
            int(form.get(name, "")) if _is_key(form.get(name, "")) else -1
            for name in ("event", "newest", "expected", "preset")
        )
        return cls(preset, form.get("text", "").strip(), (max(event, 0), newest), max(expected, 0))

    def reason(self, action: Action) -> str:
        """Return the reason as the log keeps it."""
        known = 0 <= self.preset < len(action.reasons)
        return " ".join(
            filter(None, (in_the_log(action.reasons[self.preset]) if known else "", self.text))
        )

    def begin(self, person: Person, action: Action, asked: Asked) -> Batch:
        """Do it to what is picked, or begin to do it to all that match.

        Raises:
            Conflict: the only problem has changed since.
            InputError: see `batches.picked`; or the number that match is another by now.
        """
        name, reason = action.name, self.reason(action)
        if not asked.everything:
            return batches.picked(person, name, asked.picks, reason)
        count = asked.count(self.at)
        if count != self.expected:
            raise InputError(
                _("%(now)d problems match by now, not %(then)d; look again and confirm.")
                % {"now": count, "then": self.expected}
            )
        return batches.all_matching(
            person, name, asked.where, reason, at=self.at, expected=self.expected
        )


def back_to(path: str) -> str:
    """Return a page of the moderators to go back to; the queue where the path is none of them."""
    home = reverse("moderate:queue")
    safe = path.startswith(home) and url_has_allowed_host_and_scheme(path, allowed_hosts=None)
    if not safe:
        return home
    bare, _mark, query = path.partition("?")
    kept = QueryDict(query, mutable=True)
    kept.pop("done", None)
    return f"{bare}?{kept.urlencode()}" if kept else bare


def _is_key(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18
