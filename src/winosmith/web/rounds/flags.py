"""Flags: what the filter left out, told to contributors with its score and reason.

A flag changes nothing. It is shown with a problem that its reader may see anyway, and tells of that
problem alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy

from winosmith.web.problems.models import Problem, State
from winosmith.web.rounds import results
from winosmith.web.rounds.models import Place, Round

if TYPE_CHECKING:
    from winosmith.web.people.models import Person


@dataclass(frozen=True, slots=True)
class Flag:
    """Why a round left a problem out.

    Attributes:
        place: as it was stored.
        problem: which.
        reason: in plain words.
        advice: what its contributor might change; "" where there is nothing to change.
    """

    place: Place
    problem: Problem
    reason: str
    advice: str

    @property
    def common(self) -> bool:
        """Whether the reason is the same for all that the stage left out."""
        return bool(_WORDS.get(self.place.stage, ("", ""))[0])

    @property
    def stage(self) -> str:
        """The stage that left it out, in words."""
        return results.stage(self.place.stage)

    @property
    def score(self) -> str:
        """The score with two digits, as "0.87"; "" without one."""
        return "" if self.place.score is None else f"{self.place.score:.2f}"

    @property
    def percent(self) -> int:
        """The score in per cent, for a bar."""
        return round(100 * (self.place.score or 0))


def newest() -> Round | None:
    """Return the round that was published last."""
    return Round.objects.exclude(published=None).order_by("-published").first()


def flag_of(person: Person | None, problem: Problem, round_: Round | None) -> Flag | None:
    """Return the flag on one's own problem that a published round set; None without one."""
    if person is None or round_ is None or round_.published is None:
        return None
    if problem.twin.contributor_id != person.pk or problem.gold:
        return None
    return _flag(problem, round_)


def flag_for_moderators(problem: Problem, round_: Round | None) -> Flag | None:
    """Return the flag that a round set on any problem; the caller lets moderators alone see it."""
    return None if round_ is None else _flag(problem, round_)


def _flag(problem: Problem, round_: Round) -> Flag | None:
    if problem.state != State.VALID:  # it is out of the data, or was replaced since
        return None
    place = Place.objects.filter(round=round_, problem=problem).exclude(stage="").first()
    return None if place is None else told(place, problem)


def flagged(person: Person, round_: Round) -> QuerySet[Place]:
    """Return where a round left out problems of somebody, by stage, what is guessed best first."""
    rows = Place.objects.filter(
        round=round_,
        problem__twin__contributor=person,
        problem__state=State.VALID,
        problem__gold=False,
    ).exclude(stage="")
    return rows.select_related("problem__twin").order_by("stage", "-score", "problem")


def told(place: Place, problem: Problem) -> Flag:
    """Return a flag in words."""
    reason, advice = _WORDS.get(place.stage, ("", ""))
    return Flag(place, problem, str(reason) or place.reason, str(advice))


_GUESSED = (
    gettext_lazy(
        "Simple linear models guessed its answer. They see nothing but numbers that stand for "
        "its words, and had not been taught this sentence, so something in the words gives the "
        "answer away."
    ),
    gettext_lazy(
        "Look for words that go with one answer by themselves: a praising or a blaming word, "
        "an option that is long, odd, or usually right. Use the same words in both halves but "
        "for the trigger, and choose options of which either could be the answer."
    ),
)

_WORDS = {
    "aflite": _GUESSED,
    "mirror": _GUESSED,
    "pmi": (
        gettext_lazy("Over all the pool, its words go with its answer more than by chance."),
        gettext_lazy(
            "Look for words that go with one answer by themselves, and use the same words in both "
            "halves but for the trigger."
        ),
    ),
    "random": (
        gettext_lazy("It was drawn by lot, to make the set smaller. That says nothing about it."),
        "",
    ),
    "copies": (
        gettext_lazy(
            "It, or its other half, is in the data more than once. A set holds one of each, in "
            "whole twins, and none of which two copies have different answers."
        ),
        "",
    ),
    "embed split": (
        gettext_lazy(
            "It was drawn by lot to teach the model that turns sentences into numbers, and what "
            "taught it can’t be filtered by it. That says nothing about it."
        ),
        "",
    ),
    "structure": (
        "",
        gettext_lazy("The guidelines say how long a sentence is, and how near two halves are."),
    ),
    "votes": (
        "",
        gettext_lazy("The round asked for more agreement among judges than the site does."),
    ),
}
"""By the stage that left it out: the reason, where it is the same for all, and what its contributor
might change."""
