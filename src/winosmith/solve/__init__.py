"""Problems to a score for each option: from chance to language models.

Every solver has `score(problems)`, one score an option, and never looks at an answer.

>>> from winosmith import Problem, solve
>>> problem = Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"))
>>> [answer.choice for answer in solve.predict(solve.Random(seed=3), [problem])]
[1]
"""

from __future__ import annotations

from winosmith.solve._association import Features, WordAssociation
from winosmith.solve._local import LocalContext, local_only
from winosmith.solve._majority import Majority
from winosmith.solve._random import Random
from winosmith.solve._solver import Scores, Solver, predict
from winosmith.solve._two_way import TwoWay

__all__ = [
    "Features",
    "LocalContext",
    "Majority",
    "Random",
    "Scores",
    "Solver",
    "TwoWay",
    "WordAssociation",
    "local_only",
    "predict",
]
