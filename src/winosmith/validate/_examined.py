"""What an examination found: which rules were checked, on how many problems, and what failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from winosmith.dataset import Dataset, Filtered
from winosmith.validate._authored import Applied

__all__ = ["Examined", "Finding", "Outcome", "gather"]


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
