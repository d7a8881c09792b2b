"""What a solver was trained on, as far as it is known, and which problems it may have seen there.

Four things tell: what the solver learns from here (the twins that ship), what its rule says
(`trained_on`), what `winosmith train` left beside the weights, and, on the command line,
`--trained-on`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from winosmith import formats, metrics, published
from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.metrics import Overlap
from winosmith.published import Contents
from winosmith.solver_rule import SolverRule

__all__ = ["TrainedOn", "trained_on"]

OTHER = "other:"
"""Leads the name of a corpus that is not here."""


@dataclass(frozen=True)
class TrainedOn:
    """What a solver was trained on.

    Attributes:
        datasets: those whose text is here.
        contents: of those of which digests are here alone.
        unknown: the names of corpora with which nothing here can be compared.
    """

    datasets: tuple[Dataset, ...] = ()
    contents: tuple[Contents, ...] = ()
    unknown: tuple[str, ...] = ()

    @classmethod
    def named(cls, names: Iterable[str], folder: Path = Path()) -> TrainedOn:
        """Return what names stand for.

        Args:
            names: files; published sets, as `published.known_contents` has them; or "other:NAME".
            folder: from where relative paths are seen.

        Raises:
            InputError: a name is none of these, or a file can't be read.
        """
        datasets: list[Dataset] = []
        contents: list[Contents] = []
        unknown: list[str] = []
        for name in names:
            if (folder / name).is_file():
                datasets.append(formats.read(folder / name))
            elif name.startswith(OTHER) and name != OTHER:
                unknown.append(name.removeprefix(OTHER))
            elif re.fullmatch(r"[\w-]+", name):
                contents.append(published.known_contents(name))
            else:
                raise InputError(f"there is no file {name!r}")
        return cls(tuple(datasets), tuple(contents), tuple(unknown))

    def overlap(self, test: Dataset) -> Overlap:
        """Return which problems of a test set may have been seen, each with the first reason."""
        rows: dict[int, str] = {}
        for found in (
            *(metrics.overlap(test, training) for training in self.datasets),
            *(metrics.overlap(test, public=[held]) for held in self.contents),
        ):
            rows = {**found.rows, **rows}
        return Overlap(dict(sorted(rows.items())), len(test), self.unknown)


def trained_on(rule: SolverRule, folder: Path) -> TrainedOn:
    """Return what the solver of a rule was trained on before anybody here teaches it.

    Raises:
        InputError: what the rule says is not there, as `TrainedOn.named`.

    >>> len(trained_on(SolverRule("words", "association"), Path()).datasets)
    1
    """
    from winosmith import practice

    try:
        told = TrainedOn.named(rule.options.get("trained_on", ()), folder)
    except InputError as error:
        raise InputError(f"the solver {rule.name}: trained_on: {error}") from None
    # The majority's answer is the same whatever the sentence: it has seen none.
    ships = rule.solver == "association" or rule.options.get("shots")
    datasets = (practice.handwritten(),) if ships and not rule.learn else ()
    left: tuple[Contents, ...] = ()
    if "model" in rule.options and rule.solver != "chat":
        left = published.contents_beside(folder / str(rule.options["model"]))
    return TrainedOn((*datasets, *told.datasets), (*left, *told.contents), told.unknown)
