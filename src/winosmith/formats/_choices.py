"""Parse the choices in one cell: a list, labelled texts, or one text with all choices.

>>> parse_choices(["a cup", "a jug"], "choices").options
('a cup', 'a jug')
>>> parse_choices("A) a cup  B) a jug", "choices")
Choices(options=('a cup', 'a jug'), labels=('A', 'B'), correct=())
>>> parse_choices({"choices": ["a cup", "a jug"], "labels": [0, 1]}, "mc1_targets").correct
(1,)
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from winosmith.errors import ProblemError
from winosmith.formats._base import count_common_prefix
from winosmith.formats._columns import Plan, is_empty
from winosmith.formats._letters import FIRST_MARKERS, SERIES
from winosmith.formats._names import FLAGS, find_name, normalise
from winosmith.records import parse_json


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices of an item.

    Attributes:
        labels: the labels of the choices; empty if there are none.
        correct: 0-based indices of the choices that are flagged as correct; empty if none is.
    """

    options: tuple[str, ...]
    labels: tuple[str, ...] = ()
    correct: tuple[int, ...] = ()


_TEXTS = ("text", "texts", "choices", "options", "atext", "option", "choice", "answer", "content",
          "value")  # fmt: skip
_LABELS = ("label", "labels", "aid", "key", "letter", "id")

_SCORE_COLUMN = re.compile("score|target", re.IGNORECASE)
"""Columns whose numbers are scores even if the options are named a and b, as in BIG-bench."""

_QUOTED_TEXT = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL)
_MARKER = re.compile(
    r"(?P<line>(?:^|\n[ \t]*)(?:[-*•]\s+)?)?(?:(?<=[\s,;|/])|^)[(（\[]?(?P<sign>\d{1,2}|\w)"
    r"(?:\s?(?:[)．、）\]]|[.:：](?=\s))|(?<=[①-⑳])[.．]?)(?=\s*\S)"
)
"""Pattern of the letter or number before a choice in a text; `line` matches at a line's start."""

PREFIX = re.compile(
    r"\s*[(（\[]?(?:([^\W\d_])\u0640?[.):．、：）\]]\s*|(\d{1,2})(?:[)．、：）\]]\s*|[.:]\s+)|([①-⑳])[.．]?\s*)"
    r"(?=\S)"
)
"""Pattern of the letter or number before a choice: "A.", "(2)", "③", "Б)"."""


def parse_choices(value: Any, name: str, *, has_answer: bool = False) -> Choices:
    """Parse the choices in a cell of the column `name`.

    Text is parsed as JSON or as a list printed by Python or numpy, or is split at the letters or
    numbers of its choices ("A) … B) …"). If another column has the row's answer (`has_answer`), a
    mapping of letters to numbers contains choices, not scores.
    """
    if isinstance(value, str):
        if split := _split_choices(value):
            return split
        value = _parse_list(value, name)
    if isinstance(value, list | tuple):
        if {*map(type, value)} == {str}:
            return Choices(tuple(value))
        if value and all(isinstance(one, Mapping) for one in value):
            return _parse_records(value, name)
        return Choices(tuple(map(get_cell_text, _strip_trailing_none(value))))
    if isinstance(value, Mapping):
        return _parse_mapping(value, name, has_answer)
    raise ProblemError(f"{name!r} must be a list of choices, not {str(value)[:60]!r}")


def _strip_trailing_none(values: Sequence[Any]) -> Sequence[Any]:
    last = next((at for at, one in enumerate(reversed(values)) if one is not None), len(values))
    return values[: len(values) - last]


_CHOICES_HEADING = re.compile(r"\s*(?:(?:answer )?(?:options|choices)\s*:)?\s*$", re.IGNORECASE)


