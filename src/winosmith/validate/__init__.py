"""Validation: the structure of twins, the votes of judges, and the funnel of what they reject.

>>> from winosmith import Dataset, Problem, validate
>>> data = Dataset([Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)])
>>> found = validate.examine_structure(data)
>>> [(finding.rule, finding.detail) for finding in found.findings]
[('length', '9 words; 15 to 30 are asked for')]
>>> validate.funnel({"structure": found.filtered()}).kept.problems
0
"""

from __future__ import annotations

from winosmith.validate._eligible import SetAside, eligible
from winosmith.validate._examined import Examined, Finding
from winosmith.validate._funnel import Count, Funnel, Step, funnel
from winosmith.validate._structure import StructureRules, examine_structure, structure
from winosmith.validate._votes import Agreement, VoteRules, examine_votes, votes
from winosmith.validate._votes_file import read_votes, write_votes

__all__ = [
    "Agreement",
    "Count",
    "Examined",
    "Finding",
    "Funnel",
    "SetAside",
    "Step",
    "StructureRules",
    "VoteRules",
    "eligible",
    "examine_structure",
    "examine_votes",
    "funnel",
    "read_votes",
    "structure",
    "votes",
    "write_votes",
]
