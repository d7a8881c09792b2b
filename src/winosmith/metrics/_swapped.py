"""Does a solver follow the sentence when one thing is swapped: its options, or the gender?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import product
from typing import Any, Literal, get_args

import numpy as np

from winosmith.dataset import Dataset, Filtered
from winosmith.errors import DataError, SameInputError
from winosmith.metrics import _proportion
from winosmith.metrics._compare import probability_same
from winosmith.metrics._graded import Graded, check_comparable, seen_by
from winosmith.metrics._proportion import Proportion
from winosmith.problem import BLANK, Extra, Problem, Scalar
from winosmith.report import Signature, fixed, percent, points, points_span, sign
from winosmith.results import Result, computed, shown

_MARKS = {"is_associative": "trichelair.associative", "is_switchable": "trichelair.switchable"}
_PRONOUN = re.compile(r"\[[^\]]*\]")

Records = Sequence[Mapping[str, Any]]


def add_marks(dataset: Dataset, records: Records) -> Dataset:
    """Return the problems with their marks in `extra`: "trichelair.associative", ".switchable".

    Args:
        dataset: the Winograd Schema Challenge; the record with the `index` 0 is for its first
            problem. Problems without a record stay as they are.
        records: of `WSC_associative_label.json` or `WSC_switched_label.json`.

    Raises:
        DataError: a record without a place in the data set, or with another problem's sentence.
    """
    problems = list(dataset)
    for row, record in _by_place(dataset, records):
        marks: dict[str, Scalar] = {
            ours: bool(record[theirs]) for theirs, ours in _MARKS.items() if theirs in record
        }
        problem = problems[row]
        problems[row] = replace(problem, extra=Extra({**problem.extra, **marks}))
    return Dataset(problems, dataset.name)


def switched_sentences(dataset: Dataset, records: Records) -> dict[str, str]:
    """Return id → sentence with the options switched, of the problems marked as switchable.

    As `add_marks`, of the records of `WSC_switched_label.json`. The pronoun in brackets becomes the
    blank. For `switch_options`.
    """
    return {
        dataset[row].id: _PRONOUN.sub(BLANK, str(record.get("sentence_switched")), count=1)
        for row, record in _by_place(dataset, records)
        if record.get("is_switchable")
    }


def _by_place(dataset: Dataset, records: Records) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for record in records:
        row = record.get("index") if isinstance(record, Mapping) else None
        if not isinstance(row, int) or not 0 <= row < len(dataset):
            raise DataError(
                f"the mark with the index {row!r} has no place among {len(dataset):,} problems"
            )
        if not _alike(dataset[row], str(record.get("sentence"))):
            raise DataError(
                f"the mark {row} is for another sentence than the problem {dataset[row].id!r}; "
                "marks go by the order of the Winograd Schema Challenge"
            )
        yield row, record


def _alike(problem: Problem, sentence: str) -> bool:
    """Return whether most words are the same: the files differ in spelling, one in word order."""
    mine, theirs = (
        set(re.findall(r"[a-z]+", text.lower())) for text in (problem.sentence, sentence)
    )
    return len(mine & theirs) >= 0.5 * len(mine | theirs)


@dataclass(frozen=True, slots=True)
class Consistency(Result):
    """A solver on problems as they are, and on the same with the options switched in the sentence.

    Attributes:
        consistent: the share of problems whose chosen option changes with the switch, as it must.
        original, switched: the accuracy on either version of these problems.
        both: the share with both versions right. Ties count as if a fair draw of its own settled
            each.
    """

    consistent: Proportion = field(
        metadata=shown(
            "problems", _proportion.SIZE, ("consistent", _proportion.rate), _proportion.INTERVAL
        )
    )
    original: Proportion = field(metadata=shown("before", _proportion.rate))
    switched: Proportion = field(metadata=shown("switched", _proportion.rate))
    both: Proportion = field(metadata=shown("both right", lambda found: percent(found.value)))


def switch_options(dataset: Dataset, sentences: Mapping[str, str] | None = None) -> Filtered:
    """Return the problems with their two options switched in the sentence, and so other answers.

    "Emma passed the ball to Janie because _ was open" becomes "Janie passed the ball to Emma
    because _ was open" (Trichelair et al. 2019, section 2.2): the options keep their order, the
    answer is the other one, and so is the id kept, so that predictions can be laid side by side.
    Whether the switched sentence makes sense, only people can tell: pass the problems that they
    found switchable.

    Args:
        dataset: problems with two options.
        sentences: id → the switched sentence with its blank, written by people; the problems that
            it does not have are dropped. None exchanges every mention of the options, where both
            are in the sentence, word for word.

    >>> pair = Problem("p", "Emma passed the ball to Janie because _ was open.", ("Emma", "Janie"), 1)
    >>> other = switch_options(Dataset([pair])).kept[0]
    >>> other.sentence, other.answer
    ('Janie passed the ball to Emma because _ was open.', 0)
    """  # noqa: E501
    reasons: dict[int, str] = {}
    made: list[Problem] = []
    for row, problem in enumerate(dataset):
        if len(problem.options) != 2:
            reasons[row] = f"it has {len(problem.options)} options; two can be switched"
            continue
        sentence = _exchanged(problem) if sentences is None else sentences.get(problem.id)
        if sentence is None:
            reasons[row] = (
                "an option is not in the sentence word for word, or is part of the other"
                if sentences is None
                else "there is no switched sentence for it"
            )
            continue
        answer = None if problem.answer is None else 1 - problem.answer
        made.append(replace(problem, sentence=sentence, answer=answer))
    return Filtered(Dataset(made, dataset.name), dataset.drop(reasons, "switch").dropped)


def consistency(original: Graded, other: Graded) -> Consistency:
    """Return how a solver follows when the options are switched.

    Args:
        original: on the problems as they are; may hold more than were switched.
        other: on the same problems with the options switched, with the same ids and options.

    Raises:
        DataError: a switched problem has no original, other options, or the same answer.

    A solver that chooses by the options alone, whatever the sentence says of them, has 0 %.
    """
    rows = [_row_of(problem, original.dataset) for problem in other.dataset]
    changed = [
        1 - probability_same(before, after) if before.chosen and after.chosen else 0.0
        for before, after in zip(
            (original.predictions[row] for row in rows), other.predictions, strict=True
        )
    ]
    before, labels = original.credit[rows], original.clusters[rows]
    tied = original.tied[rows]
    either = int((tied | other.tied).sum())
    return Consistency(
        _proportion.proportion(changed, labels, ties=either),
        _proportion.proportion(before, labels, ties=int(tied.sum())),
        _proportion.proportion(other.credit, labels, ties=other.ties),
        _proportion.proportion(before * other.credit, labels, ties=either),
    )


def _row_of(problem: Problem, dataset: Dataset) -> int:
    row = dataset.row(problem.id)
    original = dataset[row]
    if original.options != problem.options or original.answer == problem.answer:
        raise DataError(
            f"the switched problem {problem.id!r} must have the options of the original, in its "
            "order, and the other answer"
        )
    return row


def _exchanged(problem: Problem) -> str | None:
    """Return the sentence with each mention of one option replaced by the other; None without."""
    first, second = (option.strip() for option in problem.options)
    mentions = {first.lower(): second, second.lower(): first}
    if len(mentions) < 2 or _mention(first).search(second) or _mention(second).search(first):
        return None  # "Ann" and "Ann's son": what is a mention of whom is not clear
    either = _mention(f"{re.escape(first)}|{re.escape(second)}", escaped=True)
    found = {match[0].lower() for match in either.finditer(problem.sentence)}
    if found != set(mentions):
        return None
    return either.sub(lambda match: _cased(mentions[match[0].lower()], match), problem.sentence)


def _mention(words: str, *, escaped: bool = False) -> re.Pattern[str]:
    pattern = words if escaped else re.escape(words)
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.IGNORECASE)


def _cased(words: str, where: re.Match[str]) -> str:
    """Return the words with a capital at a sentence's start, and articles without one inside."""
    before = where.string[: where.start()].rstrip(" \"'“‘")
    if not before or before[-1] in ".!?":
        return words[0].upper() + words[1:]
    if re.match(r"(?:The|An?|My|His|Her|Their|Our|Your)\b", words):
        return words[0].lower() + words[1:]
    return words


