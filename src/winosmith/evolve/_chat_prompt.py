"""What the chat model is told at the beginning: its part, the table, and how distances count."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from winosmith.evolve._chat_rows import COLUMNS
from winosmith.lineage import edit_script
from winosmith.problem import Problem
from winosmith.text import tokens

__all__ = ["ANSWER", "opening", "request", "row_of", "spelt_out"]

_SIGNS = {"substitute": "{old} → {new}", "insert": "{new} added", "delete": "{old} left out"}

_EXAMPLE = "Ida could not lift the parcel onto the shelf because the _ was too heavy."
_CHANGED = (
    ("Ida could not lift the crate onto the shelf because the _ was too heavy.", "crate", 1),
    ("Ida could not lift the crate onto the shelf because the _ was too high.", "crate", 2),
)
_COMMENTS = (
    "Another thing stands in for the parcel, in the sentence and in option1. The answer stays.",
    "With one more word changed, the other option is right.",
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

ANSWER = """\
Thank you for asking. These rules decide:
- Each row is made from the original, not from another row. All changes are counted from there.
- Every token that was changed, added or left out counts as one, names and punctuation marks, too.
- Options may be changed if both stand in the sentence, as in their columns.
- One blank, _, in each sentence, and one answer that every careful reader gives.
Where they leave something open, decide as an expert would, and say nothing of it."""
"""What is said to questions: nobody is there to answer them one by one."""


def opening(parent: Problem, size: int) -> str:
    """Return the first message: EvoGrad's "expert human annotator" (2024, A.1), in our words."""
    cut = tokens(parent.sentence)
    return _OPENING.format(
        columns=",".join(COLUMNS),
        original=row_of(0, parent.sentence, parent.options, (parent.answer or 0) + 1, 0),
        count=len(cut),
        tokens=" ".join(cut),
        example=_example(),
        request=request(size, 1),
    )


def request(size: int, first: int) -> str:
    """Return what asks for rows."""
    rows = "1 row" if size == 1 else f"{size} rows"
    return (
        f"Please write {rows}, numbered from {first}. Reply with the rows of CSV alone: no "
        "heading, no comments, and nothing left out."
    )


def row_of(index: int, sentence: str, options: Sequence[str], answer: int, distance: int) -> str:
    """Return a line of the table.

    >>> row_of(0, "Ann, not Sue, _ ran.", ("Ann", "Sue"), 1, 0)
    '0,"Ann, not Sue, _ ran.",Ann,Sue,1,0'
    """
    text = io.StringIO()
    quoted = " ".join(sentence.splitlines()).replace('"', '""')
    csv.writer(text, lineterminator="").writerow([*options, answer, distance])
    return f'{index},"{quoted}",{text.getvalue()}'


def spelt_out(before: str, after: str) -> str:
    """Return the edits between two sentences, counted one by one.

    >>> spelt_out("Sue ran far.", "Sue ran very long.")
    'very added (1), far → long (2)'
    """
    script = edit_script(tokens(before), tokens(after))
    told = (_SIGNS[edit.op].format(old=edit.old, new=edit.new) for edit in script)
    return ", ".join(f"{edit} ({number})" for number, edit in enumerate(told, 1))


def _example() -> str:
    lines = [row_of(0, _EXAMPLE, ("parcel", "shelf"), 1, 0)]
    notes = []
    for number, ((sentence, option, answer), why) in enumerate(
        zip(_CHANGED, _COMMENTS, strict=True), 1
    ):
        distance = len(edit_script(tokens(_EXAMPLE), tokens(sentence)))
        lines.append(row_of(number, sentence, (option, "shelf"), answer, distance))
        notes.append(f"Row {number}: {spelt_out(_EXAMPLE, sentence)}. {why}")
    return "\n".join([*lines, "", *notes])
