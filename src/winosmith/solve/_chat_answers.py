"""The option that a free text means."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from winosmith.problem import BLANK

__all__ = ["parse_answer"]

_ORDINALS = (
    ("1", "one", "first", "1st", "a", "former"),
    ("2", "two", "second", "2nd", "b", "latter"),
    ("3", "three", "third", "3rd", "c"),
    ("4", "four", "fourth", "4th", "d"),
    ("5", "five", "fifth", "5th", "e"),
)
"""The names of the places; "former" and "latter" are those of two."""

_PLACES = {name: place for place, names in enumerate(_ORDINALS) for name in names}
_NAME = "|".join(sorted(_PLACES, key=len, reverse=True))

_THING = r"(?:option|choice|answer|one)"
_LABEL = rf"(?:option|choice|answer|number|no\.|#)\s*[#:]?\s*\(?({_NAME})\b\)?"
_NTH = r"(?:the\s+)?(first|second|third|fourth|fifth|1st|2nd|3rd|4th|5th|former|latter)\b"
_LABELLED = re.compile(rf"\b{_LABEL}|\b{_NTH}\s+{_THING}\b|\bthe\s+(former|latter)\b")
_HEAD = re.compile(rf"(?:the\s+)?(?:{_LABEL}|{_NTH}|\(?({_NAME})\b\)?)(?:\s+{_THING}\b)?")
"""A place at the beginning of a line: labelled, as an ordinal, or by its name alone."""

_SET_OFF = re.compile(
    r"\W*$|\s*[.,:;=)\]}!–—-]|\s+\(?(?:because|since|as|explanation|reason)\b|\s+is\s+(?!not\b|wrong\b|incorrect\b)"
)
"""What may follow an answer."""

_CHOOSE = r"\bi(?:'d| would| will|'ll)? (?:choose|pick|select|go with|say)\b"
_MARK = re.compile(
    rf"\b(?:answer|blank|word|solution|result|(?:option|choice)(?!\W*(?:{_NAME})\b))\b[^.:\n]{{0,40}}?"
    r"(?:\b(?:is|must be|should be|would be)\b|:|=|\bwith\b)\s*"
    rf"|{_CHOOSE}:?\s*|\\boxed\s*"
)
"""What announces an answer."""

_PRAISE = re.compile(
    r"\s*(?:\([^)]*\)\s*)?(?:(?:would|clearly|best|better|logically)\s+)*"
    r"(?:fits?|belongs?|makes? (?:more|most|better|the most) sense"
    r"|(?:is|seems|be) (?:clearly )?(?:the )?(?:more |most )?"
    r"(?:correct|right|best|better|answer|logical|(?:good|best|better) fit))\b(?! not\b)"
)
"""What says, after an option, that it is the answer."""

_NOT = re.compile(
    r"(?:\bnot|n't|\bnor|\bneither|\bcannot|\bnever|\bthan|\binstead of|\bexcept|\bunlike"
    r"|\bexcludes?|\brules? out|\bwrong:?)\s+(?:be\s+)?(?:the\s+|an?\s+)?$"
)
"""What denies the words after it."""

_IS_NOT = re.compile(
    r"\s*(?:\([^)]*\)\s*)?(?:\w+(?:n't\b|\s+not\b)|(?:is|seems)\s+(?:wrong|incorrect))"
)
"""What denies the place before it."""

_SPEAKER = re.compile(r"^(?:assistant|output|response|reply|final answer|sure)\s*[:=!,]\s*")
_THOUGHT = re.compile(r"^.*</think(?:ing)?>", re.DOTALL)
_AFTER = 3
"""Words around a blank that show it filled."""

_CLAUSE = 500
"""Characters after an announcement in which the answer stands."""


def parse_answer(text: str, options: Sequence[str], sentence: str = "") -> int | None:
    """Return the index of the option, as shown, that a text means; None when it isn't clear.

    The first of these that says something decides, and what contradicts itself ("Option 1: Maria"
    where Maria is the second) says nothing:

    1. after the last "answer is", "I choose", or the like;
    2. a line that is the option's number, letter, place or own words, and no more;
    3. the beginning of the first line, with an explanation after it;
    4. an option that is said to fit, or to make more sense;
    5. the sentence, or the words around its blank, with an option filled in;
    6. the one option that is named at all, if it isn't denied ("not Maria").

    What a model thinks aloud (`<think>…</think>`) is passed over; a thought that was cut off is
    no answer.

    Args:
        text: what the model said.
        options: in the order in which they were shown.
        sentence: with its blank.

    >>> [parse_answer(said, ("Ann", "Sue")) for said in ("2", "Option 1: Ann", "**Sue**, as …")]
    [1, 0, 1]
    >>> parse_answer("It could be Ann or Sue.", ("Ann", "Sue")) is None
    True
    """
    text = _THOUGHT.sub("", text)
    if "<think" in text:
        return None
    said = _plain(text)
    known = [_plain(option) or "\0" for option in options]  # what is all marks is never said
    for reading in (_announced, _alone, _first, _praised, _filled, _named):
        found = set(reading(said, known, _plain(sentence, keep=BLANK)))
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def _plain(text: str, keep: str = "") -> str:
    """Return text in small letters, with plain quotes, without markdown's stars and quotes."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = re.sub(r"[‘’`´]", "'", text)
    marks = "*_" if not keep else "*"
    text = re.sub(rf"[{marks}\"“”«»$]|\\(?:text|mathrm)\b|(?<!\w)'|'(?!\w)", "", text)
    return "\n".join(re.sub(r"[ \t\xa0]+", " ", line).strip(" #>-•") for line in text.split("\n"))


