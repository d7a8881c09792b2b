"""Validate twins' structure and judges' votes, and count the problems that each step keeps.

>>> from winosmith import Dataset, Problem, validate
>>> data = Dataset([Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)])
>>> checked = validate.check(data)
>>> checked.funnel.kept.problems, checked.all_stages.dropped[0].reason
(0, 'length: 9 words; 15 to 30 are required')
"""

from __future__ import annotations

from winosmith.validate._check import Count, Funnel, ValidationResult, check, make_funnel
from winosmith.validate._gender import find_gender
from winosmith.validate._structure import (
    DOMAINS,
    AppliedRules,
    Examination,
    Finding,
    RuleSet,
    StructureRules,
    examine_structure,
    filter_by_structure,
    find_applied_rules,
)
from winosmith.validate._votes import (
    VoteRules,
    count_unvalidated,
    examine_votes,
    filter_by_votes,
    iterate_votes,
    read_votes,
    remove_unvalidated,
    select_eligible,
    write_votes,
)

__all__ = [
    "DOMAINS",
    "AppliedRules",
    "Count",
    "Examination",
    "Finding",
    "Funnel",
    "RuleSet",
    "StructureRules",
    "ValidationResult",
    "VoteRules",
    "check",
    "count_unvalidated",
    "examine_structure",
    "examine_votes",
    "filter_by_structure",
    "filter_by_votes",
    "find_applied_rules",
    "find_gender",
    "iterate_votes",
    "make_funnel",
    "read_votes",
    "remove_unvalidated",
    "select_eligible",
    "write_votes",
]