def split_question(text: str) -> tuple[str, Choices] | None:
    r"""Split a text into its question and choices; return None if it does not contain both.

    If each choice before the last takes one line, any lines after the last choice are ignored as an
    instruction.

    >>> split_question("Which is it? (A) a cup (B) a jug")
    ('Which is it?', Choices(options=('a cup', 'a jug'), labels=('A', 'B'), correct=()))
    >>> split_question("Which is it?\nOptions:\nA. a cup\nB. 18) a) a jug\nAnswer:")[1].options
    ('a cup', '18) a) a jug')
    """
    markers = [*_MARKER.finditer(text)]
    starts = [at for at, one in enumerate(markers) if one["sign"] in _FIRST_INSIDE]
    # Signs that begin a line come before others, which may be inside a choice.
    for at in sorted(starts[-_MAX_STARTS:], key=lambda at: (markers[at]["line"] is None, -at)):
        begin = markers[at].start()
        split = _split_choices(text, markers[at:])
        if split and text[:begin].strip() and not _is_after_choice(text, markers, at, split.labels):
            *others, last = split.options
            if not any("\n" in one for one in others):
                last = last.partition("\n")[0].rstrip()
            return _CHOICES_HEADING.sub("", text[:begin]), Choices((*others, last), split.labels)
    return None


_FIRST_INSIDE = frozenset(sign for sign in FIRST_MARKERS if sign != "1")
"""Letters and numbers that can mark the first choice in a text; "1" may start a different list."""

_MAX_STARTS = 8
"""Maximum number of possible first choices to try in one text, starting from the last."""


_SPEAKER = re.compile(r"(?:^|\n)\s*[A-Z][A-Za-z ]{0,20}: ?")
"""The speaker's name at the start of a line in a chat that is stored as one text."""


def split_chats(correct: Any, incorrect: Any) -> tuple[str, str, str] | None:
    r"""Return the common prefix of two chats and the rest of each; None if there is no prefix.

    >>> split_chats("Human: Why?\n\nAssistant: As so.", "Human: Why?\n\nAssistant: As it is.")
    ('Why?', 'As so.', 'As it is.')
    """
    one, other = get_turns(correct), get_turns(incorrect)
    if one and other:
        start = count_common_prefix([one, other])
        rests = (one[start:], other[start:])
        return (" ".join(one[:start]), rests[0][-1], rests[1][-1]) if start and all(rests) else None
    if not (isinstance(correct, str) and isinstance(incorrect, str)):
        return None
    shared = correct[: count_common_prefix([correct, incorrect])]
    speakers = list(_SPEAKER.finditer(shared))
    if len(speakers) < 2 or shared[: speakers[0].start()].strip():
        return None
    end = speakers[-1].end()
    return shared[speakers[0].end() : speakers[-1].start()].strip(), correct[end:], incorrect[end:]


def may_list_choices(cell: str) -> bool:
    return cell.lstrip().startswith(("[", "{")) or _split_choices(cell) is not None


def get_cell_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, int | float):
        return str(value)
    raise ProblemError(f"a string is required, not {str(value)[:60]!r}")


def get_turns(value: Any) -> list[str]:
    """Return the text of each turn of a chat, or an empty list for other values.

    >>> get_turns([{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}])
    ['Why?', 'So.']
    """
    if not isinstance(value, list | tuple):
        return []
    if not all(isinstance(one, Mapping) and {"role", "content"} <= one.keys() for one in value):
        return []
    return [get_cell_text(one["content"]) for one in value]


_FLAG_WORDS = {"true": True, "yes": True, "false": False, "no": False}


def find_flagged(values: Any, count: int) -> tuple[int, ...] | None:
    """Return the indices of the flags equal to 1, or None if the values are not `count` flags."""
    if not isinstance(values, list | tuple) or len(values) != count:
        return None
    if not all(isinstance(one, bool | int | float) and one in (0, 1) for one in values):
        return None
    return tuple(at for at, one in enumerate(values) if one)


def _parse_mapping(value: Mapping[Any, Any], name: str, has_answer: bool) -> Choices:
    keys = [str(key) for key in value]
    text, labels = find_name(_TEXTS, keys), find_name(_LABELS, keys)
    if text and labels and isinstance(value[text], list):
        signs = value[labels]
        if not isinstance(signs, list) or len(signs) != len(value[text]):
            raise ProblemError(f"{name!r} has different numbers of labels and texts")
        options = tuple(map(get_cell_text, _strip_trailing_none(value[text])))
        correct = find_flagged(signs := signs[: len(options)], len(options))
        return Choices(options, tuple(map(str, signs)), correct or ())
    scores = {key: one for key, one in value.items() if one is not None}
    if scores and all(isinstance(one, bool | int | float) for one in scores.values()):
        best = max(scores.values())  # {"a cup": 1, "a jug": 0}
        correct = tuple(at for at, one in enumerate(scores.values()) if one == best != 0)
        value, keys = scores, [*map(str, scores)]  # a table has the keys of all rows
        are_signs = any(keys == [*series[: len(keys)]] for series in SERIES)
        texts_may_be = are_signs and len({*value.values()}) == len(value)
        if _SCORE_COLUMN.search(name) or not (texts_may_be and (has_answer or len(value) > 2)):
            return Choices(tuple(keys), tuple(keys), correct)
    texts = tuple(map(get_cell_text, value.values()))
    while len(texts) > 2 and not texts[-1].strip():  # {"A": …, "E": …, "F": ""}
        texts = texts[:-1]
    return Choices(texts, tuple(keys[: len(texts)]))


