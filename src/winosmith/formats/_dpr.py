"""DPR (Rahman and Ng 2012): the sentence, the pronoun, the options and the answer on four lines.

When the pronoun occurs more than once, its first occurrence is the target, as the authors say; 51
sentences need that rule. Files with "[MASK]" in the pronoun's place (bert-commonsense: WSC273,
PDP, Winogender) have the same four lines and are read alike; in the WSC273 one the right option
comes first in every list, so **the order gives the answer away**. No ids: a problem's id is its
0-based place. Twins are told by their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO

from winosmith.errors import ProblemError
from winosmith.formats._base import (
    Entry,
    Format,
    Item,
    Source,
    answer_among,
    cannot_write,
    entry,
    problems_of,
    tidy,
    whole_word,
)
from winosmith.formats._twins import paired
from winosmith.problem import BLANK, Problem

_MASK = "[MASK]"

Block = list[tuple[int, str]]


def _blocks(source: Source) -> Iterator[Block]:
    """Yield the lines between empty lines, with their numbers."""
    block: Block = []
    for number, line in enumerate(source.text.split("\n"), start=1):
        if line.strip():
            block.append((number, line.rstrip("\r")))
        elif block:
            yield block
            block = []
    if block:
        yield block


def _problem(lines: Sequence[str], position: int) -> Problem:
    if len(lines) != 4:
        raise ProblemError(
            f"the block has {len(lines)} lines; 4 are needed: sentence, pronoun, options, answer"
        )
    sentence, pronoun, listed, answer = lines
    pronoun = tidy(pronoun)
    found = [sentence.find(_MASK)] if pronoun == _MASK else whole_word(pronoun, sentence)
    if not found or found[0] < 0:
        raise ProblemError(f"the sentence does not hold the pronoun {pronoun!r}")
    if BLANK in sentence:
        raise ProblemError("the sentence holds a blank ('_')")
    at = found[0]
    options = tuple(map(tidy, listed.split(",")))
    return Problem(
        id=str(position),
        sentence=tidy(sentence[:at] + BLANK + sentence[at + len(pronoun) :]),
        options=options,
        answer=answer_among(options, answer),
        pronoun=None if pronoun == _MASK else sentence[at : at + len(pronoun)],
    )


def _recognises(source: Source) -> bool:
    first = next(_blocks(source), [])
    if len(first) != 4:
        return False
    (
        _,
        sentence,
    ) = first[0]
    pronoun, listed, answer = (tidy(line) for _, line in first[1:])
    return pronoun in sentence and answer in [tidy(option) for option in listed.split(",")]


def _read(source: Source) -> list[Entry]:
    return paired(
        entry(block[0][0], raw, lambda: _problem([line for _, line in block], position))  # noqa: B023 - called here
        for position, block in enumerate(_blocks(source))
        for raw in ["\n".join(line for _, line in block)]
    )


def _write(items: Sequence[Item], file: IO[str]) -> None:
    for problem in problems_of(items):
        if problem.answer is None:
            raise cannot_write(problem, "the format needs the answer")
        pronoun = problem.pronoun or _MASK
        lines = _lines(problem, pronoun)
        # The first occurrence is the target; where that is another one, only a mask can tell.
        if not _reads_back(lines, problem):
            lines = _lines(problem, _MASK)
        if not _reads_back(lines, problem):
            raise cannot_write(
                problem, "the format needs tidy spaces, and options without commas or line ends"
            )
        file.write("\n".join([*lines, "", ""]))


def _lines(problem: Problem, pronoun: str) -> list[str]:
    answer = problem.options[problem.answer or 0]
    sentence = problem.put(pronoun)
    return [sentence, pronoun, ",".join(problem.options), answer]


def _reads_back(lines: Sequence[str], problem: Problem) -> bool:
    if any("\n" in line or "\r" in line or not line.strip() for line in lines):
        return False
    try:
        back = _problem(lines, 0)
    except ProblemError:
        return False
    return (back.sentence, back.options) == (problem.sentence, problem.options)


DPR = Format(
    name="dpr",
    title="DPR and [MASK] files: four lines a problem",
    recognises=_recognises,
    read=_read,
    write=_write,
    suffix=".txt",
    keeps=frozenset({"sentence", "options", "answer"}),
)
