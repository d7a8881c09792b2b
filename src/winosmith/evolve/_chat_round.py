"""One turn of the dialogue: what was asked, what came, and what is said about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from winosmith.chat import Reply
from winosmith.evolve._chat_check import REPAIRED, Checked
from winosmith.evolve._chat_prompt import spelt_out
from winosmith.problem import Problem

__all__ = ["Round", "correction"]

_LONG = 4.0
"""A mean distance from which on smaller ones are asked for; EvoGrad's author did after 10 rows."""

_UNEVEN = 0.1
"""How far the answers may be from one half each before the rarer one is asked for."""

_ADVICE = {
    "columns": "has not the six columns; a sentence with commas needs double quotes around it",
    "ellipsis": "stands for rows that you left out; write out every row",
    "blank": "has not exactly one blank; write _ once, where either option could stand",
    "options": "has options that are empty or equal; two different ones are needed",
    "absent": "has an option that is not in the sentence; both must stand there, as in their "
    "columns",
    "renamed": "gives an option a new name, but its old name is still in the sentence; change it "
    "everywhere",
    "answer": "has an answer that is neither 1 nor 2",
    "far": "is hardly the original any more; change fewer words",
    "original": "is the original itself, at most with other capitals or punctuation",
    "duplicate": "repeats an earlier row, at most with other capitals or punctuation",
}


@dataclass(frozen=True, slots=True)
class Round:
    """One turn.

    Attributes:
        asked: how many rows were asked for.
        reply: what the model said.
        rows: what was found in it, in order.
        kept: the problems that were accepted; less than the rows without a fault when no more
            were wanted.
    """

    asked: int
    reply: Reply
    rows: tuple[Checked, ...]
    kept: tuple[Problem, ...]

    @property
    def is_cut(self) -> bool:
        """Whether the reply was cut off."""
        return self.reply.finish == "length"

    @property
    def whole(self) -> int:
        """How many rows were read to their ends."""
        return sum("truncated" not in checked.faults for checked in self.rows)

    def faults(self) -> Counter[str]:
        """Return how often each fault occurs that the model is told of, the most frequent first."""
        found = Counter(
            fault for checked in self.rows for fault in checked.faults if fault not in REPAIRED
        )
        return Counter(dict(found.most_common()))


def correction(parent: Problem, done: Round, accepted: Sequence[Problem]) -> str:
    """Return what is said about a turn; without a fault and a wish, it is praise.

    Each kind of fault is told with its number and one row that has it, and a wrong distance is
    counted out token by token, as EvoGrad's author did (2024, A.1).

    Args:
        parent: the problem.
        done: the turn.
        accepted: all that was accepted so far.
    """
    said = [_of_rows(done), *_of_distances(parent, done)]
    faults = done.faults()
    said += [
        f"{_number(faults[kind], 'row')} cannot be used: "
        f"{'it' if faults[kind] == 1 else 'each'} {_ADVICE[kind]}. For example: "
        f"{_shown(_first(done, kind))}"
        for kind in faults
        if kind in _ADVICE
    ]
    if done.is_cut:
        said.append("Your reply was cut off, so I ask for fewer rows at a time.")
    if done.rows:
        said += _wishes(parent, done, accepted)
    return "\n".join(said)


def _of_rows(done: Round) -> str:
    if not done.rows:
        return (
            "I found no row in your reply. I need lines of CSV with the six columns, and no more."
        )
    if not done.faults() and len(done.rows) >= done.asked:
        return "All rows are right. Well done."
    few = "" if len(done.rows) >= done.asked else f" I had asked for {done.asked}."
    return f"Of your {_number(len(done.rows), 'row')} I keep {len(done.kept)}.{few}"


def _of_distances(parent: Problem, done: Round) -> list[str]:
    """Return the row whose distance is furthest off, counted out."""
    wrong = [checked for checked in done.rows if "distance" in checked.faults]
    if not wrong:
        return []
    plain = [checked for checked in wrong if REPAIRED.issuperset({*checked.faults} - {"distance"})]
    worst = max(plain or wrong, key=lambda row: abs(row.distance - (row.claimed or 0)))
    stated = "no number" if worst.claimed is None else str(worst.claimed)
    verb = "is" if len(wrong) == 1 else "are"
    counted = spelt_out(parent.sentence, worst.sentence) or "nothing was changed"
    return [
        f"{_number(len(wrong), 'distance')} {verb} wrong. For example, for your sentence",
        worst.sentence,
        f"you state {stated}. The distance is {worst.distance}: {counted}. Every token that was "
        "changed, added or left out counts as one, names and punctuation marks, too.",
    ]


def _wishes(parent: Problem, done: Round, accepted: Sequence[Problem]) -> list[str]:
    wishes = []
    ones = sum(problem.answer == 0 for problem in accepted)
    if abs(ones - len(accepted) / 2) > max(1, _UNEVEN * len(accepted)):
        rare, other = (2, 1) if ones > len(accepted) / 2 else (1, 2)
        wishes.append(
            f"So far {ones} answers are 1 and {len(accepted) - ones} are 2: write more rows with "
            f"answer {rare}, by small changes that make option{rare} right instead of "
            f"option{other}."
        )
    if done.kept and all(problem.options == parent.options for problem in done.kept):
        wishes.append("You may change the names or things in the options, too; it counts.")
    read = [checked.distance for checked in done.rows if checked.sentence]
    if read and sum(read) / len(read) > _LONG:
        wishes.append("Keep the distances smaller: find the fewest words that matter.")
    return wishes


def _first(done: Round, kind: str) -> Checked:
    return next(checked for checked in done.rows if kind in checked.faults)


def _shown(checked: Checked) -> str:
    return checked.row.text if len(checked.row.text) <= 300 else f"{checked.row.text[:299]}…"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
