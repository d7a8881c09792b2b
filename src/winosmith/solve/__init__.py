"""Solvers, from chance to language models, which return a score for each option of a problem.

The method `score(problems)` of a solver returns one score per option. It never uses the answers.

>>> from winosmith import Problem, solve
>>> problem = Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"))
>>> [answer.choice for answer in solve.predict(solve.Random(seed=3), [problem])]
[1]
"""

from __future__ import annotations

from winosmith.solve._baselines import (
    Features,
    LocalContext,
    Majority,
    Random,
    WordAssociation,
    cut_to_local_context,
)
from winosmith.solve._chat import ChatSolver, Interview, parse_answer
from winosmith.solve._full_text import FullTextIndex
from winosmith.solve._hunting import KnowledgeHunting, Retriever, Snippet
from winosmith.solve._language import (
    Causal,
    CausalScore,
    Combination,
    EncoderSolver,
    Ensemble,
    LanguageScores,
    Masked,
    MaskedScore,
    make_prompt,
)
from winosmith.solve._solver import Scores, Solver, TwoWay, predict, predict_to_file

__all__ = [
    "Causal",
    "CausalScore",
    "ChatSolver",
    "Combination",
    "EncoderSolver",
    "Ensemble",
    "Features",
    "FullTextIndex",
    "Interview",
    "KnowledgeHunting",
    "LanguageScores",
    "LocalContext",
    "Majority",
    "Masked",
    "MaskedScore",
    "Random",
    "Retriever",
    "Scores",
    "Snippet",
    "Solver",
    "TwoWay",
    "WordAssociation",
    "cut_to_local_context",
    "make_prompt",
    "parse_answer",
    "predict",
    "predict_to_file",
]
