"""The dialogue in which a chat model perturbs a problem, as a state machine."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from winosmith.chat import Message, Messages, Reply
from winosmith.errors import ProblemError
from winosmith.evolve._chat_rows import (
    COLUMNS,
    REPAIRED,
    Row,
    RowChecker,
    normalize_sentence,
    parse_rows,
)
from winosmith.lineage import find_edits
from winosmith.options import Count, OrFalse, declaration
from winosmith.problem import Problem
from winosmith.text import format_count, tokenize


@declaration
class DialogueRules:
    """Limits of a dialogue, and settings for checking the model's rows."""

    wanted: Count = 100
    """Number of children of each problem."""
    batches: Annotated[tuple[Count, ...], Field(strict=False, min_length=1)] = (10, 10, 30, 30, 20)
    """Number of rows to request in each turn; the last number applies to all later turns. The
    default numbers are the sizes of EvoGrad's accepted batches (2024, A.1)."""
    distances: Literal["correct", "refuse"] = "correct"
    """Whether to correct ("correct") or refuse ("refuse") a row with an incorrect distance. The
    model is informed in both cases."""
    changed: Annotated[float, Field(gt=0, le=1)] = 0.6
    """Maximum number of changed tokens, as a fraction of the problem's tokens."""
    most_rounds: Count = 30
    """Maximum number of turns for a problem."""
    fruitless: Count = 3
    """Number of consecutive turns without an accepted row after which a problem is abandoned."""
    memory: OrFalse[Count] = None
    """Number of earlier turns that the model sees in addition to the first one; by default, all."""


_TRIAL_ROWS = 10
"""Number of rows to request after a bad batch, "to see if it's okay" (EvoGrad 2024, A.1)."""

_MIN_ROWS = 3
"""Minimum number of rows to request after a reply was cut off."""

_MAX_FAULTS = 3
"""Maximum number of kinds of faults to explain in one message."""


class Ending(NamedTuple):
    """The reason why a dialogue ended.

    Attributes:
        reason: "done", or "rounds", "fruitless" or "budget" if there are too few children.
        message: explanation and advice for the user.
    """

    reason: Literal["done", "rounds", "fruitless", "budget"]
    message: str


