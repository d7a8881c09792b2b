"""Which kinds of perturbation go with errors: nouns put in, nouns taken out, and so on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein

from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.metrics._error_depth import LEAST_CLUSTERS
from winosmith.metrics._graded import Graded
from winosmith.metrics._proportion import (
    Proportion,
    cluster_totals,
    counted,
    percentiles,
    proportion,
    resampled,
)
from winosmith.problem import BLANK
from winosmith.text import tokens

MOST_FREQUENT = 3
"""How many kinds are named first (EvoGrad, figure 3)."""

Tags = Mapping[str, Sequence[str]]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EditKind:
    """One kind of token edit, such as a noun put in (`+NN`) or taken out (`-NN`).

    Attributes:
        kind: "+" or "-" and a Penn Treebank tag; `_` for the blank itself.
        edits: how many token edits of the kind the perturbed problems have.
        wrong_edits: how many of these are in problems with a wrong prediction: what EvoGrad's
            table 5 prints as if it counted predictions. A tie is wrong for what it is not worth.
        errors: the share of the problems with such an edit that are wrong; its interval knows of
            families, and `right` of it counts the wrong.
        excess: that share minus the share of all perturbed problems that are wrong, −1 to 1.
        interval: 95 % of the excess, by drawing families again; None where fewer than five have
            the kind.
    """

    kind: str
    edits: int
    wrong_edits: float
    errors: Proportion
    excess: float
    interval: tuple[float, float] | None

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "kind": self.kind,
            "edits": self.edits,
            "wrong_edits": self.wrong_edits,
            "problems": self.errors.n,
            "wrong_problems": self.errors.right,
            "errors": self.errors.record(),
            "excess": self.excess,
            "excess_interval": None if self.interval is None else [*self.interval],
        }


@dataclass(frozen=True)
class EditKinds:
    """How a solver's errors fall on the kinds of edits.

    Attributes:
        kinds: those with the most edits in wrong predictions first.
        errors: the share of all perturbed problems that are wrong, the base rate; None when no
            problem differs from its root.
        left_out: how many perturbed problems have no root in the data set, and are not counted.
    """

    kinds: tuple[EditKind, ...]
    errors: Proportion | None
    left_out: int

    @property
    def most_frequent(self) -> tuple[EditKind, ...]:
        """The three kinds with the most edits in wrong predictions."""
        return tuple(kind for kind in self.kinds[:MOST_FREQUENT] if kind.wrong_edits)

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "errors": self.errors and self.errors.record(),
            "left_out": self.left_out,
            "kinds": [kind.record() for kind in self.kinds],
        }


def edit_kinds(graded: Graded, tagged: Tags, seed: int = 0) -> EditKinds:
    """Count the token edits between each perturbed problem and its root, by kind and error.

    The edits are those of a shortest script between the tokens of the root and of the problem, so
    that what was changed and changed back is none, and what it costs is the depth `edit`. A token
    put in counts as "+" and its tag in the problem; one taken out as "-" and its tag in the root;
    one that replaces another as both (EvoGrad names no third sign).

    Counts are given per token edit, as in EvoGrad's figure 3 and table 5 ("+NN (150)" beside 80
    errors can't count predictions; and three of the cells there, 92, 62 and 61, are copies of one
    another), and per prediction: a sentence with three new nouns is one error. An edit that is
    frequent is frequent in errors too, so each kind's share of errors stands beside that of all
    perturbed problems.

    Args:
        graded: from `grade`.
        tagged: the Penn tag of each token of a sentence (`winosmith.text.tokens`), by the id of
            its problem; `winosmith.language.tag` makes them.
        seed: of the bootstrap.

    Raises:
        DataError: a sentence has no tags, or not one for each token.

    >>> from winosmith import Lineage, Prediction, Problem
    >>> from winosmith.metrics import grade
    >>> root = Problem("r", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)
    >>> child = Problem("c", "The jar hit the jug and the _ broke.", ("jar", "jug"), 1,
    ...                 lineage=Lineage("r", "r"))
    >>> tags = ("DT", "NN", "VBD", "DT", "NN", "CC", "DT", "NN", "VBD", ".")
    >>> found = grade(Dataset([root, child]), [Prediction("r", 1), Prediction("c", 0)])
    >>> [(k.kind, k.wrong_edits) for k in edit_kinds(found, {"r": tags, "c": tags}).kinds]
    [('+NN', 1), ('-NN', 1)]
    """
    known, left_out = _rows(graded.dataset)
    counts = [_edits(graded.dataset, row, tagged) for row in known]
    rows = [row for row, edits in zip(known, counts, strict=True) if edits]
    counts = [edits for edits in counts if edits]
    if not rows:
        return EditKinds((), None, left_out)
    wrong, tied, clusters = 1 - graded.credit[rows], graded.tied[rows], graded.clusters[rows]
    names = sorted({kind for edits in counts for kind in edits})
    table = np.array([[edits[name] for name in names] for edits in counts])
    intervals = _intervals(table > 0, wrong, clusters, seed)
    found = [
        _kind(name, table[:, at], wrong, tied, clusters, intervals[at])
        for at, name in enumerate(names)
    ]
    found.sort(key=lambda kind: (-kind.wrong_edits, -kind.edits, kind.kind))
    errors = proportion(wrong, clusters, ties=int(tied.sum()))
    return EditKinds(tuple(found), errors, left_out)


def _rows(dataset: Dataset) -> tuple[list[int], int]:
    """Return the perturbed problems whose root is here, and how many have none."""
    perturbed = [row for row, problem in enumerate(dataset) if problem.lineage]
    there = set(dataset.ids)
    rows = [row for row in perturbed if dataset[row].root in there]
    return rows, len(perturbed) - len(rows)


def _edits(dataset: Dataset, row: int, tagged: Tags) -> Counter[str]:
    """Return how many edits of each kind part a problem from its root."""
    before, after = dataset[dataset.row(dataset[row].root)], dataset[row]
    old, new = (list(_with_tags(p.id, p.sentence, tagged)) for p in (before, after))
    found: Counter[str] = Counter()
    for op in Levenshtein.editops([token for token, _ in old], [token for token, _ in new]):
        if op.tag != "insert":
            found[f"-{old[op.src_pos][1]}"] += 1
        if op.tag != "delete":
            found[f"+{new[op.dest_pos][1]}"] += 1
    return found


def _with_tags(problem_id: str, sentence: str, tagged: Tags) -> Iterator[tuple[str, str]]:
    cut = tokens(sentence)
    tags = tagged.get(problem_id)
    if tags is None or len(tags) != len(cut):
        has = "no tags" if tags is None else f"{len(tags)} tags"
        raise DataError(f"the sentence of {problem_id!r} has {has} for its {len(cut)} tokens")
    for token, tag in zip(cut, tags, strict=True):
        yield token, BLANK if token == BLANK else tag


def _kind(
    name: str,
    edits: npt.NDArray[np.int64],
    wrong: Floats,
    tied: Bools,
    clusters: npt.NDArray[np.int64],
    interval: tuple[float, float] | None,
) -> EditKind:
    having = edits > 0
    errors = proportion(wrong[having], clusters[having], ties=int(tied[having].sum()))
    excess = errors.value - float(wrong.mean())
    return EditKind(name, int(edits.sum()), counted(float(edits @ wrong)), errors, excess, interval)


def _intervals(
    having: Bools, wrong: Floats, clusters: npt.NDArray[np.int64], seed: int
) -> list[tuple[float, float] | None]:
    """Return the interval of each kind's excess, from the same draws of families."""
    of_all = np.column_stack([wrong, np.ones(len(wrong))])
    sums = resampled(
        cluster_totals(np.hstack([of_all, having, having * wrong[:, None]]), clusters), seed
    )
    base = sums[:, 0] / sums[:, 1]
    number = having.shape[1]
    with np.errstate(invalid="ignore"):
        excess = sums[:, 2 + number :] / sums[:, 2 : 2 + number] - base[:, None]
    return [
        percentiles(drawn[~np.isnan(drawn)])
        if len(np.unique(clusters[having[:, at]])) >= LEAST_CLUSTERS
        else None
        for at, drawn in enumerate(excess.T)
    ]