def _announced(said: str, known: Sequence[str], sentence: str) -> Iterator[int]:
    """Yield what follows the last announcement that is followed by an answer."""
    for mark in reversed(list(_MARK.finditer(said))):
        rest = re.split(
            r"\n\s*\n|(?<=[.!?])\s", said[mark.end() : mark.end() + _CLAUSE].lstrip(), maxsplit=1
        )[0]
        found = {option for option, _ in _at_head(rest, known)}
        if found:
            yield from found
            return


def _alone(said: str, known: Sequence[str], sentence: str) -> Iterator[int]:
    for line in said.splitlines():
        yield from (option for option, rest in _at_head(line, known) if not rest)


def _first(said: str, known: Sequence[str], sentence: str) -> Iterator[int]:
    """Yield what the first line begins with, and what labelled lines after it contradict."""
    first, *others = [line for line in said.splitlines() if line.strip()] or [""]
    yield from (option for option, _ in _at_head(first, known))
    for line in others:
        if re.match(_LABEL, line):
            yield from (option for option, _ in _at_head(line, known))


def _praised(said: str, known: Sequence[str], sentence: str) -> Iterator[int]:
    flat = " ".join(said.split())
    yield from (option for option, end in _mentions(flat, known) if _PRAISE.match(flat, end))


def _at_head(line: str, known: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the options that the beginning of a line means, with the words after them."""
    line = _SPEAKER.sub("", line.strip(" {[("))
    by_words = list(_words_first(line, known))
    head = _HEAD.match(line)
    place = _PLACES[next(filter(None, head.groups()))] if head else len(known)
    if head is None or place >= len(known) or not _SET_OFF.match(line[head.end() :]):
        yield from by_words
        return
    if any(not rest for _, rest in by_words):
        yield from by_words  # an option that is a number: it means both
    rest = re.sub(r"^[\W_]*(?:is\s+)?", "", line[head.end() :])
    more = list(_words_first(rest, known))
    yield place, more[0][1] if more else rest
    yield from more


def _words_first(line: str, known: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the longest option with whose own words a line begins, and the words after it."""
    line, bare = _no_article(line), [_no_article(option) for option in known]
    fits = [i for i, words in enumerate(bare) if re.match(re.escape(words) + r"(?!\w)", line)]
    if not fits:
        return
    longest = max(fits, key=lambda i: len(bare[i]))
    rest = line[len(bare[longest]) :]
    if _SET_OFF.match(rest):
        yield longest, re.sub(r"^\W+", "", rest)


def _no_article(text: str) -> str:
    return re.sub(r"^(?:the|a|an)\s+", "", text)


def _filled(said: str, known: Sequence[str], sentence: str) -> Iterator[int]:
    """Yield the options with which the sentence, or the words around its blank, are there."""
    if BLANK not in sentence:
        return
    flat = " ".join(said.split())
    before, after = (part.split() for part in sentence.split(BLANK, 1))
    for option, words in enumerate(known):
        near = " ".join((*before[-_AFTER:], words, *after[:_AFTER]))
        if re.search(rf"(?<!\w){re.escape(near.replace(' .', '.'))}(?!\w)", flat):
            yield option


def _named(said: str, known: Sequence[str], sentence: str) -> Iterator[int]:
    flat = " ".join(said.split())
    yield from (option for option, _ in _mentions(flat, known))


def _mentions(flat: str, known: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield every option that is named, by its words or its place, and not denied, and where."""
    left = flat
    for option in sorted(range(len(known)), key=lambda i: -len(known[i])):
        words = re.compile(rf"(?<!\w){re.escape(_no_article(known[option]))}(?:s|'s)?(?!\w)")
        for match in words.finditer(left):
            if not _denied(flat, match.start()):
                yield option, match.end()
        left = words.sub(lambda match: "\0" * len(match.group()), left)  # not again in a shorter
    for match in _LABELLED.finditer(flat):
        place = _PLACES[next(filter(None, match.groups()))]
        denied = _denied(flat, match.start()) or _IS_NOT.match(flat, match.end())
        if place < len(known) and not denied:
            yield place, match.end()


def _denied(flat: str, at: int) -> bool:
    return _NOT.search(flat[max(0, at - 40) : at]) is not None