def _parse_records(value: Sequence[Mapping[str, Any]], name: str) -> Choices:
    if all(
        one.keys() == {"output", "tags"}  # HELM's references
        and isinstance(one["output"], Mapping)
        and isinstance(one["tags"], list)
        for one in value
    ):
        outputs = ({**one["output"], "correct": "correct" in one["tags"]} for one in value)
        return _parse_records([*outputs], name)
    keys = [key for key in map(str, value[0]) if all(key in one for one in value)]
    text = find_name(_TEXTS, keys) or _find_key_by_suffix(_TEXTS, keys)
    label = find_name(_LABELS, keys) or _find_key_by_suffix(_LABELS, keys)
    if text is None:
        raise ProblemError(
            f"{name!r} must be a list of choices, each with a 'text'; it contains "
            f"{str(value[0])[:60]!r}"
        )
    labels = [one[label] for one in value] if label else []
    flags = labels
    if flag := find_name(FLAGS, keys):
        flags = [_FLAG_WORDS.get(str(one[flag]).casefold(), one[flag]) for one in value]
    correct = find_flagged(flags, len(value))
    if correct is not None and flags == labels and len({*map(str, labels)}) < len(labels):
        labels = []  # MultiRC's {"text": …, "label": 1}
    return Choices(
        tuple(get_cell_text(one[text]) for one in value), tuple(map(str, labels)), correct or ()
    )


def _find_key_by_suffix(wanted: Sequence[str], keys: Sequence[str]) -> str | None:
    """Return the first key that ends in a wanted word, such as "text" in `option_text`."""
    return next((key for key in keys if re.split(r"[\W_]+", key.casefold())[-1] in wanted), None)


def _parse_list(cell: str, name: str) -> Any:
    for read in (parse_json, lambda text: ast.literal_eval(_insert_commas(text))):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            if isinstance(value := read(cell.strip()), list | tuple | dict):
                return value
    raise ProblemError(
        f"{name!r} must be a list of choices, not {cell[:60]!r}; write a JSON list, or "
        "name a column for each choice"
    )


def _insert_commas(cell: str) -> str:
    """Insert the commas that numpy omits between the texts of a list.

    >>> _insert_commas("array(['a cup' 'a jug'], dtype=object)")
    "['a cup','a jug']"
    """
    parts = _QUOTED_TEXT.split(cell)  # texts are at odd places
    between = [re.sub(r"array\(|,\s*dtype=\w+\)", "", part) for part in parts[::2]]
    between[1:-1] = [part if part.strip() else "," for part in between[1:-1]]
    parts[::2] = between
    return "".join(parts)


def _split_choices(text: str, markers: Sequence[re.Match[str]] | None = None) -> Choices | None:
    """Split a text into choices at their letters or numbers, or return None if it is ambiguous.

    A letter is part of a choice if it doesn't continue the series, or if it is inside a line and
    every choice starts a line. The first choice is at `markers[0]`, by default at the start of the
    text.

    >>> _split_choices("a ) 38 , b ) 27.675 , c ) none")
    Choices(options=('38', '27.675', 'none'), labels=('a', 'b', 'c'), correct=())
    >>> _split_choices("A) (M) 10. B) 18) iron").options, _split_choices("A) vitamin A) B) iron")
    (('(M) 10.', '18) iron'), None)
    """
    if markers is None:
        markers = [*_MARKER.finditer(text)]
        if not markers or text[: markers[0].start()].strip():
            return None
    series_list = [one for one in SERIES if markers[0]["sign"] == one[0]]
    lines = [one for one in markers if one["line"] is not None]
    for some in (lines, markers) if markers[0] in lines else (markers,):
        found = max((_find_series(series, some) for series in series_list), key=len, default=[])
        signs = [one["sign"] for one in some]
        if some is lines and any(sorted(signs) == sorted(own[: len(signs)]) for own in SERIES):
            found = lines  # in any order
        labels = tuple(one["sign"] for one in found)
        if some is lines and _continues(labels, signs):
            return None
        if len(found) > 1 and sum(one["sign"] in labels for one in some) == len(found):
            ends = [*(one.start() for one in found[1:]), len(text)]
            texts = (text[one.end() : end] for one, end in zip(found, ends, strict=True))
            return Choices(tuple(one.strip().rstrip(",;|").rstrip() for one in texts), labels)
    return None