class Dialogue:
    """A dialogue in which a model writes rows, and each row is checked (EvoGrad 2024, A.1).

    As in the paper, the model may ask questions before the first rows. It gets the rules in reply.

    The dialogue does not call the model: send `messages`, pass the reply to `process_reply`, and
    repeat until `ending` is set. The same replies always give the same problems.

    Attributes:
        parent: the problem to perturb, with two options and an answer.
        rules: the limits.
        turns: the turns so far.
        accepted: the accepted children so far.

    Args:
        parent: the problem to perturb.
        taken: problems whose sentences must not be repeated, such as the other half of a twin, or
            other families.
        rules: fields of `DialogueRules`.

    Raises:
        RecipeError: a rule has a value out of range.
        ProblemError: the problem does not have two options and an answer.

    >>> root = Problem("r", "Sue beat Sally because _ ran well.", ("Sue", "Sally"), 0)
    >>> dialogue = Dialogue(root, wanted=1)
    >>> row = '1,"Sue beat Sally although _ ran well.",Sue,Sally,2,2'
    >>> dialogue.process_reply(Reply(row))[0].lineage.declared, dialogue.turns[0].count_faults()
    (1, Counter({'distance': 1}))
    >>> dialogue.ending.message
    '1 of 1 children were accepted'
    """

    def __init__(self, parent: Problem, *, taken: Iterable[Problem] = (), **rules: Any):
        self.rules = DialogueRules(**rules)
        if len(parent.options) != 2 or parent.answer is None:
            raise ProblemError(
                f"{parent.id!r} has {len(parent.options)} options and "
                f"{'no' if parent.answer is None else 'an'} answer; the table that a chat model "
                "fills in needs 2 options and the answer"
            )
        self.parent = parent
        self.turns: list[Turn] = []
        self.accepted: list[Problem] = []
        self._stopped: Ending | None = None
        self._checker = RowChecker(parent, self.rules.changed, self.rules.distances)
        self._taken = {normalize_sentence(problem.sentence) for problem in taken}
        self._said = [Message("user", format_opening(parent, self.batch_size))]

    @property
    def messages(self) -> Messages:
        """The next messages to send.

        These are the first message and the last `memory` turns, or all turns if `memory` is None.
        """
        later = self._said[1:]
        shown = later if self.rules.memory is None else later[-2 * self.rules.memory :]
        return (self._said[0], *shown)

    @property
    def batch_size(self) -> int:
        """The number of rows to request in the next turn."""
        size = self.rules.batches[min(len(self.turns), len(self.rules.batches) - 1)]
        if self.turns:
            last = self.turns[-1]
            faulty = sum(bool(row.faults) for row in last.rows)
            if not last.rows or 2 * faulty > len(last.rows):
                size = min(size, _TRIAL_ROWS)
            if last.is_truncated:
                size = min(size, max(_MIN_ROWS, last.complete_row_count))
        return max(1, min(size, self.rules.wanted - len(self.accepted)))

    @property
    def user_messages(self) -> list[str]:
        """The messages to the model, one for each turn. The last one has not been sent yet."""
        return [message.content for message in self._said if message.role == "user"]

    def process_reply(self, reply: Reply, message: str | None = None) -> tuple[Problem, ...]:
        """Process the model's reply, and return the children accepted from it.

        Args:
            reply: the reply to the last message.
            message: the message that was sent, if a saved dialogue had different settings.
        """
        if message is not None:
            self._said[-1] = Message("user", message)
        taken = set(self._taken)
        rows: list[Row] = []
        kept: list[Problem] = []
        for row in parse_rows(reply):
            checked = self._checker.check(row, taken)
            rows.append(checked)
            if checked.problem and len(self.accepted) + len(kept) < self.rules.wanted:
                taken.add(normalize_sentence(checked.sentence))
                kept.append(checked.problem)
        self._taken = taken
        self.turns.append(Turn(self.batch_size, reply, tuple(rows), tuple(kept)))
        self.accepted += kept
        asks = len(self.turns) == 1 and not rows and "?" in reply.text
        feedback = (
            RULES_REPLY if asks else format_feedback(self.parent, self.turns[-1], self.accepted)
        )
        first = 1 + sum(len(turn.rows) for turn in self.turns)
        self._said.append(Message("assistant", reply.text))
        self._said.append(
            Message("user", f"{feedback}\n\n{format_request(self.batch_size, first)}")
        )
        return tuple(kept)

    def stop(self, reason: Literal["budget"], message: str) -> None:
        """End the dialogue for an external reason."""
        self._stopped = Ending(
            reason, f"{len(self.accepted)} of {self.rules.wanted} children were accepted; {message}"
        )

    @property
    def ending(self) -> Ending | None:
        """The reason why the dialogue ended, or None while it continues."""
        accepted = f"{len(self.accepted)} of {self.rules.wanted} children were accepted"
        if len(self.accepted) >= self.rules.wanted:
            return Ending("done", accepted)
        if self._stopped:
            return self._stopped
        recent = self.turns[-self.rules.fruitless :]
        if len(recent) == self.rules.fruitless and not any(turn.accepted for turn in recent):
            found = sum((turn.count_faults() for turn in recent), Counter[str]())
            faults = ", ".join(f"{kind} {count}" for kind, count in found.most_common(_MAX_FAULTS))
            has_rows = any(turn.rows for turn in recent)
            why = f"most faults: {faults}" if has_rows else "no reply contained a row of the table"
            return Ending(
                "fruitless",
                f"the last {len(recent)} turns had no acceptable row ({len(self.accepted)} of "
                f"{self.rules.wanted} accepted); {why}. Use a stronger model, or read its replies "
                "in the transcript",
            )
        if len(self.turns) >= self.rules.most_rounds:
            return Ending(
                "rounds",
                f"{accepted} in {self.rules.most_rounds} turns; allow more turns, "
                "or use a stronger model",
            )
        return None

    def count_faults(self) -> Counter[str]:
        """Return the count of each fault so far, starting with the most frequent."""
        found = sum((turn.count_faults() for turn in self.turns), Counter[str]())
        return Counter(dict(found.most_common()))


_MAX_MEAN_DISTANCE = 4.0
"""Mean distance above which the prompt asks for smaller distances, as EvoGrad's author did."""

