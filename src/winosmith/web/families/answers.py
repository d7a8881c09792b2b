"""What a model made of the versions of a family, laid beside its tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
from django.db import connection

from winosmith.answers import Prediction
from winosmith.web.families.tree import Bools, Floats, Tree
from winosmith.web.predict.models import Model, Stand
from winosmith.web.predict.models import Prediction as Row
from winosmith.web.problems.models import Problem

__all__ = ["Answers", "answers_of", "worth"]

UNASKED, WAITING, STUCK, RIGHT, WRONG, TIED = range(6)
"""How a version stands with a model: no prediction yet, one that waits, one that failed, …"""

STANDS = 8
"""More than ways to stand: a version and how it stands are one number."""

_ANSWERS = f"""SELECT JOINED(CAST(r.problem_id * {STANDS} + CASE
        WHEN r.stand = %s AND r.tie THEN {TIED}
        WHEN r.stand = %s AND r."right" THEN {RIGHT}
        WHEN r.stand = %s AND NOT r."right" THEN {WRONG}
        WHEN r.stand = %s THEN {WAITING}
        ELSE {STUCK} END AS text), ',')
    FROM perturb_version v JOIN predict_prediction r ON r.problem_id = v.problem_id
    WHERE v.root_id = %s AND r.model_id = %s"""  # noqa: S608 - of our own numbers
"""All in one text: half of what it takes to make as many rows of it."""

_JOINED = {"postgresql": "string_agg"}


@dataclass(frozen=True, eq=False)
class Answers:
    """A model's answers to a family.

    Attributes:
        tree: the family.
        stands: `UNASKED`, `WAITING`, `STUCK`, `RIGHT`, `WRONG` or `TIED` for each version, (n,).
        ties: the number of a version that is a tie → what it is worth: 1 / (options tied) where the
            right one is among them, else 0.
    """

    tree: Tree
    stands: npt.NDArray[np.int8]
    ties: Mapping[int, float] = field(default_factory=dict)

    @cached_property
    def wrong(self) -> Bools:
        """The public versions that were answered wrongly, (n,)."""
        found: Bools = self.tree.public & (self.stands == WRONG)
        return found

    @cached_property
    def right(self) -> Bools:
        """The public versions that were answered rightly, (n,)."""
        found: Bools = self.tree.public & (self.stands == RIGHT)
        return found

    @cached_property
    def tied(self) -> Bools:
        """The public versions between whose options it could not decide, (n,)."""
        found: Bools = self.tree.public & (self.stands == TIED)
        return found

    @cached_property
    def answered(self) -> Bools:
        """The public versions that it answered, ties too, (n,)."""
        found: Bools = self.right | self.wrong | self.tied
        return found

    @cached_property
    def credit(self) -> Floats:
        """What each answer is worth, (n,): 1, 0, or a tie's share; 0 where there is none."""
        found = self.right.astype(np.float64)
        for number, share in self.ties.items():
            found[number] = share if self.tied[number] else 0.0
        return found

    @property
    def waiting(self) -> int:
        """How many public versions the model has not answered, whatever the reason."""
        return int(self.tree.public.sum() - self.answered.sum())

    @cached_property
    def wrong_below(self) -> list[int]:
        """How many public versions under each are answered wrongly, one a version."""
        found: list[int] = self.tree.below(self.wrong).tolist()
        return found


def answers_of(root: Problem, tree: Tree, model: Model) -> Answers:
    """Return what a model made of a family, as it stands now."""
    done = str(Stand.DONE)
    with connection.cursor() as cursor:
        query = _ANSWERS.replace("JOINED", _JOINED.get(connection.vendor, "group_concat"))
        cursor.execute(query, [done, done, done, str(Stand.WAITING), root.pk, model.pk])
        told = cursor.fetchone()[0] or ""
    stands = np.full(len(tree), UNASKED, dtype=np.int8)
    rows, found = np.divmod(np.fromstring(told, dtype=np.int64, sep=","), STANDS)
    places = tree.places_of(rows)
    there = places >= 0
    stands[places[there]] = found[there]
    return Answers(tree, stands, _ties(tree, np.flatnonzero(stands == TIED), model))


def worth(choice: int | None, scores: Sequence[float], answer: int | None) -> float:
    """Return what a tie is worth: 1 / (options tied) where the right one is among them, else 0."""
    return Prediction("", choice or 0, tuple(scores)).credit(answer)


def _ties(tree: Tree, numbers: npt.NDArray[np.intp], model: Model) -> dict[int, float]:
    """Return what each tie is worth, by the number of its version."""
    if not len(numbers):
        return {}
    number_of = {int(tree.rows[number]): int(number) for number in numbers}
    rows = Row.objects.filter(model=model, problem__in=list(number_of))
    return {
        number_of[problem]: worth(choice, scores, answer)
        for problem, choice, scores, answer in rows.values_list(
            "problem", "choice", "scores", "problem__answer"
        )
    }
