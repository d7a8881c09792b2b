"""Problems to a score for each option: from chance to language models.

Every solver has `score(problems)`, one score an option, and never looks at an answer.

>>> from winosmith import Problem, solve
>>> problem = Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"))
>>> [answer.choice for answer in solve.predict(solve.Random(seed=3), [problem])]
[1]
"""

from __future__ import annotations

from winosmith.solve._association import Features, WordAssociation
from winosmith.solve._chat import ChatSolver
from winosmith.solve._chat_answers import parse_answer
from winosmith.solve._chat_interview import Interview
from winosmith.solve._encoder import EncoderSolver
from winosmith.solve._full_text import FullTextIndex
from winosmith.solve._hunting import Found, KnowledgeHunting, Retriever
from winosmith.solve._language import LanguageScores
from winosmith.solve._language_causal import Causal, CausalScore
from winosmith.solve._language_ensemble import Combination, Ensemble
from winosmith.solve._language_masked import Masked, MaskedScore
from winosmith.solve._language_shots import shots
from winosmith.solve._local import LocalContext, local_only
from winosmith.solve._majority import Majority
from winosmith.solve._random import Random
from winosmith.solve._solver import Scores, Solver, predict
from winosmith.solve._to_file import predict_to_file
from winosmith.solve._two_way import TwoWay

__all__ = [
    "Causal",
    "CausalScore",
    "ChatSolver",
    "Combination",
    "EncoderSolver",
    "Ensemble",
    "Features",
    "Found",
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
    "Solver",
    "TwoWay",
    "WordAssociation",
    "local_only",
    "parse_answer",
    "predict",
    "predict_to_file",
    "shots",
]
