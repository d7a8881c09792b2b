"""Group problems that must stay together into blocks, and assign the blocks to splits.

Twins, families and copies of a sentence form *blocks*. Splits and random draws keep blocks whole,
so that no split reveals the contents of another. If data is split again, each block keeps its
previous split. *Copies* are identical problems in a block, which count as one observation.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, filterfalse
from typing import TYPE_CHECKING, Literal

from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.problem import BLANK, Lineage, Problem
from winosmith.text import fold, normalize, number_words, pieces, remove_invisible, tokens

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from winosmith.lookalikes import Ints, PairCollector

MIN_OVERLAP = 0.7
"""Minimum fraction of words that the halves of a twin share (WinoGrande, section 2)."""

MIN_OVERLAP_UNIQUE = 0.4
"""Minimum fraction of shared words if only two texts have these options. It finds 635 of DPR's 661
training twins without their ids; 0.7 finds 302. In WinoGrande's train_s, dev and test without ids
(3,674 problems), it joins 2 pairs across splits that are not twins; 0.3 would join 9."""


_PUNCTUATION = r"""[.,;:!?'"()\[\]{}«»¿¡*`、。〈-】·‐-‧‹›-]++"""
_MARKS = re.compile(rf"</?[a-z]+>|(?<!\d){_PUNCTUATION}|{_PUNCTUATION}(?!\d)")
"""Tags, and punctuation that is not between digits."""

_ARTICLE = re.compile(r"\s*(?:the|an?)\s+")


def blocks(dataset: Dataset, *, lookalikes: bool = True) -> list[list[int]]:
    """Return the rows of each block, in an order that reveals no answers.

    Two problems share a block if they share a twin or a family; if their sentences have the same
    letters and digits, ignoring case, accents, alphabet, spaces, punctuation and markup; or, with
    `lookalikes`, if they look like a twin without a common id. Such pairs have the same options
    (also ignoring articles) and share 70 % of their words. If one of them has no twin id, 40 % is
    enough if no third text has these options; with 70 %, one option may differ or be added if no
    third text has all the others. Blocks are transitive.

    >>> pair = [Problem("a", "A _ b.", ("x", "y"), 0, "t"), Problem("b", "B _ c.", ("x", "y"), 1, "t")]
    >>> [sorted(block) for block in blocks(Dataset([*pair, Problem("c", "b _ C.", ("x", "z"))]))]
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
    if lookalikes:
        _join_lookalikes(dataset, forest)
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
        """Join the trees of two numbers."""
        first, second = self.root(first), self.root(second)
        self._parent[max(first, second)] = min(first, second)

    def list_trees(self) -> list[list[int]]:
        """Return the trees as lists of numbers, all in ascending order."""
        together: dict[int, list[int]] = {}
        for number in range(len(self._parent)):
            together.setdefault(self.root(number), []).append(number)
        return list(together.values())


def _join_lookalikes(dataset: Dataset, forest: _Forest) -> None:
    """Join rows that look like halves of a twin; see `blocks`.

    One pair is enough to join two blocks. Rows of the same block, such as a large family with the
    same options, are therefore not compared.
    """
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


def _may_be_twin(
    problems: Sequence[Problem], rows: Sequence[int], words: Sequence[frozenset[str]]
) -> bool:
    """Return whether the rows may be a twin: two distinct texts, and a row without a twin id.

    If both texts have a twin id, a filter may have removed another text with these options.
    """
    return len({*words}) == 2 and any(problems[row].twin_id is None for row in rows)


class _UnjoinedRows:
    """A collector of similar rows that are not yet in one tree; see `lookalikes.PairCollector`."""

    def __init__(self, forest: _Forest, rows: Sequence[int]):
        self._forest, self._rows = forest, rows

    def select_pending(self, numbers: Ints) -> Ints:
        return (
            numbers if len({self._root(row) for row in range(len(self._rows))}) > 1 else numbers[:0]
        )

    def needs_pair(self, first: int, second: int) -> bool:
        return self._root(first) != self._root(second)

    def add(self, first: int, second: int) -> None:
        self._forest.join(self._rows[first], self._rows[second])

    def _root(self, number: int) -> int:
        return self._forest.root(self._rows[number])


def find_lookalikes(problems: Sequence[Problem], others: Sequence[Problem]) -> set[int]:
    """Return the rows of `problems` that share options and 70 % of their words with `others`.

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
    """Collect the pairs of rows that share at least `min_overlap` of the longer row's words."""
    import numpy as np  # here, so that commands that only import blocks start fast

    from winosmith.lookalikes import find_pairs, make_longer_set_threshold

    find_pairs(words, make_longer_set_threshold(min_overlap), collector, np.array(owners, int))


def _iter_mixed_groups(
    problems: Sequence[Problem], groups: Iterable[list[int]], owner: Callable[[int], int]
) -> Iterator[tuple[list[int], list[frozenset[str]]]]:
    """Yield the groups whose rows have several owners, with the words of each row."""
    for rows in groups:
        if len({*map(owner, rows)}) > 1:
            yield rows, [number_words(pieces(fold(problems[row].sentence))) for row in rows]


def _normalize_options(problem: Problem) -> tuple[str, ...]:
    """Return the letters of each option, without articles, for comparison with other problems."""
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


def copies(dataset: Dataset) -> list[list[int]]:
    """Return the groups of two or more rows that are copies of each other.

    Copies have the same tokens (ignoring case and Unicode form), the same position and pronoun of
    the blank, and the same options in any order. Answers, ids and twins do not matter. Winogender's
    versions with "he" and "she" share a block but are not copies. An unknown pronoun is assumed to
    be that of the other copies; if they have different pronouns, the problem is not a copy. The
    time is linear in the number of rows.

    >>> fell = Problem("a", "The cup hit the jug and _ fell.", ("cup", "jug"), 0)
    >>> again = Problem("b", "the cup hit the jug and _ fell.", ("Jug", "Cup"), 1, pronoun="it")
    >>> copies(Dataset([fell, again, Problem("c", "The cup hit it. _ fell.", ("cup", "jug"))]))
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


def whole_twins(dataset: Dataset, groups: Iterable[Sequence[int]] | None = None) -> list[list[int]]:
    """Return the rows of each twin or single, together with their copies.

    These groups are smaller than blocks: a filter need not remove a whole family.

    Args:
        dataset: the problems.
        groups: the groups of copies, if they are already known.

    >>> pair = [Problem("a", "A _ b.", ("x", "y"), 0, "t"), Problem("b", "B _ c.", ("x", "y"), 1, "t")]
    >>> whole_twins(Dataset([*pair, Problem("c", "b _ C.", ("y", "x"), 0)]))
    [[0, 1, 2]]
    """  # noqa: E501
    groups = copies(dataset) if groups is None else groups
    copy_of = {row: [rows[0]] for rows in groups for row in rows}
    together = join_blocks(dataset.groups, [copy_of.get(row, []) for row in range(len(dataset))])
    return [sorted(rows) for rows in together]


def group_by_tokens(dataset: Dataset) -> list[list[int]]:
    """Return the groups of two or more rows whose sentences have the same tokens, ignoring case.

    Tokenising is slow, so only sentences with the same letters are tokenised.
    """
    letters = ("".join(_lower(problem.sentence).split()) for problem in dataset)
    by_letters = _group_repeats(letters)
    return [
        same
        for rows in by_letters
        for same in _group_repeats((normalize_tokens(dataset[row].sentence) for row in rows), rows)
    ]


def _group_repeats(keys: Iterable[Hashable], rows: Iterable[int] | None = None) -> list[list[int]]:
    first: dict[Hashable, int] = {}
    together: dict[int, list[int]] = {}
    for row, key in enumerate(keys) if rows is None else zip(rows, keys, strict=True):
        if (one := first.setdefault(key, row)) != row:
            together.setdefault(one, [one]).append(row)
    return [together[one] for one in sorted(together)]


def contradictions(
    dataset: Dataset, groups: Iterable[Sequence[int]] | None = None
) -> list[list[int]]:
    """Return the groups of copies with different correct options.

    Args:
        dataset: the problems.
        groups: the groups of copies, if they are already known.

    >>> one = Problem("a", "The cup hit the jug and _ fell.", ("cup", "jug"), 0)
    >>> contradictions(Dataset([one, Problem("b", one.sentence, ("jug", "cup"), 0)]))
    [[0, 1]]
    """
    groups = copies(dataset) if groups is None else groups
    return [
        list(rows) for rows in groups if len(_get_correct_options(dataset[row] for row in rows)) > 1
    ]


def normalize_tokens(text: str) -> str:
    """Return the visible tokens of a text, lower-cased and in composed form, for comparison."""
    return " ".join(tokens(_lower(text)))


def _lower(text: str) -> str:
    return normalize(remove_invisible(text)).lower()


def _fold_case(problem: Problem) -> tuple[str, ...]:
    """Return the options for comparison, in lower case unless they differ only in case."""
    lowered = tuple(normalize_tokens(option) for option in problem.options)
    return lowered if len({*lowered}) == len(lowered) else problem.options


def _get_correct_options(problems: Iterable[Problem]) -> set[str]:
    return {_fold_case(p)[p.answer] for p in problems if p.answer is not None}


def _make_sort_key(problem: Problem, seed: int) -> tuple[bytes, bytes]:
    """Return a problem's sort key in the shuffled order: a digest of its sentence and options.

    The input's order may reveal the answers (if the correct option is first, for example), and the
    seed is published. The key therefore does not depend on the order of rows or options, ids or
    answers. The digest of the id decides only the order of exact copies.
    """
    seen = "\0".join((str(seed), problem.sentence, *sorted(problem.options)))
    return hashlib.sha256(seen.encode()).digest(), hashlib.sha256(problem.id.encode()).digest()


def shuffle_blocks(dataset: Dataset, seed: int) -> list[list[int]]:
    """Return the rows of each block; blocks and rows are in the shuffled order."""
    places = [_make_sort_key(problem, seed) for problem in dataset]
    shuffled = [sorted(block, key=places.__getitem__) for block in blocks(dataset)]
    return sorted(shuffled, key=lambda block: places[block[0]])


def shuffle(dataset: Dataset, seed: int) -> tuple[Dataset, list[list[int]]]:
    """Return the problems in the shuffled order, and the rows of each block.

    Later steps thus do not depend on the order of the input.
    """
    order = shuffle_blocks(dataset, seed)
    blocks_of_new, start = [], 0
    for block in order:
        blocks_of_new.append(list(range(start, start + len(block))))
        start += len(block)
    return dataset.select(row for block in order for row in block), blocks_of_new


def join_blocks(
    order: Sequence[Sequence[int]], keys: Sequence[Iterable[Hashable]]
) -> list[list[int]]:
    """Join the blocks that share a key, and return them in the order of their first blocks.

    If the keys are contributors or sources, each of them is then in only one split.

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
        sizes: the number of rows per set; the last block may exceed it.

    Raises:
        DataError: there are too few rows.
    """
    allowed = set(rows)
    if sum(sizes) >= len(allowed):
        raise DataError(
            f"{sum(sizes)} problems can't be drawn from {len(allowed)}; no problems would remain"
        )
    drawn: list[list[int]] = [[] for _ in sizes]
    parts = iter(zip(drawn, sizes, strict=True))
    part, size = next(parts)
    for block in reversed(order):
        while len(part) >= size:
            following = next(parts, None)
            if following is None:
                return drawn
            part, size = following
        part += [row for row in block if row in allowed]
    return drawn


SplitName = Literal["train", "dev", "test"]

SPLITS: tuple[SplitName, ...] = ("train", "dev", "test")
"""The splits in order of precedence. A block that was in several splits stays in the first one,
because training data can't measure a model, and published answers are not secret."""

Key = Literal["author", "source"]
"""A field of a problem's origin; blocks with the same value can be joined."""

Disjoint = Literal["twin", "contributor", "source"]
"""Unit that must not be in several splits: a twin (with its block), contributor or source."""

KEY_FIELDS: Mapping[str, Key] = {"contributor": "author", "source": "source"}
"""The field of a problem's origin that identifies its contributor or source."""

SLACK = 0.1
"""Fraction by which dev or test may exceed its target size so that contributors are not divided."""

BLOCK_SLACK = 0.5
"""Fraction by which dev or test may exceed its target size so that large blocks are not divided."""


@dataclass(frozen=True, slots=True)
class PreviousProblem:
    """A problem from an earlier build, with its split.

    Attributes:
        problem: the problem with its id in the pool; its answer is ignored.
        split: its previous split; None for a problem that only joins other problems into one block.
    """

    problem: Problem
    split: SplitName | None


def find_previous_splits(
    dataset: Dataset,
    order: Sequence[Sequence[int]],
    previous: Sequence[PreviousProblem],
    keys: Iterable[Key] = (),
) -> list[frozenset[SplitName]]:
    """Return each block's previous splits: those of its problems and of related problems.

    Related problems share a block of old and new problems (`blocks`): copies, families (by the ids
    in the pool), and possible halves of twins. An old id is ignored if a different problem has that
    id now.

    Args:
        dataset: the problems to split.
        order: their blocks, joined by `keys`.
        previous: the problems that were split before.
        keys: fields that join blocks, such as the author or the source.

    >>> old = Problem("a", "The _ fell.", ("cup", "jug"), 0)
    >>> new = Problem("b", "A _ rose.", ("sun", "moon"), 1)
    >>> found = find_previous_splits(Dataset([old, new]), [[0], [1]], [PreviousProblem(old, "dev")])
    >>> [sorted(splits) for splits in found]
    [['dev'], []]
    """
    keys = tuple(keys)
    both = Dataset(
        replace(p, id=f"{at}", lineage=Lineage(root, root), twin_id=twin)
        for at, (p, root, twin) in enumerate(
            (
                *((p, p.root, p.twin_id and f"now {p.twin_id}") for p in dataset),
                *_iter_previous_ids(dataset, previous),
            )
        )
    )
    named = [[*_get_joining_keys(problem, keys)] for problem in both]
    found: list[frozenset[SplitName]] = [frozenset()] * len(dataset)
    for tree in join_blocks(blocks(both), named):
        past = [previous[at - len(dataset)].split for at in tree if at >= len(dataset)]
        sides = frozenset(side for side in past if side is not None)
        for row in tree:
            if row < len(dataset):
                found[row] = sides
    return [frozenset[SplitName]().union(*(found[row] for row in block)) for block in order]


@dataclass(frozen=True, slots=True)
class AssignedBlock:
    """Rows that stay together, and the split to which they are assigned.

    Attributes:
        rows: row numbers in the data set.
        split: the split.
        previous: the previous splits of these and of related problems.
    """

    rows: tuple[int, ...]
    split: SplitName
    previous: frozenset[SplitName]


def assign_splits(
    dataset: Dataset,
    order: Sequence[Sequence[int]],
    wanted: Mapping[SplitName, int],
    *,
    keys: Iterable[Key] = (),
    previous: Sequence[PreviousProblem] = (),
    counted: Collection[int] | None = None,
) -> list[AssignedBlock]:
    """Assign blocks to train, dev and test.

    Without previous splits, dev and test are filled in the order of `wanted`; all other problems
    become training data. Otherwise each block keeps its split (the first of train, dev and test if
    there are several), and each new block goes to the split that lacks the largest fraction of its
    size.

    Blocks are added to a split until it has the wanted size. Blocks that would make it more than
    50 % too large (`BLOCK_SLACK`), such as large families, are skipped; a first block of two
    problems always fits. If every block is too large, the smallest is added. The problems of one
    contributor or source may be numerous and share a fault. With `keys`, a split therefore exceeds
    its size by at most 10 % (`SLACK`), which makes an interval at most 5 % narrower.

    Args:
        dataset: the problems; with `previous`, they have the ids of their pool.
        order: their shuffled blocks.
        wanted: the target number of problems in dev and test.
        keys: fields that join blocks, such as the author or the source.
        previous: the problems that were split before.
        counted: the rows that count towards `wanted`; new blocks without such rows become training
            data. None counts all rows.

    >>> fell = [Problem(f"{at}", f"The {at} _ fell.", ("cup", f"jug {at}"), 0) for at in range(4)]
    >>> found = assign_splits(Dataset(fell), [[0, 1], [2], [3]], {"dev": 1, "test": 1})
    >>> [(part.rows, part.split) for part in found]
    [((0, 1), 'dev'), ((2,), 'test'), ((3,), 'train')]
    """
    keys = tuple(keys)
    groups: Sequence[Sequence[int]] = order
    if keys:
        groups = join_blocks(order, [[*_get_joining_keys(problem, keys)] for problem in dataset])
    count = [sum(counted is None or row in counted for row in rows) for rows in groups]
    most = {
        side: size * (1 + SLACK) if keys else max(size * (1 + BLOCK_SLACK), 2)
        for side, size in wanted.items()
    }
    before: Sequence[frozenset[SplitName]] = [frozenset()] * len(groups)
    if previous:
        before = find_previous_splits(dataset, groups, previous, keys)
        sides = _keep_former_splits(count, list(map(choose_kept_split, before)), wanted, most)
    else:
        sides = _fill_splits(count, wanted, most)
    if not keys:
        _fill_empty_splits(sides, count, wanted, [at for at, were in enumerate(before) if not were])
    return [
        AssignedBlock(tuple(rows), side, were)
        for rows, side, were in zip(groups, sides, before, strict=True)
    ]


def _fill_splits(
    counts: Sequence[int], wanted: Mapping[SplitName, int], limits: Mapping[SplitName, float]
) -> list[SplitName]:
    """Assign each group to the first split with room for it, or to "train"; return the splits."""
    sizes = dict.fromkeys(SPLITS, 0)
    found: list[SplitName] = []
    for n in counts:
        fitting = (side for side in wanted if _has_room(n, sizes[side], wanted[side], limits[side]))
        found.append(next(fitting, "train"))
        sizes[found[-1]] += n
    return found


def _keep_former_splits(
    counts: Sequence[int],
    previous: Sequence[SplitName | None],
    wanted: Mapping[SplitName, int],
    limits: Mapping[SplitName, float],
) -> list[SplitName]:
    """Assign each group to its previous split, or a new group to the least full split."""
    sizes = dict.fromkeys(SPLITS, 0)
    for n, side in zip(counts, previous, strict=True):
        if side is not None:
            sizes[side] += n
    needed = {**wanted, "train": sum(counts) - sum(wanted.values())}
    found: list[SplitName] = []
    for n, old in zip(counts, previous, strict=True):
        if old is not None:
            found.append(old)
            continue
        short = [side for side in wanted if _has_room(n, sizes[side], wanted[side], limits[side])]
        short += ["train"] if sizes["train"] < needed["train"] or not short else []
        found.append(min(short, key=lambda side: sizes[side] / max(needed[side], 1)))
        sizes[found[-1]] += n
    return found


def _has_room(added: int, current: int, wanted: int, limit: float) -> bool:
    return added > 0 and current < wanted and current + added <= limit


def _fill_empty_splits(
    splits: list[SplitName],
    counts: Sequence[int],
    wanted: Mapping[SplitName, int],
    new_groups: Sequence[int],
) -> None:
    """Move the smallest new group in the training data to each empty split."""
    for side, size in wanted.items():
        if size and not any(more for more, of in zip(counts, splits, strict=True) if of == side):
            left = [at for at in new_groups if counts[at] and splits[at] == "train"]
            if left:
                splits[min(left, key=counts.__getitem__)] = side


def choose_kept_split(splits: Iterable[SplitName]) -> SplitName | None:
    """Return the split that a block keeps: the first of its previous splits, or None.

    >>> choose_kept_split(["test", "dev"]), choose_kept_split([])
    ('dev', None)
    """
    return min(splits, key=SPLITS.index, default=None)


def _iter_previous_ids(
    dataset: Dataset, previous: Sequence[PreviousProblem]
) -> Iterable[tuple[Problem, str, str | None]]:
    """Yield each previous problem with its root's id and twin id, made distinct from reused ids."""
    now = {problem.id: problem for problem in dataset}
    reused = {
        old.problem.id
        for old in previous
        if old.problem.id in now and not _is_same_problem(old.problem, now[old.problem.id])
    }
    for old in previous:
        p = old.problem
        root = f"then {p.root}" if p.root in reused else p.root
        yield p, root, p.twin_id and f"then {p.twin_id}"


def _is_same_problem(old: Problem, new: Problem) -> bool:
    """Return whether two problems are versions of one: they have the same options or most words."""
    if {option.lower() for option in old.options} == {option.lower() for option in new.options}:
        return True
    a, b = (Counter(pieces(problem.sentence.lower())) for problem in (old, new))
    return (a & b).total() >= MIN_OVERLAP * max(a.total(), b.total())


def _get_joining_keys(problem: Problem, keys: Sequence[Key]) -> Iterable[Hashable]:
    values = ((key, problem.origin and getattr(problem.origin, key)) for key in keys)
    return ((key, value) for key, value in values if value is not None)
