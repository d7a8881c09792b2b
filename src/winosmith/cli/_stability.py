"""What `--by lineage` measures: error depths, kinds of edits, what perturbation costs, people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from winosmith import metrics
from winosmith.answers import Response
from winosmith.cli._printing import progress
from winosmith.dataset import Dataset
from winosmith.errors import MissingExtraError
from winosmith.lineage import depths
from winosmith.metrics import AgainstRoot, Annotators, EditKinds, Graded, Overlap, Stability
from winosmith.report import Signature
from winosmith.text import tokens

__all__ = ["Stabilities", "stabilities"]


@dataclass(frozen=True)
class Stabilities:
    """How stable solvers are on perturbed problems.

    Attributes:
        solvers: of each by its name; at least one.
        kinds: the errors of each by kind of edit; empty where nothing could tag the tokens.
        missing: what is needed to tag them; empty where nothing is.
        beside: field → solver → its problems beside their roots, for each value of the field.
        people: how the annotators did, if any were given.
    """

    solvers: Mapping[str, Stability]
    kinds: Mapping[str, EditKinds] = field(default_factory=dict)
    missing: str = ""
    beside: Mapping[str, Mapping[str, Sequence[AgainstRoot]]] = field(default_factory=dict)
    people: Annotators | None = None

    @property
    def signatures(self) -> dict[str, Signature]:
        """What the figures of each solver rest on."""
        return {f"{name} by lineage": of.signature for name, of in self.solvers.items()}

    @property
    def first(self) -> Stability:
        """That of the first solver, for what all have in common."""
        return next(iter(self.solvers.values()))

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        record: dict[str, Any] = {
            "depth": self.first.depth,
            "solvers": {name: found.record() for name, found in self.solvers.items()},
            "kinds": {name: self._kinds(name) for name in self.kinds} or None,
        }
        if self.missing:
            record["kinds_need"] = self.missing
        if self.beside:
            record["beside_roots"] = {
                name: {solver: [one.record() for one in found] for solver, found in of.items()}
                for name, of in self.beside.items()
            }
        if self.people:
            record["annotators"] = self.people.record()
        return record

    def _kinds(self, solver: str) -> dict[str, Any]:
        """Return the kinds of a solver's edits; counts alone where its accuracy is withheld."""
        record = self.kinds[solver].record()
        if self.solvers[solver].accuracy is None:
            counts = ("kind", "edits", "wrong_edits")
            kinds = [{name: kind[name] for name in counts} for kind in record["kinds"]]
            record = {**record, "errors": None, "kinds": kinds}
        return record


def stabilities(
    dataset: Dataset,
    solvers: Mapping[str, Graded],
    *,
    depth: Any = None,
    fields: Sequence[str] = (),
    overlap: Mapping[str, Overlap] | None = None,
    people: Sequence[Response] | None = None,
    seed: int = 0,
) -> Stabilities:
    """Measure the stability of each solver.

    Args:
        dataset: the problems.
        solvers: what each answered, by its name.
        depth: which depth; when None, the one that `metrics.stability` finds for the first solver.
        fields: for each value of them, problems are compared with their roots.
        overlap: of each solver with what it was trained on.
        people: annotators' responses.
        seed: of bootstraps and nulls.

    Raises:
        DataError: nothing is perturbed, or no problem has such a depth.
    """
    overlap = overlap or {}
    found: dict[str, Stability] = {}
    for name, graded in solvers.items():
        found[name] = metrics.stability(graded, depth=depth, overlap=overlap.get(name), seed=seed)
        depth = found[name].depth
    shown = {name: graded for name, graded in solvers.items() if not _withheld(overlap, name)}
    tagged, missing = _tagged(dataset)
    return Stabilities(
        found,
        {n: metrics.edit_kinds(graded, tagged, seed) for n, graded in solvers.items() if tagged},
        missing,
        {
            name: {n: metrics.against_root(graded, name, seed) for n, graded in shown.items()}
            for name in fields
        },
        None if people is None else metrics.annotators(dataset, people, _far(dataset, depth), seed),
    )


def _withheld(overlap: Mapping[str, Overlap], name: str) -> bool:
    return name in overlap and overlap[name].withheld


def _far(dataset: Dataset, depth: str) -> list[int | None]:
    return [
        getattr(of, depth) if problem.lineage else None
        for problem, of in zip(dataset, depths(dataset), strict=True)
    ]


def _tagged(dataset: Dataset) -> tuple[dict[str, tuple[str, ...]], str]:
    """Return the tags of every sentence of a family, or what is needed for them."""
    from winosmith.language import tag

    rows = sorted({row for of in dataset.families.values() if len(of) > 1 for row in of})
    tags: dict[str, tuple[str, ...]] = {}
    with progress("Tagging", len(rows)) as advance:
        for done, row in enumerate(rows, 1):
            try:
                tags[dataset[row].id] = tag(tokens(dataset[row].sentence))
            except MissingExtraError as error:
                return {}, str(error)
            advance(done, "")
    return tags, ""