_MAX_IMBALANCE = 0.1
"""Imbalance of answers above which the rarer answer is requested, as a fraction of the children."""

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
class Turn:
    """A turn of a dialogue.

    Attributes:
        requested: number of requested rows.
        reply: the model's reply.
        rows: the rows of the reply, in order.
        accepted: the accepted problems, at most the number wanted.
    """

    requested: int
    reply: Reply
    rows: tuple[Row, ...]
    accepted: tuple[Problem, ...]

    @property
    def is_truncated(self) -> bool:
        """Whether the reply was cut off."""
        return self.reply.finish == "length"

    @property
    def complete_row_count(self) -> int:
        """The number of rows that were not cut off."""
        return sum("truncated" not in checked.faults for checked in self.rows)

    def count_faults(self) -> Counter[str]:
        """Return the count of each reported fault, starting with the most frequent."""
        found = Counter(
            fault for checked in self.rows for fault in checked.faults if fault not in REPAIRED
        )
        return Counter(dict(found.most_common()))


def format_feedback(parent: Problem, turn: Turn, accepted: Sequence[Problem]) -> str:
    """Return the feedback on a turn for the model: faults and what to change, or praise.

    Each kind of fault is reported with the number of rows and an example row. The distance with the
    largest error is explained token by token, as EvoGrad's author did (2024, A.1).
    """
    said = [_summarize_rows(turn), *_explain_distances(parent, turn)]
    for kind, count in turn.count_faults().items():
        if kind in _ADVICE:
            row = next(row.text for row in turn.rows if kind in row.faults)
            said.append(
                f"{format_count(count, 'row')} cannot be used: {'it' if count == 1 else 'each'} "
                f"{_ADVICE[kind]}. For example: {row if len(row) <= 300 else f'{row[:299]}…'}"
            )
    if turn.is_truncated:
        said.append("Your reply was cut off, so I ask for fewer rows at a time.")
    if turn.rows:
        said += _list_requests(parent, turn, accepted)
    return "\n".join(said)


def _summarize_rows(turn: Turn) -> str:
    if not turn.rows:
        return (
            "I found no row in your reply. I need lines of CSV with the six columns, and no more."
        )
    if not turn.count_faults() and len(turn.rows) >= turn.requested:
        return "All rows are right. Well done."
    few = "" if len(turn.rows) >= turn.requested else f" I had asked for {turn.requested}."
    return f"Of your {format_count(len(turn.rows), 'row')} I keep {len(turn.accepted)}.{few}"


def _explain_distances(parent: Problem, turn: Turn) -> list[str]:
    wrong = [checked for checked in turn.rows if "distance" in checked.faults]
    if not wrong:
        return []
    plain = [checked for checked in wrong if REPAIRED.issuperset({*checked.faults} - {"distance"})]
    worst = max(plain or wrong, key=lambda row: abs(row.distance - (row.claimed_distance or 0)))
    stated = "no number" if worst.claimed_distance is None else str(worst.claimed_distance)
    verb = "is" if len(wrong) == 1 else "are"
    counted = describe_edits(parent.sentence, worst.sentence) or "nothing was changed"
    return [
        f"{format_count(len(wrong), 'distance')} {verb} wrong. For example, for your sentence",
        worst.sentence,
        f"you state {stated}. The distance is {worst.distance}: {counted}. Every token that was "
        "changed, added or left out counts as one, names and punctuation marks, too.",
    ]


def _list_requests(parent: Problem, turn: Turn, accepted: Sequence[Problem]) -> list[str]:
    wishes = []
    ones = sum(problem.answer == 0 for problem in accepted)
    if abs(ones - len(accepted) / 2) > max(1, _MAX_IMBALANCE * len(accepted)):
        rare, other = (2, 1) if ones > len(accepted) / 2 else (1, 2)
        wishes.append(
            f"So far {ones} answers are 1 and {len(accepted) - ones} are 2: write more rows with "
            f"answer {rare}, by small changes that make option{rare} right instead of "
            f"option{other}."
        )
    if turn.accepted and all(problem.options == parent.options for problem in turn.accepted):
        wishes.append("You may change the names or things in the options, too; it counts.")
    read = [checked.distance for checked in turn.rows if checked.sentence]
    if read and sum(read) / len(read) > _MAX_MEAN_DISTANCE:
        wishes.append("Keep the distances smaller: find the fewest words that matter.")
    return wishes


_SIGNS = {"substitute": "{old} → {new}", "insert": "{new} added", "delete": "{old} left out"}

