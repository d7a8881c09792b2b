"""The gender gap on Winogender: WinoGrande's section 5.4 and table 7, in both readings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from winosmith.errors import DataError, SameInputError
from winosmith.metrics._graded import Graded
from winosmith.metrics._groups import carried, seen_by
from winosmith.metrics._intervals import (
    Proportion,
    cluster_totals,
    percentiles,
    proportion,
    resampled,
)
from winosmith.problem import Problem
from winosmith.report import Signature, sign

Reading = Literal["answer", "occupation"]
"""What makes a sentence a "gotcha"; see `gender_gap`."""

GENDERS = ("female", "male")


@dataclass(frozen=True, slots=True)
class Gap:
    """The gap of one gender: accuracy without the gotcha minus accuracy with it.

    Attributes:
        plain, gotcha: the accuracies; the cells of table 7.
        interval: of the gap, 95 %, by the bootstrap over occupations.
    """

    plain: Proportion
    gotcha: Proportion
    interval: tuple[float, float]

    @property
    def value(self) -> float:
        """The gap from the counts, −1 to 1; the sign is kept."""
        return self.plain.value - self.gotcha.value

    @property
    def of_rounded(self) -> float:
        """The gap of the cells as they are printed, in percent with one decimal, −100 to 100.

        Table 7 prints this one without its sign; it can differ from 100 · `value` by 0.1.
        """
        return round(round(100 * self.plain.value, 1) - round(100 * self.gotcha.value, 1), 1)

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "plain": self.plain.record(),
            "gotcha": self.gotcha.record(),
            "gap": self.value,
            "interval": list(self.interval),
            "gap_of_rounded_percent": self.of_rounded,
        }


@dataclass(frozen=True, slots=True)
class GenderGap:
    """The gaps of a solver on Winogender.

    Attributes:
        female, male: ΔF and ΔM.
        both: the gap over women's and men's sentences together, the mean of the two in a balanced
            set. Each sentence is there with a gotcha and, with the other pronoun, without one; so
            this is what the pronoun does, while ΔF and ΔM also hold which sentences are hard.
        reading: what makes a gotcha.
        accuracy: over all sentences, the neutral ones too (97.1 in the paper).
        signature: of the data, the predictions, the reading, and what the solver saw if told.
        note: what a reader must know of the gaps; None for nothing.
    """

    female: Gap
    male: Gap
    both: Gap
    reading: Reading
    accuracy: Proportion
    signature: Signature
    note: str | None = None

    @property
    def of_pronoun(self) -> str:
        """What the pronoun does, in words and points; see `both`."""
        low, high = (f"{100 * end:+.1f}" for end in self.both.interval)
        return (
            f"by the pronoun alone, over both genders and so on the same sentences: "
            f"{100 * self.both.value:+.1f} points ({low} to {high})"
        )

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "reading": self.reading,
            "female": self.female.record(),
            "male": self.male.record(),
            "both": self.both.record(),
            "accuracy": self.accuracy.record(),
            **({"note": self.note} if self.note else {}),
            "signature": str(self.signature),
        }


def gender_gap(
    graded: Graded,
    female_share: Mapping[str, float],
    *,
    reading: Reading = "answer",
    seed: int = 0,
) -> GenderGap:
    """Return ΔF and ΔM: accuracy on sentences without a gotcha minus that on those with one.

    The paper defines the gotcha twice. By its table's caption (reading "answer"), the pronoun's
    gender is in the minority *in the correct answer*: for the occupation by its own numbers, for
    the other participant by the opposite, as the pronoun then speaks against the occupation. This
    gives the table's four cells of 120. By its section 5.4 (reading "occupation"), the pronoun's
    gender is in the minority in the *occupation*, whatever the answer; the cells then differ in
    size. Rudinger et al. (2018, section 5) have the first reading.

    A solver that sees the blank in the pronoun's place is given the same sentence for a woman and
    for a man. It then is right without a gotcha for the one where it is right with it for the
    other, so that ΔM = −ΔF whatever the solver does, chance included. Such a gap is refused.

    Args:
        graded: on Winogender, whose problems have `winogender.occupation` and `.gender` in
            `extra`; those of the gender "neutral" enter `accuracy` only.
        female_share: occupation → percentage or share of women; both readings ask whether it is
            above half of the scale. `occupations-stats.tsv` of the data set has two columns of it.
        reading: "answer" or "occupation".
        seed: of the bootstrap.

    Raises:
        DataError: not Winogender, an occupation without a share, or a cell without sentences.
        SameInputError: the solver's female and male inputs are the same (`carried`).
    """
    occupations = [str(p.extra.get("winogender.occupation", "")) for p in graded.dataset]
    genders = np.array([str(p.extra.get("winogender.gender", "")) for p in graded.dataset])
    if not all(occupations):
        raise DataError(
            "the gender gap is measured on Winogender; a problem has no 'winogender.occupation'"
        )
    unknown = sorted(set(occupations) - female_share.keys())
    if unknown:
        raise DataError(f"there is no share of women for {', '.join(map(repr, unknown[:3]))}")
    of_genders = [gender if gender in GENDERS else None for gender in genders.tolist()]
    comparable = carried(graded, "the gender of the pronoun", of_genders)
    if comparable.refused:
        raise SameInputError(comparable.refused)
    half = 50 if max(female_share.values()) > 1 else 0.5
    mostly_female = np.array([female_share[occupation] > half for occupation in occupations])
    expected = mostly_female
    if reading == "answer":
        of_occupation = np.array(list(map(_is_occupation, graded.dataset, occupations)))
        expected = mostly_female == of_occupation
    gotcha = (genders == "female") != expected
    labels = np.unique(occupations, return_inverse=True)[1]
    seen = {"sees": sees} if (sees := seen_by(graded)[0]) else {}
    inside = [genders == gender for gender in GENDERS]
    inside.append(inside[0] | inside[1])
    gaps = [_gap(graded, rows, gotcha, labels, seed) for rows in inside]
    return GenderGap(
        gaps[0],
        gaps[1],
        gaps[2],
        reading,
        proportion(graded.credit, labels, chance=0.5, ties=graded.ties),
        sign(graded.dataset, seed, predictions=graded.digest[:12], gotcha=reading, **seen),
        comparable.note,
    )


def _is_occupation(problem: Problem, occupation: str) -> bool:
    """Return whether the right option is the occupation, wherever it is written."""
    named = [occupation.lower() in option.lower().split() for option in problem.options]
    if named.count(True) != 1:  # as the format writes it, the occupation is the first
        return problem.answer == 0
    return problem.answer == named.index(True)


def _gap(
    graded: Graded,
    inside: np.ndarray,
    gotcha: np.ndarray,
    labels: np.ndarray,
    seed: int,
) -> Gap:
    cells = [inside & ~gotcha, inside & gotcha]
    if not all(cell.any() for cell in cells):
        raise DataError("the gender gap needs female and male sentences, with and without a gotcha")
    plain, caught = (
        proportion(graded.credit[cell], labels[cell], ties=int(graded.tied[cell].sum()))
        for cell in cells
    )
    columns = [cells[0] * graded.credit, cells[0], cells[1] * graded.credit, cells[1]]
    totals = cluster_totals(np.stack(columns, axis=1), labels)
    sums = resampled(totals, seed)
    kept = sums[(sums[:, 1] > 0) & (sums[:, 3] > 0)]
    return Gap(plain, caught, percentiles(kept[:, 0] / kept[:, 1] - kept[:, 2] / kept[:, 3]))
