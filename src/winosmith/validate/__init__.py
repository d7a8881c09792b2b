"""Validation: the structure of twins, the votes of judges, and the funnel of what they reject.

>>> from winosmith import Dataset, Problem, validate
>>> data = Dataset([Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)])
>>> checked = validate.check(data)
>>> checked.funnel.kept.problems, checked.result.dropped[0].reason
(0, 'length: 9 words; 15 to 30 are asked for')
"""

from __future__ import annotations

from winosmith.validate._check import Checked, Count, Funnel, check, funnel
from winosmith.validate._gender import gender_of
from winosmith.validate._structure import (
    DOMAINS,
    Applied,
    Examined,
    Finding,
    RuleSet,
    StructureRules,
    applied,
    examine_structure,
    structure,
)
from winosmith.validate._votes import (
    VoteRules,
    examine_votes,
    read_votes,
    select_eligible,
    unvalidated,
    votes,
    without_marks,
    write_votes,
)

__all__ = [
    "DOMAINS",
    "Applied",
    "Checked",
    "Count",
    "Examined",
    "Finding",
    "Funnel",
    "RuleSet",
    "StructureRules",
    "VoteRules",
    "applied",
    "check",
    "examine_structure",
    "examine_votes",
    "funnel",
    "gender_of",
    "read_votes",
    "select_eligible",
    "structure",
    "unvalidated",
    "votes",
    "without_marks",
    "write_votes",
]
