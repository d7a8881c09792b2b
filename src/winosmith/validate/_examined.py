"""What an examination found, and to which problems its rules applied.

WinoGrande's rules for authors were made for twins as people write them (WinoGrande, section 2). A
problem that was perturbed from another one is meant to differ from it a little, so it may be
shorter or share other words; and what others published was written under other rules: of the 273
Winograd schemas, 126 break one of WinoGrande's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from winosmith import published
from winosmith.dataset import Dataset, Filtered
from winosmith.text import writing


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a problem, or both halves of a twin, break.

    Attributes:
        rule: its name ("length").
        rows: the rows of the problems that break it: one, or the two halves of a twin.
        detail: what is wrong, in words ("12 words; 15 to 30 are asked for").
    """

    rule: str
    rows: tuple[int, ...]
    detail: str


@dataclass(frozen=True)
class Examined:
    """What the examination of a data set found.

    Attributes:
        dataset: what was examined.
        stage: the name of the examination ("structure", "votes").
        findings: in the order of the problems, and for one problem in the order of the rules.
        checked: the number of problems that each active rule could be checked on. A rule that
            lacks its input (no anchor, no votes, a withheld answer, a half that is gone) is not
            checked on that problem, and never failed.
        applied: to which problems the rules were applied, and why; None for votes.
    """

    dataset: Dataset
    stage: str
    findings: tuple[Finding, ...]
    checked: Mapping[str, int]
    applied: Applied | None = None

    def failed(self, rule: str) -> tuple[int, ...]:
        """Return the rows that break a rule, in order."""
        rows = {row for found in self.findings if found.rule == rule for row in found.rows}
        return tuple(sorted(rows))

    def filtered(self) -> Filtered:
        """Return the problems without a finding as kept, the others as dropped.

        The reason names every broken rule, the first one first ("length: 12 words; 15 to 30 are
        asked for | overlap: …"). Up to its first colon it is the rule that `funnel` counts.
        """
        reasons: dict[int, list[str]] = {}
        for rule in self.checked:
            for found in self.findings:
                if found.rule == rule:
                    for row in found.rows:
                        reasons.setdefault(row, []).append(f"{rule}: {found.detail}")
        return self.dataset.drop(
            {row: " | ".join(details) for row, details in reasons.items()}, self.stage
        )


class Outcome(NamedTuple):
    """What one rule says of one problem or twin.

    Attributes:
        rule: its name ("length").
        rows: the rows of the problems that it was applied to.
        detail: what is wrong; "" when nothing is, None when the rule can't be checked here.
    """

    rule: str
    rows: tuple[int, ...]
    detail: str | None


def gather(
    dataset: Dataset, stage: str, outcomes: Iterable[Outcome], rules: Iterable[str]
) -> Examined:
    """Return what the outcomes of these rules, in this order, amount to."""
    checked = dict.fromkeys(rules, 0)
    place = {rule: number for number, rule in enumerate(checked)}
    findings = []
    for rule, rows, detail in outcomes:
        if detail is not None:
            checked[rule] += len(rows)
        if detail:
            findings.append(Finding(rule, rows, detail))
    findings.sort(key=lambda found: (found.rows[0], place[found.rule]))
    return Examined(dataset, stage, tuple(findings), checked)


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
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in why)
        left = self.n - len(self.exempt)
        if not left:
            return f"Rules: none of WinoGrande's for authors: {reasons}"
        return f"Rules: WinoGrande's for authors, on {left:,} of {self.n:,}; not on {reasons}"

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