Reading = Literal["answer", "occupation"]
"""What makes a sentence a "gotcha"; see `gender_gap`."""

GENDERS = ("female", "male")


def gap_readings(columns: Iterable[str]) -> list[tuple[str, Reading]]:
    """Return each column of fractions of women with each reading, those of table 7 first.

    Table 7 of WinoGrande has the shares of the Bureau of Labor Statistics ("bls") and the reading
    "answer"; see `gender_gap`.

    >>> gap_readings(["bergsma", "bls"])[:2]
    [('bls', 'answer'), ('bls', 'occupation')]
    """
    ordered = sorted(columns, key=lambda column: column != "bls")
    return list(product(ordered, get_args(Reading)))


@dataclass(frozen=True, slots=True)
class Gap(Result):
    """The gap of one gender: accuracy without the gotcha minus accuracy with it.

    Attributes:
        plain, gotcha: the accuracies; the cells of table 7.
        interval: of the gap, 95 %, by the bootstrap over occupations; two more join the urn, in
            the halves of `difference_interval`.
    """

    plain: Proportion
    gotcha: Proportion
    interval: tuple[float, float]

    @property
    @computed()
    def value(self) -> float:
        """The gap from the counts, −1 to 1; the sign is kept."""
        return self.plain.value - self.gotcha.value

    @property
    @computed()
    def of_rounded(self) -> float:
        """The gap of the cells as they are printed, in percent with one decimal, −100 to 100.

        Table 7 prints this one without its sign; it can differ from 100 · `value` by 0.1.
        """
        plain, gotcha = (Decimal(fixed(100 * of.value)) for of in (self.plain, self.gotcha))
        return float(plain - gotcha)


