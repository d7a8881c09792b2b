"""Read the rows of a chat model's reply, and check each row."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from winosmith.chat import Reply
from winosmith.lineage import make_child
from winosmith.problem import BLANK, Problem
from winosmith.text import compute_edit_distance, tokenize

COLUMNS = ("index", "sentence", "option1", "option2", "answer", "distance")
"""The columns of EvoGrad's table (2024, appendix A.1)."""

_THOUGHT = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_RULE = re.compile(r"[\s|:+=-]*-{2,}[\s|:+=-]*")
_BULLET = re.compile(r"^[-*•]\s+")
_ELLIPSIS = re.compile(r"[\W_]*(\.\s?\.\s?\.|…)[\W_]*")
_CONTINUATION = re.compile(r"\(.*\b(and so on|continu\w+|etc|up to)\b.*\)", re.IGNORECASE)
_NUMBERED = re.compile(r"\W*\d+[\W_]")
_INDEX = re.compile(r"\W*\d+\W*")
_INTEGER = re.compile(r"-?\d+")
_MAX_CHARACTERS = 2000
"""Maximum number of characters of a row."""

_CURLY = str.maketrans("“”", '""')


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a reply that looks like a row of the table, and the results of its check.

    Attributes:
        cells: the six values, in the order of `COLUMNS`; empty if the values can't be separated.
        faults: After the check, all faults (see `RowChecker`). Before the check, "columns",
            "ellipsis" or "truncated" if there are no cells; or "quotes" if the sentence has commas
            and no quotes, but the values can be separated.
        problem: the child; None if the row is refused.
        sentence: the sentence with spaces around its blank; empty if the row can't be read.
        claimed_distance: the distance that the row states; None if it is not a number.
        distance: the token edit distance to the parent's sentence.
    """

    text: str
    cells: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    problem: Problem | None = None
    sentence: str = ""
    claimed_distance: int | None = None
    distance: int = 0


def parse_rows(reply: Reply) -> list[Row]:
    r"""Return the rows in a reply, in order.

    Values may be separated by commas, tabs, semicolons or bars, and rows may be in code fences or
    a Markdown table. Headings, rules, prose and the model's thoughts are ignored. The last
    line of a reply that was cut off is "truncated", even if it looks complete: "1" may be the
    beginning of "12".

    >>> [row.cells[1] for row in parse_rows(Reply('Sure!\n1,"Ann, not Sue, _ ran.",Ann,Sue,1,2'))]
    ['Ann, not Sue, _ ran.']
    """
    text = _THOUGHT.sub("", reply.text)
    lines = [
        line
        for line in (_BULLET.sub("", line.strip()) for line in text.splitlines())
        if line and not line.startswith("```") and not _RULE.fullmatch(line[:_MAX_CHARACTERS])
    ]
    is_cut = reply.finish == "length" and text == text.rstrip("\r\n")
    cut = [Row(lines.pop(), faults=("truncated",))] if is_cut and lines else []
    return [*filter(None, map(_parse_row, lines)), *cut]


def _parse_row(line: str) -> Row | None:
    if len(line) > _MAX_CHARACTERS:
        return Row(line[:_MAX_CHARACTERS], faults=("columns",)) if "_" in line else None
    if _ELLIPSIS.fullmatch(line) or _CONTINUATION.fullmatch(line):
        return Row(line, faults=("ellipsis",))
    cells = _split_cells(line)
    if {"sentence", "option1"} <= {cell.lower().replace(" ", "") for cell in cells}:
        return None
    if _NUMBERED.match(line):
        looks_like_row = "_" in line or len(cells) > 3
    else:
        looks_like_row = len(cells) > 2 and ("_" in line or bool(_INTEGER.fullmatch(cells[-1])))
    if not looks_like_row:
        return None
    if len(cells) >= len(COLUMNS) and _ELLIPSIS.fullmatch(cells[1]):
        return Row(line, faults=("ellipsis",))
    if _is_table_row(cells):
        return Row(line, tuple(cells))
    cells = _split_unquoted(line)
    if _is_table_row(cells):
        return Row(line, tuple(cells), ("quotes",))
    return Row(line, faults=("columns",))


def _is_table_row(cells: list[str]) -> bool:
    return len(cells) == len(COLUMNS) and bool(_INDEX.fullmatch(cells[0]))


def _split_cells(line: str) -> list[str]:
    enough = len(COLUMNS) - 1
    if line.count("|") >= enough:
        return _clean_cells(line.strip("|").split("|"))
    separator = next((mark for mark in "\t;" if line.count(mark) >= enough), ",")
    found = next(csv.reader([line], delimiter=separator, skipinitialspace=True))
    if len(found) != len(COLUMNS) and ("“" in line or "”" in line):
        line = line.translate(_CURLY)
        found = next(csv.reader([line], delimiter=separator, skipinitialspace=True))
    return _clean_cells(found)


def _split_unquoted(line: str) -> list[str]:
    """Split a line whose sentence contains commas but is not quoted.

    A line with balanced quotes is not split, because such a line has a different fault.
    """
    if line.count('"') % 2 == 0 and '"' in line:
        return []
    index, *rest = line.replace('"', "").split(",")
    return _clean_cells([index, ",".join(rest[:-4]), *rest[-4:]]) if len(rest) > 4 else []


def _clean_cells(cells: list[str]) -> list[str]:
    return [cell.replace("\\_", "_").replace("**", "").strip() for cell in cells]


REPAIRED = frozenset({"quotes", "glued"})
"""Faults that are corrected without informing the model."""

CLAIMED_DISTANCE_KEY = "chat.claimed"
"""Key in `Problem.extra` of an incorrect distance that the model stated."""

_BLANKS = re.compile(r"_+")
_GLUED = re.compile(r"__|[^\s\"'“‘(]_|_\w")
_WORDS = re.compile(rf"{BLANK}|[^\W_]+")
_NUMBER = re.compile(r"[0-9]{1,9}")
_ARTICLES = {"a", "an", "the"}


@dataclass(frozen=True, slots=True)
class RowChecker:
    """Checks rows against their parent problem.

    The checker refuses rows that can't be read ("columns", "ellipsis", "truncated"), and rows with
    a fault: "blank" (none, or several), "options" (empty, equal, or with a blank), "absent" (an
    option is not in the sentence), "renamed" (an option has a new name, but the sentence still has
    the old name), "answer" (neither 1 nor 2), "far" (too many tokens are changed), "original" and
    "duplicate" (only capitals, spaces or punctuation differ). An incorrect "distance" is corrected
    or refused. "quotes" (commas without quotes) and "glued" (a blank that touches a word, as in
    EvoGrad's printed rows: "because _had") are corrected.

    Attributes:
        changed: maximum number of changed tokens, as a fraction of the parent's tokens.
    """

    parent: Problem
    changed: float
    distances: Literal["correct", "refuse"]

    def check(self, row: Row, used_sentences: frozenset[str] | set[str]) -> Row:
        """Return the row with the results of its check. The `used_sentences` must be normalised."""
        if not row.cells:
            return row
        _, sentence, first, second, answer, stated = row.cells
        # If the parent's blank touches a word, too, spaces would count as an edit.
        is_glued = _GLUED.search(sentence) and not _GLUED.search(self.parent.sentence)
        if is_glued:
            apart = re.sub(r"(?<=[^\s\"'“‘(])_|_(?=\w)", " _ ", _BLANKS.sub(BLANK, sentence))
            sentence = " ".join(apart.split())
        distance = compute_edit_distance(tokenize(self.parent.sentence), tokenize(sentence))
        claimed = int(stated) if _NUMBER.fullmatch(stated) else None
        faults = [*row.faults, *(["glued"] if is_glued else [])]
        same, options = normalize_sentence(sentence), (first, second)
        if same == normalize_sentence(self.parent.sentence):
            faults.append("original")
        elif same in used_sentences:
            faults.append("duplicate")
        else:
            faults += self._find_faults(sentence, options, answer, distance)
        if claimed != distance:
            faults.append("distance")
        repaired = REPAIRED | ({"distance"} if self.distances == "correct" else set())
        problem = None
        if repaired.issuperset(faults):
            problem = make_child(
                self.parent,
                sentence,
                options,
                int(answer) - 1,
                source="chat",
                # the distance is to the parent, so it is a depth only if the parent is a root
                declared=None if self.parent.lineage else distance,
                extra={} if claimed in (None, distance) else {CLAIMED_DISTANCE_KEY: claimed},
            )
        return replace(
            row,
            faults=tuple(faults),
            problem=problem,
            sentence=sentence,
            claimed_distance=claimed,
            distance=distance,
        )

    def _find_faults(
        self, sentence: str, options: tuple[str, str], answer: str, distance: int
    ) -> list[str]:
        faults = []
        if sentence.count(BLANK) != 1:
            faults.append("blank")
        bare = [_strip_article(option) for option in options]
        if not all(bare) or bare[0] == bare[1] or any(BLANK in option for option in options):
            faults.append("options")
        else:
            faults += self._find_option_faults(sentence, options)
        if answer not in ("1", "2"):
            faults.append("answer")
        if distance > self.changed * len(tokenize(self.parent.sentence)):
            faults.append("far")
        return faults

    def _find_option_faults(self, sentence: str, options: tuple[str, str]) -> list[str]:
        sentences = (self.parent.sentence, sentence)
        before, after = (_delimit_words(_lowercase_words(text)) for text in sentences)
        new = [_delimit_words(_strip_article(option)) for option in options]
        left = after
        for option in sorted(new, key=lambda option: -option.count("\0")):
            left = left.replace(option, _delimit_words([""]))
        found = set()
        replaced = map(_delimit_words, map(_strip_article, self.parent.options))
        for option, old in zip(new, replaced, strict=True):
            if old not in new and old in left:
                found.add("renamed")
            elif old in before and option not in after:
                found.add("absent")  # "Ann's daughter" may replace "her daughter"
        return sorted(found, reverse=True)


def normalize_sentence(sentence: str) -> str:
    """Return the sentence's words in lower case, without punctuation or extra spaces.

    >>> normalize_sentence("The cup, said Ann,  broke the _.") == normalize_sentence("the cup said Ann broke the _")
    True
    """  # noqa: E501
    return " ".join(_WORDS.findall(sentence.casefold()))


def _lowercase_words(text: str) -> list[str]:
    return [token.casefold() for token in tokenize(text)]


def _strip_article(option: str) -> tuple[str, ...]:
    cut = _lowercase_words(option)
    return tuple(cut[1:] if len(cut) > 1 and cut[0] in _ARTICLES else cut)


def _delimit_words(words: Iterable[str]) -> str:
    return "".join(f"\0{word}\1" for word in words)
