"""What a model made of the versions of a family, laid beside its tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from django.db import connection

from winosmith.web.families.tree import Bools, Tree
from winosmith.web.predict.models import Model, Stand
from winosmith.web.problems.models import Problem

__all__ = ["Answers", "answers_of"]

UNASKED, WAITING, STUCK, RIGHT, WRONG = range(5)
"""How a version stands with a model: no prediction yet, one that waits, one that failed, …"""

STANDS = 8
"""More than ways to stand: a version and how it stands are one number."""

_ANSWERS = f"""SELECT JOINED(CAST(r.problem_id * {STANDS} + CASE
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
    done = str(Stand.DONE)
    with connection.cursor() as cursor:
        query = _ANSWERS.replace("JOINED", _JOINED.get(connection.vendor, "group_concat"))
        cursor.execute(query, [done, done, str(Stand.WAITING), root.pk, model.pk])
        told = cursor.fetchone()[0] or ""
    stands = np.full(len(tree), UNASKED, dtype=np.int8)
    rows, found = np.divmod(np.fromstring(told, dtype=np.int64, sep=","), STANDS)
    places = tree.places_of(rows)
    there = places >= 0
    stands[places[there]] = found[there]
    return Answers(tree, stands)
