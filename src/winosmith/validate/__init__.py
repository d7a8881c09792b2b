"""Validation: the structure of twins, the votes of judges, and the funnel of what they reject.

>>> from winosmith import Dataset, Problem, validate
>>> data = Dataset([Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)])
>>> checked = validate.check(data)
>>> checked.funnel.kept.problems, checked.result.dropped[0].reason
(0, 'length: 9 words; 15 to 30 are asked for')
"""

from __future__ import annotations

from winosmith.validate._check import Checked, Count, Funnel, Step, check, funnel
from winosmith.validate._gender import Gender, gender_of
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
    Agreement,
    SetAside,
    VoteRules,
    eligible,
    examine_votes,
    read_votes,
    unvalidated,
    votes,
    without_marks,
    write_votes,
)

__all__ = [
    "DOMAINS",
    "Agreement",
    "Applied",
    "Checked",
    "Count",
    "Examined",
    "Finding",
    "Funnel",
    "Gender",
    "RuleSet",
    "SetAside",
    "Step",
    "StructureRules",
    "VoteRules",
    "applied",
    "check",
    "eligible",
    "examine_structure",
    "examine_votes",
    "funnel",
    "gender_of",
    "read_votes",
    "structure",
    "unvalidated",
    "votes",
    "without_marks",
    "write_votes",
]
