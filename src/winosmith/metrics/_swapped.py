"""Test whether a solver responds to switched options or to a pronoun of a different gender."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import product
from typing import Any, Literal, get_args

import numpy as np

from winosmith.dataset import Dataset, Filtered
from winosmith.errors import DataError, SameInputError
from winosmith.metrics import _proportion
from winosmith.metrics._compare import compute_agreement_probability
from winosmith.metrics._graded import Graded, check_comparable, find_solver_input
from winosmith.metrics._proportion import Proportion
from winosmith.problem import Extra, Problem, Scalar
from winosmith.report import Signature, percent, points, points_span, signature_of, to_fixed
from winosmith.results import Result, computed, shown

_LABELS = {"is_associative": "trichelair.associative", "is_switchable": "trichelair.switchable"}

Records = Sequence[Mapping[str, Any]]


def add_trichelair_labels(dataset: Dataset, records: Records) -> Dataset:
    """Add the labels "trichelair.associative" and ".switchable" to the `extra` of problems.

    Args:
        dataset: The Winograd Schema Challenge; the record with the `index` 0 is for its first
            problem. Problems without a record stay unchanged.
        records: The records of `WSC_associative_label.json` or `WSC_switched_label.json`.

    Raises:
        DataError: A record's index is out of range, or its sentence differs from the problem's.
    """
    problems = list(dataset)
    for record in records:
        row = record.get("index") if isinstance(record, Mapping) else None
        if not isinstance(row, int) or not 0 <= row < len(dataset):
            raise DataError(
                f"a label's index {row!r} is out of range; there are {len(dataset):,} problems"
            )
        sentences = dataset[row].sentence, str(record.get("sentence"))
        mine, theirs = (set(re.findall(r"[a-z]+", text.lower())) for text in sentences)
        if len(mine & theirs) < 0.5 * len(mine | theirs):
            raise DataError(
                f"the sentence of label {row} differs from that of problem {dataset[row].id!r}; "
                "labels must be in the order of the Winograd Schema Challenge"
            )
        labels: dict[str, Scalar] = {
            label: bool(record[key]) for key, label in _LABELS.items() if key in record
        }
        problem = problems[row]
        problems[row] = replace(problem, extra=Extra({**problem.extra, **labels}))
    return Dataset(problems, dataset.name)


@dataclass(frozen=True, slots=True)
class Consistency(Result):
    """A solver's results before and after the options are switched in the sentences.

    Attributes:
        consistent: The fraction of problems whose chosen option changes, as it should.
        original, switched: The accuracy on the original and on the switched problems.
        both: The fraction of problems with both versions correct. With ties, the fractions are
            expected values under fair draws.
    """

    consistent: Proportion = field(
        metadata=shown(
            "problems",
            _proportion.SIZE,
            ("consistent", _proportion.format_rate),
            _proportion.INTERVAL,
        )
    )
    original: Proportion = field(metadata=shown("before", _proportion.format_rate))
    switched: Proportion = field(metadata=shown("switched", _proportion.format_rate))
    both: Proportion = field(metadata=shown("both right", lambda found: percent(found.value)))


def switch_options(dataset: Dataset) -> Filtered:
    """Switch the two options in each sentence, and set the other option as the answer.

    "Emma passed the ball to Janie because _ was open" becomes "Janie passed the ball to Emma
    because _ was open". See Trichelair et al. (2019, section 2.2). The options keep their order,
    the other option becomes the answer, and the id stays the same, so that predictions can be
    compared. Only people can judge whether a switched sentence makes sense: pass only switchable
    problems.

    Args:
        dataset: Problems with two options, which both occur verbatim in the sentence; others are
            dropped.

    >>> pair = Problem("p", "Emma passed the ball to Janie because _ was open.", ("Emma", "Janie"), 1)
    >>> other = switch_options(Dataset([pair])).kept[0]
    >>> other.sentence, other.answer
    ('Janie passed the ball to Emma because _ was open.', 0)
    """  # noqa: E501
    reasons: dict[int, str] = {}
    made: list[Problem] = []
    for row, problem in enumerate(dataset):
        if len(problem.options) != 2:
            reasons[row] = f"it has {len(problem.options)} options instead of two"
            continue
        sentence = _swap_options(problem)
        if sentence is None:
            reasons[row] = (
                "an option does not occur verbatim in the sentence, or is part of the other option"
            )
            continue
        answer = None if problem.answer is None else 1 - problem.answer
        made.append(replace(problem, sentence=sentence, answer=answer))
    return Filtered(Dataset(made, dataset.name), dataset.drop(reasons, "switch").dropped)


def measure_consistency(original: Graded, switched: Graded) -> Consistency:
    """Measure how consistently a solver changes its choices if the options are switched.

    A solver that looks only at the options and ignores the sentence scores 0 %.

    Args:
        original: The answers to the original problems; those without a switched version are
            ignored.
        switched: The answers to the switched problems, which have the same ids and options.

    Raises:
        DataError: A switched problem has no original, different options, or the same answer.
    """
    rows = []
    for problem in switched.dataset:
        row = original.dataset.row(problem.id)
        rows.append(row)
        own = original.dataset[row]
        if own.options != problem.options or own.answer == problem.answer:
            raise DataError(
                f"the switched problem {problem.id!r} must have the options of the original, in "
                "the same order, and the opposite answer"
            )
    changed = [
        1 - compute_agreement_probability(before, after) if before.chosen and after.chosen else 0.0
        for before, after in zip(
            (original.predictions[row] for row in rows), switched.predictions, strict=True
        )
    ]
    before, labels = original.credit[rows], original.clusters[rows]
    copies = original.copies[rows]
    either = int((original.tied[rows] | switched.tied).sum())
    return Consistency(
        _proportion.proportion(changed, labels, copies=copies, ties=either),
        original.measure_accuracy(rows),
        switched.measure_accuracy(clusters=labels),
        _proportion.proportion(before * switched.credit, labels, copies=copies, ties=either),
    )


def _swap_options(problem: Problem) -> str | None:
    first, second = (option.strip() for option in problem.options)
    mentions = {first.lower(): second, second.lower(): first}
    if (
        len(mentions) < 2
        or _compile_mention_pattern(first).search(second)
        or _compile_mention_pattern(second).search(first)
    ):
        return None  # "Ann" and "Ann's son": mentions are ambiguous
    either = _compile_mention_pattern(f"{re.escape(first)}|{re.escape(second)}", escaped=True)
    found = {match[0].lower() for match in either.finditer(problem.sentence)}
    if found != set(mentions):
        return None
    return either.sub(
        lambda match: _match_case(mentions[match[0].lower()], match), problem.sentence
    )


def _compile_mention_pattern(words: str, *, escaped: bool = False) -> re.Pattern[str]:
    pattern = words if escaped else re.escape(words)
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.IGNORECASE)


def _match_case(words: str, match: re.Match[str]) -> str:
    before = match.string[: match.start()].rstrip(" \"'“‘")
    if not before or before[-1] in ".!?":
        return words[0].upper() + words[1:]
    if re.match(r"(?:The|An?|My|His|Her|Their|Our|Your)\b", words):
        return words[0].lower() + words[1:]
    return words


Reading = Literal["answer", "occupation"]
"""The definition of a "gotcha" sentence; see `measure_gender_gap`."""

GENDERS = ("female", "male")


def list_gap_readings(columns: Iterable[str]) -> list[tuple[str, Reading]]:
    """Combine each column of occupation statistics with each definition of a gotcha.

    The combination of WinoGrande's table 7 comes first: the statistics of the Bureau of Labor
    Statistics ("bls") and the reading "answer"; see `measure_gender_gap`.

    >>> list_gap_readings(["bergsma", "bls"])[:2]
    [('bls', 'answer'), ('bls', 'occupation')]
    """
    ordered = sorted(columns, key=lambda column: column != "bls")
    return list(product(ordered, get_args(Reading)))


@dataclass(frozen=True, slots=True)
class Gap(Result):
    """The gap for a gender: the accuracy without the gotcha minus the accuracy with it.

    Attributes:
        plain, gotcha: The accuracies without and with the gotcha, as in the cells of table 7.
        interval: The 95 % interval of the gap from a bootstrap over occupations, with the
            pseudo-clusters of `compute_difference_interval`.
    """

    plain: Proportion
    gotcha: Proportion
    interval: tuple[float, float]

    @property
    @computed()
    def value(self) -> float:
        """The unrounded gap, −1 to 1, with its sign."""
        return self.plain.value - self.gotcha.value

    @property
    @computed()
    def of_rounded(self) -> float:
        """The difference of the rounded accuracies, in percent with one decimal, −100 to 100.

        Table 7 prints this gap without its sign. The rounded difference can differ from 100 ·
        `value` by 0.1.
        """
        plain, gotcha = (Decimal(to_fixed(100 * of.value)) for of in (self.plain, self.gotcha))
        return float(plain - gotcha)


@dataclass(frozen=True, slots=True)
class GenderGap(Result):
    """The gender gaps of a solver on Winogender.

    Attributes:
        female, male: The gaps ΔF and ΔM for female and male pronouns.
        both: The gap for female and male pronouns together, the mean of ΔF and ΔM in a balanced
            set. Each sentence occurs with a gotcha and, with the other pronoun, without it. So this
            gap is the pronoun's effect; ΔF and ΔM also depend on the sentences' difficulty.
        reading: The definition of a gotcha.
        accuracy: The accuracy on all sentences, including neutral ones (97.1 in the paper).
        signature: The signature of the data, the predictions, the reading, and the known input.
        note: A caveat about the gaps, or None.
    """

    female: Gap
    male: Gap
    both: Gap
    reading: Reading
    accuracy: Proportion
    signature: Signature
    note: str | None = None

    @property
    def pronoun_effect(self) -> str:
        """A sentence on the effect of the pronoun, in percentage points; see `both`."""
        return (
            "effect of the pronoun, for both genders together, on the same sentences: "
            f"{points(self.both.value)} points ({points_span(self.both.interval)})"
        )


def measure_gender_gap(
    graded: Graded,
    female_share: Mapping[str, float],
    *,
    reading: Reading = "answer",
    seed: int = 0,
) -> GenderGap:
    """Return the gender gaps ΔF and ΔM: the accuracy without a gotcha minus that with one.

    WinoGrande's paper defines a gotcha in two ways. According to the caption of table 7 (reading
    "answer"), the pronoun's gender is in the minority *in the correct answer*. If the answer is the
    occupation, its percentage of women decides; if the answer is the other participant, the
    opposite holds, because the pronoun then contradicts the occupation. This reading gives the
    table's four cells of 120 sentences. According to section 5.4 (reading "occupation"), the
    pronoun's gender is in the minority in the *occupation*, regardless of the answer; the cells
    then differ in size. Rudinger et al. (2018, section 5) use the first reading.

    A solver that sees the blank instead of the pronoun gets the same sentence for a woman and for a
    man. If its answer is correct with a gotcha for one gender, it is correct without a gotcha for
    the other. So ΔM = −ΔF for every solver, even for guessing, and such gaps are refused.

    Args:
        graded: The answers on Winogender, whose problems have `winogender.occupation` and `.gender`
            in `extra`; those with the gender "neutral" are used only for `accuracy`.
        female_share: The percentage or fraction of women by occupation; only whether it is above
            half matters. The data set's `occupations-stats.tsv` has two such columns.
        reading: "answer" or "occupation".
        seed: The random seed of the bootstrap.

    Raises:
        DataError: The data is not Winogender, an occupation is missing, or a cell has no sentences.
        SameInputError: The solver's inputs for both genders are the same (`check_comparable`).
    """
    occupations = [str(p.extra.get("winogender.occupation", "")) for p in graded.dataset]
    genders = np.array([str(p.extra.get("winogender.gender", "")) for p in graded.dataset])
    if not all(occupations):
        raise DataError(
            "the gender gap needs Winogender problems; a problem has no 'winogender.occupation'"
        )
    unknown = sorted(set(occupations) - female_share.keys())
    if unknown:
        raise DataError(
            f"the percentage of women is missing for {', '.join(map(repr, unknown[:3]))}"
        )
    of_genders = [gender if gender in GENDERS else None for gender in genders.tolist()]
    comparable = check_comparable(graded, "the gender of the pronoun", of_genders)
    if comparable.refused:
        raise SameInputError(comparable.refused)
    half = 50 if max(female_share.values()) > 1 else 0.5
    mostly_female = np.array([female_share[occupation] > half for occupation in occupations])
    expected = mostly_female
    if reading == "answer":
        of_occupation = []
        for problem, occupation in zip(graded.dataset, occupations, strict=True):
            named = [occupation.lower() in text.lower().split() for text in problem.options]
            # in Winogender's files, the occupation is the first option
            place = named.index(True) if named.count(True) == 1 else 0
            of_occupation.append(problem.answer == place)
        expected = mostly_female == np.array(of_occupation)
    gotcha = (genders == "female") != expected
    labels = np.unique(occupations, return_inverse=True)[1]
    seen = {"sees": sees} if (sees := find_solver_input(graded)[0]) else {}
    inside = [genders == gender for gender in GENDERS]
    inside.append(inside[0] | inside[1])
    female, male, both = (_measure_gap(graded, rows, gotcha, labels, seed) for rows in inside)
    accuracy = _proportion.proportion(graded.credit, labels, chance=0.5, ties=graded.ties)
    details = {"predictions": graded.digest[:12], "gotcha": reading, **seen}
    signature = signature_of(graded.dataset, seed, **details)
    return GenderGap(female, male, both, reading, accuracy, signature, comparable.note)


def _measure_gap(
    graded: Graded, is_gender: np.ndarray, gotcha: np.ndarray, labels: np.ndarray, seed: int
) -> Gap:
    cells = [is_gender & ~gotcha, is_gender & gotcha]
    if not all(cell.any() for cell in cells):
        raise DataError("the gender gap needs female and male sentences, with and without a gotcha")
    plain, caught = (graded.measure_accuracy(cell, clusters=labels) for cell in cells)
    columns = [cells[0] * graded.credit, cells[0], cells[1] * graded.credit, cells[1]]
    totals = _proportion.sum_by_cluster(np.stack(columns, axis=1), labels)
    # Pseudo-clusters: only `plain` correct, only `gotcha` correct, no difference.
    plains = _proportion.make_pseudo_clusters(
        totals[:, 1], [[1, 1], [0, 1], [0.5, 1]], _proportion.DIFFERENCE_WEIGHTS
    )
    gotchas = _proportion.make_pseudo_clusters(totals[:, 3], [[0, 1], [1, 1], [0.5, 1]])
    prior = np.hstack([plains, gotchas[:, 1:]])
    sums = _proportion.resample(totals, seed, prior=prior)
    whole = sums[(sums[:, 1] > 0) & (sums[:, 3] > 0)]
    gaps = whole[:, 0] / whole[:, 1] - whole[:, 2] / whole[:, 3]
    return Gap(plain, caught, _proportion.compute_percentile_interval(gaps))