@dataclass(frozen=True, slots=True)
class GenderGap(Result):
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
        return (
            f"by the pronoun alone, over both genders and so on the same sentences: "
            f"{points(self.both.value)} points ({points_span(self.both.interval)})"
        )


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
        female_share: occupation → percentage or fraction of women; both readings ask whether it is
            above half of the scale. `occupations-stats.tsv` of the data set has two columns of it.
        reading: "answer" or "occupation".
        seed: of the bootstrap.

    Raises:
        DataError: not Winogender, an occupation without a share, or a cell without sentences.
        SameInputError: the solver's female and male inputs are the same (`check_comparable`).
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
    comparable = check_comparable(graded, "the gender of the pronoun", of_genders)
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
        _proportion.proportion(graded.credit, labels, chance=0.5, ties=graded.ties),
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
        _proportion.proportion(graded.credit[cell], labels[cell], ties=int(graded.tied[cell].sum()))
        for cell in cells
    )
    columns = [cells[0] * graded.credit, cells[0], cells[1] * graded.credit, cells[1]]
    totals = _proportion.cluster_totals(np.stack(columns, axis=1), labels)
    # Only the one right, only the other, neither decided.
    plains = _proportion.pseudo_clusters(
        totals[:, 1], [[1, 1], [0, 1], [0.5, 1]], _proportion.IN_HALVES
    )
    gotchas = _proportion.pseudo_clusters(totals[:, 3], [[0, 1], [1, 1], [0.5, 1]])
    prior = np.hstack([plains, gotchas[:, 1:]])
    sums = _proportion.resample(totals, seed, prior=prior)
    whole = sums[(sums[:, 1] > 0) & (sums[:, 3] > 0)]
    return Gap(
        plain,
        caught,
        _proportion.percentile_interval(whole[:, 0] / whole[:, 1] - whole[:, 2] / whole[:, 3]),
    )
