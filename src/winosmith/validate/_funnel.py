"""The funnel: how many problems came in, how many each stage kept, and why the others went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from winosmith.dataset import Dataset, Filtered
from winosmith.errors import DataError

__all__ = ["Count", "Funnel", "Step", "funnel"]


@dataclass(frozen=True, slots=True)
class Count:
    """How many problems there are, how many whole twins among them, and how many singles."""

    problems: int
    twins: int
    singles: int

    @classmethod
    def of(cls, dataset: Dataset) -> Count:
        """Count a data set."""
        return cls(len(dataset), len(dataset.twins), len(dataset.singles))


@dataclass(frozen=True, slots=True)
class Step:
    """What one filter did.

    Attributes:
        stage: its name.
        kept: what it kept.
        dropped: how many problems it dropped for each reason, the most frequent first. A problem
            that breaks several rules counts once, under the first.
    """

    stage: str
    kept: Count
    dropped: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Funnel:
    """What came in, and what each filter made of it.

    At each step the problems kept and dropped are together those of the step before.
    """

    collected: Count
    steps: tuple[Step, ...]

    @property
    def kept(self) -> Count:
        """What the last filter kept."""
        return self.steps[-1].kept if self.steps else self.collected

    @property
    def share(self) -> float | None:
        """The problems kept over the problems collected, 0–1; None when nothing was collected.

        WinoGrande kept 0.68 of its 77,000 (section 2; it prints 53k, the product is 52.4k).
        """
        return self.kept.problems / self.collected.problems if self.collected.problems else None

    def record(self) -> dict[str, Any]:
        """Return the funnel as JSON can hold it."""
        return {
            "collected": asdict(self.collected),
            "steps": [
                {"stage": s.stage, "kept": asdict(s.kept), "dropped": dict(s.dropped)}
                for s in self.steps
            ],
            "share": self.share,
        }


def funnel(stages: Mapping[str, Filtered]) -> Funnel:
    """Return the funnel of the filters, by stage, each fed with what the one before it kept.

    A reason is counted by its part before the first colon ("length: 12 words" as "length").

    Raises:
        DataError: no filter is given, or one was not fed with what the one before it kept.

    >>> from winosmith import Problem
    >>> data = Dataset([Problem(str(i), "A _ b.", ("x", "y")) for i in range(4)])
    >>> first = data.drop({1: "length: 12 words", 2: "length: 40 words"}, "structure")
    >>> second = first.kept.drop({0: "majority: 1 of 3"}, "votes")
    >>> whole = funnel({"structure": first, "votes": second})
    >>> [(step.stage, step.kept.problems, step.dropped) for step in whole.steps]
    [('structure', 2, {'length': 2}), ('votes', 1, {'majority': 1})]
    """
    if not stages:
        raise DataError("a funnel needs the result of one filter or more")
    first, *_ = stages.values()
    collected = feed = first.input()
    steps = []
    for stage, result in stages.items():
        if result.input() != feed:
            raise DataError(f"the stage {stage!r} was not fed with what the stage before it kept")
        steps.append(Step(stage, Count.of(result.kept), _reasons(result)))
        feed = result.kept
    return Funnel(Count.of(collected), tuple(steps))


def _reasons(result: Filtered) -> dict[str, int]:
    return dict(Counter(d.reason.partition(":")[0] for d in result.dropped).most_common())
