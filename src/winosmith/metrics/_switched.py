"""Does a solver follow the sentence? Consistency when the options change places in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from winosmith.dataset import Dataset, Filtered
from winosmith.errors import DataError
from winosmith.metrics._compare import probability_same
from winosmith.metrics._graded import Graded
from winosmith.metrics._intervals import Proportion, proportion
from winosmith.problem import BLANK, Extra, Problem, Scalar

_MARKS = {"is_associative": "trichelair.associative", "is_switchable": "trichelair.switchable"}
_PRONOUN = re.compile(r"\[[^\]]*\]")

Records = Sequence[Mapping[str, Any]]


def marked(dataset: Dataset, records: Records) -> Dataset:
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

    As `marked`; it takes the records of `WSC_switched_label.json`, in whose sentences the pronoun
    in brackets becomes the blank. For `switched`.
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
class Consistency:
    """A solver on problems as they are, and on the same with the options switched in the sentence.

    Attributes:
        consistent: the share of problems whose chosen option changes with the switch, as it must.
        original, switched: the accuracy on either version of these problems.
        both: the share with both versions right. Ties count as if a fair draw of its own settled
            each.
    """

    consistent: Proportion
    original: Proportion
    switched: Proportion
    both: Proportion

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            name: getattr(self, name).record()
            for name in ("consistent", "original", "switched", "both")
        }


def switched(dataset: Dataset, sentences: Mapping[str, str] | None = None) -> Filtered:
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
    >>> other = switched(Dataset([pair])).kept[0]
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
        1 - probability_same(original.predictions[row], after)
        for row, after in zip(rows, other.predictions, strict=True)
    ]
    before, labels = original.credit[rows], original.clusters[rows]
    tied = original.tied[rows]
    either = int((tied | other.tied).sum())
    return Consistency(
        proportion(changed, labels, ties=either),
        proportion(before, labels, ties=int(tied.sum())),
        proportion(other.credit, labels, ties=other.ties),
        proportion(before * other.credit, labels, ties=either),
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
