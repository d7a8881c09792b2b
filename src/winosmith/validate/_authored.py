"""To which problems WinoGrande's rules for authors apply: twins as people write them.

They were made for that alone (WinoGrande, section 2). A problem that was perturbed from another one
is meant to differ from it a little, so it may be shorter or share other words; and what others
published was written under other rules: of the 273 Winograd schemas, 126 break one of WinoGrande's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from winosmith import published
from winosmith.dataset import Dataset
from winosmith.text import writing

__all__ = ["Applied", "RuleSet", "applied"]

RuleSet = Literal["auto", "winogrande", "none"]
"""Which rules are used: WinoGrande's for everything, none of them, or "auto": WinoGrande's, but not
for problems that were perturbed, their roots, and problems of published sets that are known."""

PERTURBED = "perturbed or their roots"
"""Why the rules do not apply to a family with lineages."""

MADE_FOR = frozenset({"WinoGrande"})
"""The published sets whose rules they are."""


@dataclass(frozen=True)
class Applied:
    """Which rules were used, and why.

    Attributes:
        rules: what was asked for.
        exempt: the rows to which WinoGrande's rules were not applied, each with the reason; empty
            with "winogrande". With "none" they are all rows.
        n: how many problems there are.
        unspaced, spaced: how many of them are written without spaces between words, and in another
            script than Latin with spaces (`winosmith.text.writing`).
    """

    rules: RuleSet
    exempt: Mapping[int, str]
    n: int
    unspaced: int = 0
    spaced: int = 0

    def __str__(self) -> str:
        """Return it as one line: the first one that is told of a check.

        >>> str(Applied("auto", {2: "of WSC, published"}, 3))
        "Rules: WinoGrande's for authors, on 2 of 3; not on 1 of WSC, published"
        """
        if self.rules == "none":
            return "Rules: none of WinoGrande's for authors, as asked for"
        if self.rules == "winogrande":
            return f"Rules: WinoGrande's for authors, on all {self.n:,}, as asked for"
        if not self.exempt:
            return "Rules: WinoGrande's for authors; no problem is perturbed or known as published"
        why = Counter(self.exempt.values()).most_common()
        told = ", ".join(f"{count:,} {reason}" for reason, count in why)
        left = self.n - len(self.exempt)
        if not left:
            return f"Rules: none of WinoGrande's for authors: {told}"
        return f"Rules: WinoGrande's for authors, on {left:,} of {self.n:,}; not on {told}"

    @property
    def lines(self) -> tuple[str, ...]:
        """What is told of it: one line, and one for each script in which some rule is not checked.

        >>> Applied("auto", {}, 2, unspaced=1).lines[1]
        '1 without spaces between words: rules that count or know words are not checked there'
        """
        other = (
            (self.unspaced, "without spaces between words: rules that count or know words"),
            (self.spaced, "in another script than Latin: rules that know English words"),
        )
        notes = (f"{count:,} {what} are not checked there" for count, what in other if count)
        return str(self), *notes

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "rules": self.rules,
            "applied_to": self.n - len(self.exempt),
            "not_applied": dict(Counter(self.exempt.values()).most_common()),
            "without_spaces": self.unspaced,
            "in_another_script": self.spaced,
            "words": list(self.lines),
        }


def applied(dataset: Dataset, rules: RuleSet) -> Applied:
    """Return to which problems WinoGrande's rules apply; halves of one twin go together.

    >>> from winosmith import Problem
    >>> wsc = Problem("0", "The trophy doesn't fit into the brown suitcase because the _ is too "
    ...               "large.", ("trophy", "suitcase"))
    >>> applied(Dataset([wsc]), "auto").exempt
    {0: 'of WSC, published'}
    """
    exempt: dict[int, str] = {}
    if rules == "none":
        exempt = dict.fromkeys(range(len(dataset)), "as asked for")
    elif rules == "auto":
        exempt = _exempt(dataset)
    written = Counter(writing(problem.sentence) for problem in dataset)
    return Applied(rules, exempt, len(dataset), written["unspaced"], written["spaced"])


def _exempt(dataset: Dataset) -> dict[int, str]:
    exempt: dict[int, str] = {}
    for rows in dataset.families.values():
        if any(dataset[row].lineage for row in rows):
            exempt |= dict.fromkeys(rows, PERTURBED)
    whole = published.set_of(dataset)
    for row, problem in enumerate(dataset):
        name = published.name_of(problem.sentence) or whole
        if name is not None and name not in MADE_FOR:
            exempt.setdefault(row, f"of {name}, published")
    for rows in dataset.groups:
        why = next((exempt[row] for row in rows if row in exempt), None)
        if why is not None:
            for row in rows:
                exempt.setdefault(row, why)
    return dict(sorted(exempt.items()))
