"""Validate structure and votes in two stages, and count the kept problems."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from winosmith import report
from winosmith.dataset import Dataset, Filtered
from winosmith.errors import DataError
from winosmith.report import Signature, percent, signature_of
from winosmith.response import Response
from winosmith.results import Result, computed, make_table
from winosmith.validate import _structure, _votes
from winosmith.validate._structure import AppliedRules, Examination, StructureRules
from winosmith.validate._votes import UncountedResponse, VoteRules


@dataclass(frozen=True)
class ValidationResult:
    """The result of validation.

    Attributes:
        stages: the examination of the structure and, if there are votes, of the votes on the
            problems that the first stage kept.
        filtered: the problems that each stage kept and dropped, by the stage's name.
        uncounted_responses: the responses that were not counted as votes.
        signature: the signature of the data, the votes and the rules.
        valid: ids of kept problems that enough judges found valid.
    """

    stages: tuple[Examination, ...] = field(repr=False)
    filtered: Mapping[str, Filtered] = field(repr=False)
    uncounted_responses: tuple[UncountedResponse, ...] = field(repr=False)
    signature: Signature
    valid: frozenset[str] = field(default=frozenset(), repr=False)

    @cached_property
    def funnel(self) -> Funnel:
        """Numbers of problems that each stage kept, and of problems dropped for each reason."""
        return make_funnel(self.filtered)

    @cached_property
    def all_stages(self) -> Filtered:
        """The problems kept and dropped after all stages."""
        row = self.stages[0].dataset.row
        *_, last = self.filtered.values()
        dropped = [
            replace(entry, row=row(entry.problem.id))
            for stage in self.filtered.values()
            for entry in stage.dropped
        ]
        return Filtered(last.kept, tuple(sorted(dropped, key=lambda entry: entry.row)))

    @property
    def applied_rules(self) -> AppliedRules:
        """The problems to which WinoGrande's rules for authors were applied, and the reason."""
        found = self.stages[0].applied_rules
        return found or AppliedRules("none", {}, len(self.stages[0].dataset))

    @property
    def kept(self) -> Dataset:
        """The kept problems; the "unvalidated" flag is removed if judges found a problem valid."""
        return _votes.remove_unvalidated(self.all_stages.kept, self.valid)


def check(
    dataset: Dataset,
    responses: Iterable[Response] | None = None,
    structure: StructureRules = _structure.WINOGRANDE,
    votes: VoteRules = _votes.WINOGRANDE,
) -> ValidationResult:
    """Validate a data set's structure, and then the votes on the remaining problems.

    Eligible votes are selected from the whole data set, because a judge has seen a half even if the
    first stage drops that half.

    Args:
        dataset: the problems as collected.
        responses: the judges' responses in chronological order; None if there are no judges.
        structure: the rules for problems and twins.
        votes: the rules for votes.

    Raises:
        DataError: a response does not fit its problem.
    """
    stages = [_structure.examine_structure(dataset, structure)]
    filtered = {"structure": stages[0].drop_failed()}
    settings = _list_active_settings(structure)
    aside: tuple[UncountedResponse, ...] = ()
    valid = frozenset[str]()
    if responses is not None:
        responses = tuple(responses)
        counted, aside = _votes.select_eligible(dataset, responses, both_halves=votes.both_halves)
        stages.append(_votes.examine_votes(filtered["structure"].kept, counted, votes))
        filtered["votes"] = stages[1].drop_failed()
        valid = _votes.find_valid_ids(filtered["votes"].kept, counted, votes)
        digest = hashlib.sha256("".join(map(repr, responses)).encode("utf-8", "surrogatepass"))
        settings = {"votes_file": digest.hexdigest()[:12]} | settings | _list_active_settings(votes)
    signature = signature_of(dataset, **settings)
    return ValidationResult(tuple(stages), filtered, aside, signature, valid)