_EXAMPLE = "Ida could not lift the parcel onto the shelf because the _ was too heavy."
_CHANGED = (
    (
        "Ida could not lift the crate onto the shelf because the _ was too heavy.",
        "Another thing stands in for the parcel, in the sentence and in option1. The answer stays.",
    ),
    (
        "Ida could not lift the crate onto the shelf because the _ was too high.",
        "With one more word changed, the other option is right.",
    ),
)

_OPENING = """\
You know Winograd schemas well, and write test sentences for them as an expert in language. Each \
sentence has one blank, written as an underscore (_), and two options that could stand there by \
grammar. Only common sense tells which one is meant.

From one sentence I need many: change, add or leave out words of the original, so that a reader \
must think again, and often another option is right. Write them as lines of CSV with these columns:

{columns}

- index: a running number. The original is 0.
- sentence: in double quotes, with exactly one blank, _.
- option1, option2: the two options. Both stand in the sentence. You may change them, too, but \
then everywhere: in the sentence and in their column.
- answer: 1 if option1 belongs in the blank, 2 if option2 does. Every careful reader must agree.
- distance: how many tokens you changed, added or left out, counted from the original, as few as \
will do. A token is a word or a punctuation mark. Changing a name counts, too.

The original is:

{original}

It has {count} tokens: {tokens}

So that you see how distances are counted, here is another original with two sentences made from it:

{example}

What I want:
- The smallest change that makes the other option right is worth most.
- About as many rows with answer 1 as with answer 2.
- Distances of all sizes, small ones first, and other names or things as options now and then.
- No row twice, and none that differs from another in capitals or punctuation only.

Before you write each row, ask yourself: do both options stand in it, is the answer beyond doubt, \
and is the distance counted right?

{request}

First, if anything in this task is not clear to you, you may ask: then reply with your questions \
alone, and write the rows once I have answered."""

RULES_REPLY = """\
Thank you for asking. These rules decide:
- Each row is made from the original, not from another row. All changes are counted from there.
- Every token that was changed, added or left out counts as one, names and punctuation marks, too.
- Options may be changed if both stand in the sentence, as in their columns.
- One blank, _, in each sentence, and one answer that every careful reader gives.
Where they leave something open, decide as an expert would, and say nothing of it."""
"""The fixed answer to any questions from the model."""


def format_opening(parent: Problem, size: int) -> str:
    """Return the first message, which makes the model an annotator (EvoGrad 2024, A.1)."""
    cut = tokenize(parent.sentence)
    lines, notes = [format_row(0, _EXAMPLE, ("parcel", "shelf"), 1, 0)], []
    for number, (sentence, why) in enumerate(_CHANGED, 1):  # also the number of the correct option
        distance = len(find_edits(tokenize(_EXAMPLE), tokenize(sentence)))
        lines.append(format_row(number, sentence, ("crate", "shelf"), number, distance))
        notes.append(f"Row {number}: {describe_edits(_EXAMPLE, sentence)}. {why}")
    return _OPENING.format(
        columns=",".join(COLUMNS),
        original=format_row(0, parent.sentence, parent.options, (parent.answer or 0) + 1, 0),
        count=len(cut),
        tokens=" ".join(cut),
        example="\n".join([*lines, "", *notes]),
        request=format_request(size, 1),
    )


def format_request(size: int, first: int) -> str:
    rows = "1 row" if size == 1 else f"{size} rows"
    return (
        f"Please write {rows}, numbered from {first}. Reply with the rows of CSV alone: no "
        "heading, no comments, and nothing left out."
    )


def format_row(
    index: int, sentence: str, options: Sequence[str], answer: int, distance: int
) -> str:
    """Format a row of the table as a CSV line.

    >>> format_row(0, "Ann, not Sue, _ ran.", ("Ann", "Sue"), 1, 0)
    '0,"Ann, not Sue, _ ran.",Ann,Sue,1,0'
    """
    text = io.StringIO()
    quoted = " ".join(sentence.splitlines()).replace('"', '""')
    csv.writer(text, lineterminator="").writerow([*options, answer, distance])
    return f'{index},"{quoted}",{text.getvalue()}'


def describe_edits(original: str, changed: str) -> str:
    """Return a numbered list of the token edits between two sentences.

    >>> describe_edits("Sue ran far.", "Sue ran very long.")
    'very added (1), far → long (2)'
    """
    script = find_edits(tokenize(original), tokenize(changed))
    signs = (_SIGNS[edit.op].format(old=edit.old, new=edit.new) for edit in script)
    return ", ".join(f"{edit} ({number})" for number, edit in enumerate(signs, 1))
