"""What a model made of the versions of a family, laid beside its tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db import connection

from winosmith.web.families.tree import Bools, Tree
from winosmith.web.predict.models import Model, Stand
from winosmith.web.problems.models import Problem

__all__ = ["Answers", "answers_of"]

UNASKED, WAITING, STUCK, RIGHT, WRONG = range(5)
"""How a version stands with a model: no prediction yet, one that waits, one that failed, …"""

_ANSWERS = """SELECT r.problem_id, r."right", r.stand
    FROM perturb_version v JOIN predict_prediction r ON r.problem_id = v.problem_id
    WHERE v.root_id = %s AND r.model_id = %s"""


@dataclass(frozen=True, eq=False)
class Answers:
    """A model's answers to a family.

    Attributes:
        tree: the family.
        stands: `UNASKED`, `WAITING`, `STUCK`, `RIGHT` or `WRONG` for each version, (n,).
    """

    tree: Tree
    stands: npt.NDArray[np.int8]

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

    @property
    def waiting(self) -> int:
        """How many public versions the model has not answered, whatever the reason."""
        return int(self.tree.public.sum() - self.wrong.sum() - self.right.sum())

    @cached_property
    def wrong_below(self) -> list[int]:
        """How many public versions under each are answered wrongly, one a version."""
        found: list[int] = self.tree.below(self.wrong).tolist()
        return found


def answers_of(root: Problem, tree: Tree, model: Model) -> Answers:
    """Return what a model made of a family, as it stands now."""
    with connection.cursor() as cursor:
        cursor.execute(_ANSWERS, [root.pk, model.pk])
        rows = cursor.fetchall()
    stands = [UNASKED] * len(tree)
    places = tree.places
    for row, right, stand in rows:
        place = places.get(row)
        if place is not None:
            stands[place] = _stand(right, stand)
    return Answers(tree, np.array(stands, dtype=np.int8))


def _stand(right: bool | None, stand: Any) -> int:
    if stand == Stand.DONE:
        return STUCK if right is None else RIGHT if right else WRONG
    return WAITING if stand == Stand.WAITING else STUCK
