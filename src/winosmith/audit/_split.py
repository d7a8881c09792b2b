"""The audit of one split: its items, the results of all checks, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from winosmith.audit._battery import Battery, CueScore, format_p_value, format_percent
from winosmith.audit._items import Items
from winosmith.audit._probes import Probe
from winosmith.audit._review import Review
from winosmith.audit._triage import Triage
from winosmith.data import Place
from winosmith.dataset import ColumnRoles, Dataset
from winosmith.metrics import MAX_P, compute_detectable_differences
from winosmith.problem import Problem
from winosmith.report import Svg
from winosmith.results import HIDDEN, Result, computed


@dataclass(frozen=True)
class SplitAudit(Result):
    """The audit of one split.

    Attributes:
        name: name of the split.
        dataset: the items of the split.
        items: the items with a key, as cues and probes see them.
        battery: the scores of the cues; see `CueScore`.
        probes: word probes that see the options, the question, and both, followed by the vector
            probes; empty if there are too few items.
        review: the other findings.
        refused: location of each record that is not an item, with the reason.
        triage: the findings from models' answers; None if no model answered this split.
        places: the known locations of items by id, and of the refused records.
    """

    name: str = field(metadata=HIDDEN)
    dataset: Dataset = field(metadata={"key": "items", "json": len})
    items: Items = field(metadata={"key": "with_key", "json": len})
    battery: Battery = field(metadata={"json": "flat", "rows": True})
    probes: tuple[Probe, ...]
    review: Review
    refused: tuple[str, ...] = field(
        default=(), metadata={"json": lambda left: {"count": len(left), "examples": left[:5]}}
    )
    triage: Triage | None = field(default=None, metadata={"key": "answers"})
    places: Mapping[str, Place] = field(default_factory=dict, metadata=HIDDEN)

    @property
    @computed()
    def chance(self) -> float:
        """The accuracy of random guessing, 0–1."""
        return self.items.chance

    @property
    @computed()
    def digest(self) -> str:
        """The digest of the items."""
        return self.dataset.digest

    @property
    @computed(key="columns")
    def roles(self) -> ColumnRoles | None:
        """How the columns of the file were read; None if unknown."""
        return self.dataset.roles

    @cached_property
    @computed(
        key="detectable",
        json=lambda of: [{"differ": psi, "difference": least} for psi, least in of],
    )
    def detectable_differences(self) -> tuple[tuple[float, float | None], ...]:
        """The detectable accuracy difference for each fraction of items on which models differ."""
        return compute_detectable_differences(Dataset(self.items.problems))

    @cached_property
    def problems_by_id(self) -> Mapping[str, Problem]:
        """The items by id."""
        return {problem.id: problem for problem in self.dataset}

    @property
    def ids_are_rows(self) -> bool:
        """Whether all ids are 0-based row numbers; False if locations are unknown."""
        order = sorted(self.places, key=lambda name: self.places[name].number)
        items = [str(row) == name for row, name in enumerate(order) if name in self.problems_by_id]
        return bool(items) and all(items)

    def get_label(self, item: str) -> str:
        """Return an item's id, with its location if it is known and not the id itself."""
        place = str(self.places.get(item, ""))
        return item if not place or item.startswith(place) else f"{item} ({place})"

    @property
    def best_cue(self) -> CueScore | None:
        """The flagged cue with the highest score above chance, or None."""
        return self.battery.flagged[0] if self.battery.flagged else None

    @property
    def significant_probes(self) -> tuple[Probe, ...]:
        """The probes that are better than chance at 0.05, after Bonferroni's correction."""
        return tuple(probe for probe in self.probes if probe.p <= MAX_P / len(self.probes))

    @property
    def inconclusive_reason(self) -> str:
        """The reason why the audit of the split is inconclusive, or ""."""
        if (bad := len(self.refused)) >= (good := len(self.dataset)):
            return f"{self.name} can't be judged: {bad:,} of {bad + good:,} rows can't be used"
        limits = [one.high for one in self.battery.scores if one.about == "position" and one.spread]
        is_small = min(limits, default=0) > 1 - 1e-9 and self.best_cue is None
        why = f"even a cue that is correct for all {len(self.items)} items would not be flagged"
        return f"{self.name} is too small to be judged: {why}" if is_small else ""

    def charts(self) -> list[Svg]:
        """Draw the chart of cue scores."""
        return self.battery.charts(f"Cues of {self.name}")

    def verdict(self) -> Iterator[str]:
        """Yield the sentences of the verdict: the strongest cue or model, with its p-value."""
        if leaks := self.review.leaks:
            worst = max(leaks, key=lambda leak: leak.accuracy * leak.problems)
            yield f"{self.name} gives answers away through a field: {worst}."
        best, scores, tried = self.best_cue, self.battery, len(self.battery.scores)
        rows = f" in {len(self.dataset) + len(self.refused):,} rows" if self.refused else ""

        def describe(score: CueScore | Probe, draws: int, name: str, limit: float) -> str:
            return (
                f"correct for {format_percent(score.right)} of {len(self.items):,} items{rows} "
                f"({name}: {format_percent(limit)}; {format_p_value(score.p, draws)}"
            )

        if best is not None:
            figures = describe(best, scores.draws, "expected by chance", best.expected)
            yield (
                f"{self.name} gives answers away: choosing “{best.cue}” is {figures}, corrected "
                f"for {tried} cues)."
            )
        elif self.significant_probes:
            blind = max(self.significant_probes, key=lambda probe: probe.right)
            figures = describe(blind, blind.draws, "expected by chance", blind.expected)
            yield f"No cue of {self.name} is flagged, but a {blind.model} is {figures})."
        elif self.inconclusive_reason and not scores.borderline:
            yield f"{self.inconclusive_reason}."
        else:
            first = scores.scores[0]
            figures = describe(first, scores.draws, "chance limit", first.high)
            start = f"No cue of {self.name} is flagged. The strongest of {tried} is"
            if scores.borderline:
                start = (
                    f"It is borderline whether {self.name} gives answers away: {scores.draws:,} "
                    "random draws are too few to decide about"
                )
            yield f"{start} “{first.cue}”, {figures})."
