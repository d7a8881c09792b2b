"""Find the parts of items that occur in a collection of texts, such as a model's training data.

If the texts contain a sequence of words from a question, a model may know the item. An option that
occurs in the texts shows nothing, because other options may occur there, too. Therefore, cues
select the option that occurs most often, and the audit compares them with their null.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winosmith import formats
from winosmith.audit._cues import Cue, View
from winosmith.dataset import Dataset
from winosmith.errors import FormatError
from winosmith.problem import Problem
from winosmith.records import parse_json
from winosmith.results import HIDDEN, Result
from winosmith.text import detect_script

SPAN = 8
"""Number of consecutive question words that are unlikely to occur in a text by chance. Others use 8
to 13 words. See Touvron et al. (2023, section A.6: 10 tokens, for Llama 2) and Brown et al. (2020,
appendix C)."""

MIN_WORDS = 4
"""Minimum number of words that a question must have to be searched for."""

_WORDS_PER_PIECE = 2_000
"""Number of words in each piece of a long text, in addition to the last `SPAN` words of the piece
before. A question and its key must occur in the same piece."""

_MAX_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Overlap(Result):
    """The questions and options of a split that occur in a collection of texts.

    Attributes:
        pieces: number of texts, after splitting long texts.
        words: number of words in the texts.
        checked_count: number of items whose question was searched for, because it has a sequence of
            words that no other question of the data set has.
        unread_ids: ids of items that were not searched for, because no spaces separate their words.
        found_questions: the matching words of each question that was found, by the item's id.
        option_counts: the number of pieces that contain each option of an item, by the item's id.
        joint_option_counts: the number of pieces that contain an option and its question, by the
            item's id.
    """

    pieces: int = field(metadata={"key": "texts"})
    words: int
    checked_count: int = field(metadata={"key": "questions_checked"})
    unread_ids: frozenset[str] = field(metadata={"key": "items_unread", "json": len})
    found_questions: Mapping[str, str] = field(
        metadata={
            "key": "questions_found",
            "json": lambda matches: {
                "count": len(matches),
                "examples": [{"id": i, "words": w} for i, w in [*matches.items()][:_MAX_EXAMPLES]],
            },
        }
    )
    option_counts: Mapping[str, tuple[int, ...]] = field(metadata=HIDDEN)
    joint_option_counts: Mapping[str, tuple[int, ...]] = field(metadata=HIDDEN)
    items: Mapping[tuple[str, tuple[str, ...]], str] = field(metadata=HIDDEN)

    @property
    def cues(self) -> tuple[Cue, ...]:
        """Cues that select the option that occurs most often in the texts."""
        count = self._make_count_scorer(self.option_counts)
        count_with_question = self._make_count_scorer(self.joint_option_counts)
        return (
            Cue("the most often in the texts", count, needs="any"),
            Cue("the most often in a text with its question", count_with_question, needs="any"),
        )

    def _make_count_scorer(self, counts: Mapping[str, tuple[int, ...]]) -> Any:
        def score(view: View) -> Sequence[float]:
            name = self.items.get((view.question, view.options))
            return [0.0] * len(view.options) if name is None else [*map(float, counts[name])]

        return score

    def count_found_options(self, dataset: Dataset) -> tuple[tuple[int, int], tuple[int, int]]:
        """Count the keys and the other options that occur in the texts.

        Returns:
            The numbers of keys found and searched for, and the same numbers for other options.
        """
        keys: list[bool] = []
        others: list[bool] = []
        for problem in dataset:
            counts = () if problem.id in self.unread_ids else self.option_counts.get(problem.id, ())
            for at, count in enumerate(counts):
                if View.split_words(problem.options[at]):
                    (keys if at == problem.answer else others).append(count > 0)
        return (sum(keys), len(keys)), (sum(others), len(others))


def find_overlap(
    splits: Mapping[str, Dataset | formats.Readable], texts: str | Path | Iterable[str | Path]
) -> dict[str, Overlap]:
    """Search a collection of texts for questions and options, reading it in pieces.

    A question is found if a text contains `SPAN` consecutive words of it; a shorter question of at
    least `MIN_WORDS` words must occur as a whole. Sequences that occur in the questions of several
    items are not searched for. An option is found if its first `SPAN` words occur in sequence. Case
    and punctuation are ignored. Items without spaces between words are not searched for.

    Args:
        splits: data sets, or other inputs of `formats.read`, by name.
        texts: paths of JSON Lines files (the field `text` of each record or, without this field,
            all strings) or of plain text files (with pieces separated by empty lines). Files may be
            gzipped (`.gz`).

    Raises:
        FormatError: a file can't be read.
    """
    splits, sought = formats.as_splits(splits), _Search()
    for name, dataset in splits.items():
        for problem in dataset:
            sought.add_problem(name, problem)
    sought.prepare()
    for path in [texts] if isinstance(texts, str | Path) else texts:
        for text in _read_texts(Path(path)):
            words = View.split_words(text)
            for start in range(0, len(words), _WORDS_PER_PIECE):
                sought.search_piece(words[max(0, start - SPAN) : start + _WORDS_PER_PIECE])
    return {name: sought.build_result(name, dataset) for name, dataset in splits.items()}


_Key = tuple[str, str]
"""Name of a split and id of an item."""


class _Search:
    def __init__(self) -> None:
        self.pieces = self.words = 0
        self.asked: dict[str, set[_Key]] = defaultdict(set)
        self.options: dict[str, list[tuple[_Key, int]]] = defaultdict(list)
        self.checked: dict[_Key, str] = {}
        self.found: dict[_Key, str] = {}
        self.counts: Counter[tuple[_Key, int]] = Counter()
        self.together: Counter[tuple[_Key, int]] = Counter()
        self.lengths: dict[str, tuple[int, ...]] = {}
        self.unread: set[_Key] = set()

    def add_problem(self, split: str, problem: Problem) -> None:
        key = (split, problem.id)
        if detect_script(" ".join((problem.sentence, *problem.options))) == "unspaced":
            self.unread.add(key)
            return
        for part in (problem.before, problem.after):
            words = View.split_words(part)
            span = min(SPAN, len(words))
            if span >= MIN_WORDS:
                self.checked[key] = " ".join(View.split_words(problem.sentence))
                for at in range(len(words) - span + 1):
                    self.asked[" ".join(words[at : at + span])].add(key)
        for at, option in enumerate(problem.options):
            if words := View.split_words(option)[:SPAN]:
                self.options[" ".join(words)].append((key, at))

    def prepare(self) -> None:
        """Drop the sequences that several questions share, and index the others."""
        self.asked = {
            run: keys
            for run, keys in self.asked.items()
            if len({self.checked[key] for key in keys}) == 1
        }
        searched = {key for keys in self.asked.values() for key in keys}
        self.checked = {key: text for key, text in self.checked.items() if key in searched}
        lengths: dict[str, set[int]] = defaultdict(set)
        for run in (*self.asked, *self.options):
            words = run.split(" ")
            lengths[" ".join(words[:2])].add(len(words))
        self.lengths = {start: tuple(sorted(found)) for start, found in lengths.items()}

    def search_piece(self, words: Sequence[str]) -> None:
        self.pieces += 1
        self.words += len(words)
        asked: set[_Key] = set()
        options: set[tuple[_Key, int]] = set()
        for at, word in enumerate(words):
            starts = (word, f"{word} {words[at + 1]}") if at + 1 < len(words) else (word,)
            for start in starts:
                for length in self.lengths.get(start, ()):
                    run = start if length <= 2 else " ".join(words[at : at + length])
                    options.update(self.options.get(run, ()))
                    for key in self.asked.get(run, ()):
                        asked.add(key)
                        self.found.setdefault(key, run)
        self.counts.update(options)
        self.together.update(one for one in options if one[0] in asked)

    def build_result(self, name: str, dataset: Dataset) -> Overlap:
        def group_by_id(counts: Counter[tuple[_Key, int]]) -> dict[str, tuple[int, ...]]:
            return {
                p.id: tuple(counts[(name, p.id), at] for at in range(len(p.options)))
                for p in dataset
            }

        return Overlap(
            self.pieces,
            self.words,
            sum((name, problem.id) in self.checked for problem in dataset),
            frozenset(problem.id for problem in dataset if (name, problem.id) in self.unread),
            {p.id: self.found[name, p.id] for p in dataset if (name, p.id) in self.found},
            group_by_id(self.counts),
            group_by_id(self.together),
            {(problem.sentence, problem.options): problem.id for problem in dataset},
        )


def _read_texts(path: Path) -> Iterator[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", errors="replace", newline="\n") as file:
            paragraph: list[str] = []
            records: bool | None = None
            for number, line in enumerate(file, 1):
                if records is None and line.strip():
                    records = line.lstrip().startswith("{")
                if records and line.strip():
                    yield _extract_text(line, path, number)
                elif line.strip() and len(paragraph) < _WORDS_PER_PIECE:
                    paragraph.append(line)
                elif paragraph:
                    yield "".join(paragraph)
                    paragraph = [line]
            yield "".join(paragraph)
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError(f"the texts can't be read: {error}", path) from None


def _extract_text(line: str, path: Path, number: int) -> str:
    try:
        record = parse_json(line)
    except ValueError as error:
        raise FormatError(f"the line is not JSON ({error})", path, number) from None
    text = record.get("text") if isinstance(record, dict) else None
    return text if isinstance(text, str) else "\n".join(_iter_strings(record))


def _iter_strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for inside in value.values() if isinstance(value, Mapping) else value:
            yield from _iter_strings(inside)
    elif value is not None and not isinstance(value, bool):
        yield json.dumps(value)
