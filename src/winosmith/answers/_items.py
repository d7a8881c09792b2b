"""Rows of a log, and an index that finds each row's item by its words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from winosmith import formats
from winosmith.data import Place
from winosmith.dataset import Dataset
from winosmith.problem import Problem

_MAX_COMPARED = 50
"""Maximum number of items with identical options to which a row is compared."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a log: the item that the model was asked, and the model's answer.

    Attributes:
        place: the item's location in the log; None if the log is one document.
        id: the item's id in the log.
        question: the question; empty if it is known only as part of `text`.
        options: the options in the log's order; empty if they are known only as part of `text`.
        text: the whole prompt.
        reply: the text of the answer, or the index of an option in the log's order; None if the
            model was not asked, or if its scores can't be assigned to the options.
        scores: the options' scores in the log's order; empty if there are none.
        target: the log's key, as written or as an index in the log's order; None if missing.
        key: the index of the key in the log's copy of the item; None if missing.
        correct: the harness's verdict; None if missing.
    """

    place: Place | None
    id: str
    question: str
    options: tuple[str, ...]
    text: str
    reply: str | int | None
    scores: tuple[float, ...] = ()
    target: str | int | None = None
    key: int | None = None
    correct: bool | None = None


class Items:
    """An index of items by text, in which ids only break ties between matching items."""

    def __init__(self, dataset: Dataset):
        self.dataset = dataset
        self.by_options: dict[tuple[str, ...], list[Problem]] = defaultdict(list)
        self.by_text: dict[tuple[str, tuple[str, ...]], list[Problem]] = defaultdict(list)
        self.by_id = {problem.id: problem for problem in dataset}
        for problem in dataset:
            options = tuple(sorted(map(normalise, problem.options)))
            self.by_options[options].append(problem)
            self.by_text[normalise(problem.sentence), options].append(problem)

    def find(self, row: Row) -> list[Problem]:
        """Return a row's item, or all duplicates of the item, or no items if none matches."""
        same_id = self.by_id.get(row.id)
        if not row.options:
            if same_id is None or row.target is None or row.target != same_id.answer:
                return []
            return [same_id] if _has_item(normalise(row.text), same_id) else []
        options = tuple(sorted(map(normalise, row.options)))
        if matches := self.by_text.get((normalise(row.question), options)):
            return [same_id] if same_id in matches else matches
        candidates = self.by_options.get(options, [])
        if len(candidates) == 1 and candidates[0] is same_id:
            return candidates
        if len(candidates) > _MAX_COMPARED:
            candidates = [one for one in candidates if one is same_id]
        text = normalise(row.text)
        matches = [one for one in candidates if _has_question(text, one)]
        return matches if len(matches) == 1 else [one for one in matches if one is same_id]

    def find_in_prompt(self, prompt: str) -> tuple[str, tuple[str, ...]]:
        """Return the last item's question, and its options in the order of the prompt.

        If the prompt contains no item, the prompt and no options are returned.
        """
        text = normalise(prompt)
        words = {*_split_words(text)}
        candidates = {
            id(one): one for word in words for one in self._items_by_rarest_word.get(word, ())
        }
        matches = [one for one in candidates.values() if _has_item(text, one)]
        if not matches:
            return prompt, ()
        listed = {one.id: order_options(prompt, one) for one in matches}
        item = max(matches, key=lambda one: (*_locate_question_end(text, one),
                   len(listed[one.id]), sum(map(len, listed[one.id]))))  # fmt: skip
        return item.sentence, listed[item.id] or item.options

    @cached_property
    def _items_by_rarest_word(self) -> dict[str, list[Problem]]:
        """Map each word to the items in whose question and options it is the rarest word."""
        words = [
            {*_split_words(normalise(" ".join((one.sentence, *one.options))))}
            for one in self.dataset
        ]
        counts = Counter(word for item_words in words for word in item_words)
        by_rarest: dict[str, list[Problem]] = defaultdict(list)
        for problem, item_words in zip(self.dataset, words, strict=True):
            if item_words:
                by_rarest[min(item_words, key=lambda word: (counts[word], word))].append(problem)
        return by_rarest


def look_up(record: Any, *keys: str | int) -> Any:
    """Return a value inside nested objects and lists, or None if it is missing.

    >>> look_up({"eval": {"models": ["m"]}}, "eval", "models", 0)
    'm'
    """
    for key in keys:
        try:
            record = record[key]
        except (KeyError, IndexError, TypeError):
            return None
    return record


def normalise(text: str) -> str:
    return " ".join(text.split()).casefold()


def number_repeats(options: Sequence[str]) -> tuple[str, ...]:
    """Return options that all differ: an option equal to an earlier one gets a number."""
    times = [options[:at].count(one) for at, one in enumerate(options)]
    return tuple(f"{one} \0{n}" if n else one for one, n in zip(options, times, strict=True))


def order_options(prompt: str, problem: Problem) -> tuple[str, ...]:
    """Return the options in the order in which a prompt lists them with letters or numbers.

    The result is empty if the prompt contains no such list.

    >>> order_options("Who? A) ann B) bob", Problem("q", "Who?", ("bob", "ann"), blank=None))
    ('ann', 'bob')
    """
    for change in (str, str.casefold):  # options may differ only in case
        text, sentence, *options = (
            change(" ".join(one.split())) for one in (prompt, problem.sentence, *problem.options)
        )
        start = max(0, text.rfind(sentence))
        lists_all = all(text.find(option, start) >= 0 for option in options)
        for first in _FIRST_MARK.finditer(text, start) if lists_all else ():
            if order := _find_order(text, first.start(), options, ()):
                return tuple(problem.options[at] for at in order)
    return ()


_FIRST_MARK = re.compile(r"\b\w\b")
_MARK = re.compile(r"\W{0,5}(\w)\W{1,5}")
"""A letter or digit between signs, which marks an option in a list."""


def _find_order(
    text: str, start: int, options: Sequence[str], order: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the options' order in a list whose first options are `order`, or () if it ends."""
    if len(order) == len(options):
        return order
    if (mark := _MARK.match(text, start)) is None:
        return ()
    letter = formats.parse_letter(mark[1])
    if len(order) not in (letter.positions.values() if letter else (ord(mark[1]) - ord("1"),)):
        return ()
    places = ((at, option) for at in range(mark.end(1) + 1, mark.end() + 1)
              for option in range(len(options)) if option not in order)  # fmt: skip
    for at, option in places:
        end = at + len(options[option])
        is_next = text.startswith(options[option], at)
        if is_next and (found := _find_order(text, end, options, (*order, option))):
            return found
    return ()


def _has_question(text: str, problem: Problem) -> bool:
    parts = (problem.sentence,) if problem.blank is None else (problem.before, problem.after)
    return all(normalise(part) in text for part in parts)


def _locate_question_end(text: str, problem: Problem) -> tuple[int, int]:
    last = normalise(problem.sentence if problem.blank is None else problem.after or problem.before)
    return text.rfind(last) + len(last), len(problem.sentence)


def _has_item(text: str, problem: Problem) -> bool:
    return _has_question(text, problem) and all(normalise(one) in text for one in problem.options)


def _split_words(text: str) -> Iterator[str]:
    for word in text.split():
        yield word.strip(".,:;!?()[]\"'“”’")