def _list_active_settings(rules: StructureRules | VoteRules) -> dict[str, Any]:
    active = {n: v for n, v in asdict(rules).items() if v is not None and v is not False}
    if active.get("rules") == "none":
        active = {n: v for n, v in active.items() if n in ("rules", "complete")}
    return {n: "-".join(map(str, v)) if isinstance(v, tuple) else v for n, v in active.items()}


@dataclass(frozen=True, slots=True)
class Count:
    """The numbers of problems, complete twins and singles."""

    problems: int
    twins: int
    singles: int

    @classmethod
    def from_dataset(cls, dataset: Dataset) -> Count:
        """Return the counts of a data set."""
        return cls(len(dataset), len(dataset.twins), len(dataset.singles))


@dataclass(frozen=True, slots=True)
class Step:
    """The problem counts after one filter.

    Attributes:
        stage: the filter's name.
        kept: the counts of kept problems.
        dropped: number of dropped problems by reason, the most frequent reason first. A problem
            that breaks several rules is counted only under the first broken rule.
    """

    stage: str
    kept: Count
    dropped: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Funnel(Result):
    """The problem counts before validation and after each filter."""

    collected: Count
    steps: tuple[Step, ...]

    @property
    def kept(self) -> Count:
        """The counts after the last filter."""
        return self.steps[-1].kept if self.steps else self.collected

    @property
    @computed(key="share")
    def kept_fraction(self) -> float | None:
        """Fraction of the collected problems that were kept, 0–1; None if none were collected.

        WinoGrande kept 0.68 of 77,000 problems (section 2 prints 53k, but the product is 52.4k).
        """
        return self.kept.problems / self.collected.problems if self.collected.problems else None

    def make_tables(self) -> tuple[report.Table, report.Table]:
        """Return the table of kept problems at each stage, and that of dropped problems by rule."""
        counts = {"collected": self.collected} | {step.stage: step.kept for step in self.steps}
        share = "" if self.kept_fraction is None else f", {percent(self.kept_fraction)}"
        return make_table(
            f"Kept at each stage: {self.kept.problems:,} of {self.collected.problems:,} "
            f"problems{share}",
            counts,
            head="stage",
        ), report.Table(
            "Dropped problems, by the first rule that they break",
            ["stage", "rule", "problems"],
            [[step.stage, *of] for step in self.steps for of in step.dropped.items()],
        )


def make_funnel(stages: Mapping[str, Filtered]) -> Funnel:
    """Return the problem counts of consecutive filters.

    Reasons are grouped by the text before the first colon ("length: 12 words" counts as "length").

    Args:
        stages: the result of each filter by its name, in the order of the filters.

    Raises:
        DataError: there is no filter, or a filter's input is not the previous filter's output.

    >>> from winosmith import Problem
    >>> data = Dataset([Problem(str(i), "A _ b.", ("x", "y")) for i in range(4)])
    >>> first = data.drop({1: "length: 12 words", 2: "length: 40 words"}, "structure")
    >>> second = first.kept.drop({0: "majority: 1 of 3"}, "votes")
    >>> whole = make_funnel({"structure": first, "votes": second})
    >>> [(step.stage, step.kept.problems, step.dropped) for step in whole.steps]
    [('structure', 2, {'length': 2}), ('votes', 1, {'majority': 1})]
    """
    if not stages:
        raise DataError("a funnel needs the result of at least one filter")
    first, *_ = stages.values()
    collected = feed = first.input()
    steps = []
    for stage, result in stages.items():
        if result.input() != feed:
            raise DataError(
                f"the input of stage {stage!r} is not the output of the previous stage; pass the "
                "stages in order"
            )
        reasons = Counter(entry.reason.partition(":")[0] for entry in result.dropped)
        steps.append(Step(stage, Count.from_dataset(result.kept), dict(reasons.most_common())))
        feed = result.kept
    return Funnel(Count.from_dataset(collected), tuple(steps))
