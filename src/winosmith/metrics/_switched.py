"""Does a solver follow the sentence? Consistency when the options change places in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from winosmith.dataset import Dataset, Filtered
from winosmith.errors import DataError
from winosmith.metrics._agreement import probability_same
from winosmith.metrics._graded import Graded
from winosmith.metrics._intervals import Proportion, proportion
from winosmith.problem import Problem

__all__ = ["Consistency", "consistency", "switched"]


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
    return either.sub(lambda match: _placed(mentions[match[0].lower()], match), problem.sentence)


def _mention(words: str, *, escaped: bool = False) -> re.Pattern[str]:
    pattern = words if escaped else re.escape(words)
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.IGNORECASE)


def _placed(words: str, where: re.Match[str]) -> str:
    """Return the words with a capital at a sentence's start, and articles without one inside."""
    before = where.string[: where.start()].rstrip(" \"'“‘")
    if not before or before[-1] in ".!?":
        return words[0].upper() + words[1:]
    if re.match(r"(?:The|An?|My|His|Her|Their|Our|Your)\b", words):
        return words[0].lower() + words[1:]
    return words
