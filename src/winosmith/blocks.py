"""Group problems that must stay together into blocks.

Twins, families and copies of a sentence form *blocks*. Splits (`winosmith.splits`) and random draws
keep blocks whole, so that no split reveals the contents of another. *Copies* are identical problems
in a block, which count as one observation.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count, filterfalse, islice
from typing import TYPE_CHECKING

from winosmith.dataset import Dataset, group_rows
from winosmith.errors import DataError
from winosmith.problem import BLANK, Problem
from winosmith.text import fold, normalize, number_words, remove_invisible, split_pieces, tokenize

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from winosmith.lookalikes import Ints, PairCollector

MIN_OVERLAP = 0.7
"""Minimum fraction of words that the halves of a twin share (WinoGrande, section 2)."""

MIN_OVERLAP_UNIQUE = 0.4
"""Minimum fraction of shared words if no third text has the same options. It finds 635 of DPR's 661
training twins without using ids, and 0.7 finds 302. In WinoGrande's train_s, dev and test without
ids (3,674 problems), it joins 2 pairs across splits that are not twins, and 0.3 would join 9."""


_PUNCTUATION = r"""[.,;:!?'"()\[\]{}«»¿¡*`、。〈-】·‐-‧‹›-]++"""
_MARKS = re.compile(rf"</?[a-z]+>|(?<!\d){_PUNCTUATION}|{_PUNCTUATION}(?!\d)")
"""Tags, and punctuation that is not between digits."""

_ARTICLE = re.compile(r"\s*(?:the|an?)\s+")


def find_blocks(dataset: Dataset, *, lookalikes: bool = True) -> list[list[int]]:
    """Return the rows of each block, in an order that reveals no answers.

    Two problems share a block in each of these cases:

    - They share a twin or a family.
    - Their sentences have the same letters and digits. Case, accents, alphabet, spaces,
      punctuation and markup are ignored.
    - They look like a twin without a common id (only with `lookalikes`).

    Look-alikes have the same options, also ignoring articles, and share 70 % of their words. These
    rules are relaxed if one of the two problems has no twin id. If no third text has the same
    options, 40 % is enough. If no third text has all the other options, one option may differ or be
    added. Blocks are transitive.

    >>> pair = [Problem("a", "A _ b.", ("x", "y"), 0, "t"), Problem("b", "B _ c.", ("x", "y"), 1, "t")]
    >>> [sorted(block) for block in find_blocks(Dataset([*pair, Problem("c", "b _ C.", ("x", "z"))]))]
    [[0, 1, 2]]
    """  # noqa: E501
    forest = _Forest(len(dataset))
    first: dict[tuple[str, str], int] = {}
    for rows in _group_repeats(_extract_letters(problem.sentence) for problem in dataset):
        for row in rows:
            forest.join(row, rows[0])
    for row, problem in enumerate(dataset):
        forest.join(row, first.setdefault(("family", problem.root), row))
        if problem.twin_id is not None:
            forest.join(row, first.setdefault(("twin", problem.twin_id), row))
    if not lookalikes:
        return forest.list_trees()
    # One pair is enough to join two blocks. Rows of the same block, such as a large family with the
    # same options, are therefore not compared.
    problems = dataset.problems
    options = [_normalize_options(problem) for problem in problems]
    for rows, words in _iter_mixed_groups(problems, _group_repeats(options), forest.root):
        share = MIN_OVERLAP_UNIQUE if _may_be_twin(problems, rows, words) else MIN_OVERLAP
        _find_similar(words, _UnjoinedRows(forest, rows), [forest.root(row) for row in rows], share)
    changed: dict[frozenset[str], list[int]] = {}
    for row, held in enumerate(options):
        for less in ({}, *({option} for option in held if len(held) > 1)):
            changed.setdefault(frozenset(held) - {*less}, []).append(row)
    for rows, words in _iter_mixed_groups(problems, changed.values(), forest.root):
        if _may_be_twin(problems, rows, words):
            _find_similar(words, _UnjoinedRows(forest, rows), [forest.root(row) for row in rows])
    return forest.list_trees()


class _Forest:
    """A union-find structure over the integers below `count`."""

    def __init__(self, count: int):
        self._parent = list(range(count))

    def root(self, number: int) -> int:
        """Return the root of a number's tree, which is its smallest number."""
        parent = self._parent
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    def join(self, first: int, second: int) -> None:
        first, second = self.root(first), self.root(second)
        self._parent[max(first, second)] = min(first, second)

    def list_trees(self) -> list[list[int]]:
        """Return the trees as lists of numbers, all in ascending order."""
        return list(group_rows(map(self.root, range(len(self._parent)))).values())


def _may_be_twin(
    problems: Sequence[Problem], rows: Sequence[int], words: Sequence[frozenset[str]]
) -> bool:
    """Return whether rows have two distinct texts, one of them without a twin id.

    If both texts have a twin id, a filter may have removed another text with these options.
    """
    return len({*words}) == 2 and any(problems[row].twin_id is None for row in rows)


class _UnjoinedRows:
    """A `lookalikes.PairCollector` that joins similar rows that are not yet in one tree."""

    def __init__(self, forest: _Forest, rows: Sequence[int]):
        self._forest, self._rows = forest, rows

    def select_pending(self, numbers: Ints) -> Ints:
        roots = {self._root(row) for row in range(len(self._rows))}
        return numbers if len(roots) > 1 else numbers[:0]

    def needs_pair(self, first: int, second: int) -> bool:
        return self._root(first) != self._root(second)

    def add(self, first: int, second: int) -> None:
        self._forest.join(self._rows[first], self._rows[second])

    def _root(self, number: int) -> int:
        return self._forest.root(self._rows[number])


def find_lookalikes(problems: Sequence[Problem], others: Sequence[Problem]) -> set[int]:
    """Return the rows of `problems` that share options and 70 % of words with one of `others`.

    >>> one = Problem("a", "The cup is on _ now.", ("x", "y"))
    >>> find_lookalikes([one, Problem("b", "Why is _ so?", ("x", "y"))], [one])
    {0}
    """
    import numpy as np

    from winosmith.lookalikes import PartnerCollector

    found, start = set[int](), len(others)
    both = [*others, *problems]
    groups = _group_repeats([_normalize_options(problem) for problem in both])
    for rows, words in _iter_mixed_groups(both, groups, lambda row: row < start):
        asks = (np.array(rows) >= start).astype(int)
        partners = PartnerCollector(asks, asks)
        _find_similar(words, partners, asks)
        found |= {rows[one] - start for pair in partners.pairs for one in pair if asks[one]}
    return found


def _find_similar(
    words: Sequence[frozenset[str]],
    collector: PairCollector,
    owners: ArrayLike,
    min_overlap: float = MIN_OVERLAP,
) -> None:
    import numpy as np  # here, so that commands that only import blocks start fast

    from winosmith.lookalikes import find_pairs, make_longer_set_threshold

    find_pairs(words, make_longer_set_threshold(min_overlap), collector, np.array(owners, int))


def _iter_mixed_groups(
    problems: Sequence[Problem], groups: Iterable[list[int]], owner: Callable[[int], int]
) -> Iterator[tuple[list[int], list[frozenset[str]]]]:
    for rows in groups:
        if len({*map(owner, rows)}) > 1:
            yield rows, [number_words(split_pieces(fold(problems[row].sentence))) for row in rows]


def _normalize_options(problem: Problem) -> tuple[str, ...]:
    return tuple(sorted({_extract_letters(_ARTICLE.sub("", fold(one))) for one in problem.options}))


def _extract_letters(text: str) -> str:
    """Return a text's lower-cased letters without accents, its digits and its mathematical symbols.

    >>> _extract_letters("Thé <b>cup</b> “fell”: 1.5 m, as  the _ did."), _extract_letters("?!")
    ('thecupfell1.5masthe_did', '?!')
    """
    if not text.isascii():  # sign by sign, because Python sorts accents in quadratic time
        parts = (unicodedata.normalize("NFKD", sign) for sign in text)
        text = "".join(filterfalse(unicodedata.combining, chain.from_iterable(parts)))
    whole = "".join(fold(text).split())
    return _MARKS.sub("", whole) or whole


def find_copies(dataset: Dataset) -> list[list[int]]:
    """Return the groups of two or more rows that are copies of each other.

    Copies have the same tokens (ignoring case and Unicode form), the same position and pronoun of
    the blank, and the same options in any order. Answers, ids and twins do not matter. Winogender's
    versions with "he" and "she" share a block but are not copies. An unknown pronoun is assumed to
    be that of the other copies. If those have different pronouns, the problem is not a copy of any
    of them. The time is linear in the number of rows.

    >>> fell = Problem("a", "The cup hit the jug and _ fell.", ("cup", "jug"), 0)
    >>> again = Problem("b", "the cup hit the jug and _ fell.", ("Jug", "Cup"), 1, pronoun="it")
    >>> find_copies(Dataset([fell, again, Problem("c", "The cup hit it. _ fell.", ("cup", "jug"))]))
    [[0, 1]]
    """
    groups: list[list[int]] = []
    for same in group_by_tokens(dataset):
        alike: dict[tuple[frozenset[str], int | None], dict[str | None, list[int]]] = {}
        for row in same:
            problem = dataset[row]
            pronoun = None if problem.pronoun is None else normalize_tokens(problem.pronoun)
            number = None if problem.blank is None else problem.before.count(BLANK)
            by_pronoun = alike.setdefault((frozenset(_fold_case(problem)), number), {})
            by_pronoun.setdefault(pronoun, []).append(row)
        for by_pronoun in alike.values():
            if len(by_pronoun.keys() - {None}) > 1:
                groups += by_pronoun.values()
            else:
                groups.append(sorted(row for rows in by_pronoun.values() for row in rows))
    return sorted(rows for rows in groups if len(rows) > 1)


def spread_embargo(dataset: Dataset) -> Dataset:
    """Put the copies of problems under embargo under embargo, because they have the same text.

    >>> fell = Problem("a", "The _ fell.", ("cup", "jug"), embargo=True)
    >>> copy = Problem("b", "the _ fell.", ("jug", "cup"))
    >>> [problem.embargo for problem in spread_embargo(Dataset([fell, copy]))]
    [True, True]
    """
    if not any(problem.embargo for problem in dataset):
        return dataset
    problems = [*dataset]
    for rows in find_copies(dataset):
        if any(dataset[row].embargo for row in rows):
            for row in rows:
                problems[row] = replace(dataset[row], embargo=True)
    return Dataset(problems, dataset.name)


def find_whole_twins(
    dataset: Dataset, groups: Iterable[Sequence[int]] | None = None
) -> list[list[int]]:
    """Return the rows of each twin or single, together with their copies.

    These groups are smaller than blocks, so that a filter need not remove a whole family.

    Args:
        dataset: the problems.
        groups: the groups of copies; computed by default.

    >>> pair = [Problem("a", "A _ b.", ("x", "y"), 0, "t"), Problem("b", "B _ c.", ("x", "y"), 1, "t")]
    >>> find_whole_twins(Dataset([*pair, Problem("c", "b _ C.", ("y", "x"), 0)]))
    [[0, 1, 2]]
    """  # noqa: E501
    groups = find_copies(dataset) if groups is None else groups
    copy_of = {row: [rows[0]] for rows in groups for row in rows}
    together = join_blocks(dataset.groups, [copy_of.get(row, []) for row in range(len(dataset))])
    return [sorted(rows) for rows in together]


def group_by_tokens(dataset: Dataset) -> list[list[int]]:
    """Return the groups of two or more rows whose sentences have the same tokens, ignoring case.

    Tokenising is slow, so only sentences with the same letters are tokenised.
    """
    letters = ("".join(_lower(problem.sentence).split()) for problem in dataset)
    found = []
    for rows in _group_repeats(letters):
        found += _group_repeats((normalize_tokens(dataset[row].sentence) for row in rows), rows)
    return found


def _group_repeats(keys: Iterable[Hashable], rows: Iterable[int] | None = None) -> list[list[int]]:
    first: dict[Hashable, int] = {}
    together: dict[int, list[int]] = {}
    for row, key in enumerate(keys) if rows is None else zip(rows, keys, strict=True):
        if (one := first.setdefault(key, row)) != row:
            together.setdefault(one, [one]).append(row)
    return [together[one] for one in sorted(together)]


def find_contradictions(
    dataset: Dataset, groups: Iterable[Sequence[int]] | None = None
) -> list[list[int]]:
    """Return the groups of copies with different correct options.

    Args:
        dataset: the problems.
        groups: the groups of copies; computed by default.

    >>> one = Problem("a", "The cup hit the jug and _ fell.", ("cup", "jug"), 0)
    >>> find_contradictions(Dataset([one, Problem("b", one.sentence, ("jug", "cup"), 0)]))
    [[0, 1]]
    """
    found = []
    for rows in find_copies(dataset) if groups is None else groups:
        copies = [dataset[row] for row in rows]
        if len({_fold_case(p)[p.answer] for p in copies if p.answer is not None}) > 1:
            found.append(list(rows))
    return found


def normalize_tokens(text: str) -> str:
    """Return the visible tokens of a text, lower-cased and in composed form, for comparison."""
    return " ".join(tokenize(_lower(text)))


def _lower(text: str) -> str:
    return normalize(remove_invisible(text)).lower()


def _fold_case(problem: Problem) -> tuple[str, ...]:
    lowered = tuple(normalize_tokens(option) for option in problem.options)
    return lowered if len({*lowered}) == len(lowered) else problem.options


def _make_sort_key(problem: Problem, seed: int) -> tuple[bytes, bytes]:
    """Return a problem's sort key in the shuffled order: a digest of its sentence and options.

    The input's order may reveal the answers (if the correct option is first, for example), and the
    seed is published. The key therefore does not depend on the order of rows or options, ids or
    answers. The digest of the id decides only the order of exact copies.
    """
    seen = "\0".join((str(seed), problem.sentence, *sorted(problem.options)))
    return hashlib.sha256(seen.encode()).digest(), hashlib.sha256(problem.id.encode()).digest()


def shuffle_blocks(dataset: Dataset, seed: int) -> list[list[int]]:
    """Return the rows of each block, with blocks and rows shuffled by the seed."""
    places = [_make_sort_key(problem, seed) for problem in dataset]
    shuffled = [sorted(block, key=places.__getitem__) for block in find_blocks(dataset)]
    return sorted(shuffled, key=lambda block: places[block[0]])


def shuffle(dataset: Dataset, seed: int) -> tuple[Dataset, list[list[int]]]:
    """Return the problems in shuffled order, and the new rows of each block.

    The result does not depend on the order of the input.
    """
    order, new_rows = shuffle_blocks(dataset, seed), count()
    new_blocks = [[*islice(new_rows, len(block))] for block in order]
    return dataset.select(chain.from_iterable(order)), new_blocks


def join_blocks(
    order: Sequence[Sequence[int]], keys: Sequence[Iterable[Hashable]]
) -> list[list[int]]:
    """Join the blocks that share a key, and return them in the order of their first blocks.

    If the keys are contributors or sources, each contributor or source is then in only one split.

    Args:
        order: the blocks.
        keys: the keys of each row; a row without keys joins no block.

    >>> join_blocks([[0, 1], [2], [3], [4]], [["ann"], ["ann"], ["bob"], ["ann"], []])
    [[0, 1, 3], [2], [4]]
    """
    forest, holder = _Forest(len(order)), dict[Hashable, int]()
    for number, rows in enumerate(order):
        for row in rows:
            for key in keys[row]:
                forest.join(number, holder.setdefault(key, number))
    return [[row for number in tree for row in order[number]] for tree in forest.list_trees()]


def draw_blocks(
    order: Sequence[Sequence[int]], rows: Iterable[int], sizes: Sequence[int]
) -> list[list[int]]:
    """Draw disjoint sets of whole blocks from the end of the shuffled order.

    Args:
        order: the shuffled blocks.
        rows: the rows that may be drawn; blocks without such rows are skipped.
        sizes: the number of rows in each set; the last block of a set may exceed it.

    Raises:
        DataError: there are too few rows.
    """
    allowed = set(rows)
    if sum(sizes) >= len(allowed):
        raise DataError(
            f"{sum(sizes)} problems can't be drawn from {len(allowed)}; no problems would remain"
        )
    drawn: list[list[int]] = [[] for _ in sizes]
    blocks = reversed(order)
    for part, size in zip(drawn, sizes, strict=True):
        while len(part) < size and (block := next(blocks, None)) is not None:
            part += [row for row in block if row in allowed]
    return drawn