def _is_after_choice(
    text: str, markers: Sequence[re.Match[str]], at: int, labels: Sequence[str]
) -> bool:
    """Return whether the line before a marker is a choice, as if the choices begin with D.

    A letter in the first line, or before other lines, is part of the question ("E. coli").
    """
    if not at or markers[at - 1]["line"] is None:
        return False
    before, first = markers[at - 1 : at + 1]
    has_question = text[: before.start()].strip()
    is_one_line = "\n" not in text[before.end() : first.start()].strip()
    styles = {one[0].strip().replace(one["sign"], "", 1) for one in (before, first)}
    return bool(
        has_question and is_one_line and len(styles) == 1 and _continues(labels, [before["sign"]])
    )


def _continues(labels: Sequence[str], signs: Iterable[str]) -> bool:
    """Return whether another sign is one of the next three of the labels' series."""
    following = (own[len(labels) : len(labels) + 3] for own in SERIES if labels[:1] == (own[0],))
    return not ({*signs} - {*labels}).isdisjoint(sign for some in following for sign in some)


def _find_series(series: Sequence[str], markers: Iterable[re.Match[str]]) -> list[re.Match[str]]:
    rest = iter(markers)
    found = (next((one for one in rest if one["sign"] == sign), None) for sign in series)
    return [one for one in found if one]


def make_several_correct_error(answers: Sequence[Any]) -> ProblemError:
    return ProblemError(
        f"the question has {len(answers)} correct answers ({str(list(answers))[:60]}); keep only "
        "one of them, or write a separate question for each"
    )


def shuffle_by_hash(
    question: str, correct: Any, cells: Sequence[Any], plan: Plan
) -> tuple[tuple[str, ...], int]:
    """Sort the correct answer and the distractors by a hash, and return the answer's index."""
    distractors = cells if len(cells) > 1 else _parse_distractors(cells[0], plan.distractors[0])
    if isinstance(correct, str) and normalise(plan.answer or "").endswith("s"):
        correct_texts = _parse_distractors(correct, plan.answer or "")
    else:
        listed = correct if isinstance(correct, list | tuple) else [correct]
        correct_texts = get_turns(correct)[-1:] or listed
    if len(correct_texts) > 1:
        raise make_several_correct_error(correct_texts)
    texts = [get_cell_text(correct_texts[0] if correct_texts else None)]
    texts += [get_cell_text(one) for one in distractors if not is_empty(one)]
    if not texts[0].strip():
        raise ProblemError(f"the row has no {plan.answer!r}")

    def hash_text(text: str) -> bytes:
        return hashlib.sha256(f"{question}\n{text}".encode("utf-8", "surrogatepass")).digest()

    options = tuple(sorted(texts, key=hash_text))
    return options, options.index(texts[0])


def _parse_distractors(cell: Any, name: str) -> Sequence[Any]:
    if turns := get_turns(cell):
        return turns[-1:]
    if not isinstance(cell, str):
        return parse_choices(cell, name).options
    if not normalise(name).endswith("s"):  # one text, even if it contains numbered steps
        try:
            return parse_choices(cell, name).options if cell.lstrip()[:1] in ("[", "{") else [cell]
        except ProblemError:  # "[Name], …"
            return [cell]
    if may_list_choices(cell):
        return parse_choices(cell, name).options
    return [one.strip() for one in cell.split(";")]  # TruthfulQA's "Incorrect Answers"
