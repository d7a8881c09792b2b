"""Which problems belong together, and a shuffled order that tells nothing of their answers.

Twins, families and copies of one sentence form *blocks*. A split, and a draw of problems to be set
aside, takes or leaves whole blocks, so that nothing on one side tells what is on the other. A later
split leaves each block on the side that it was on. *Copies* are the problems of a block that are
identical: one observation, written down more than once.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.problem import BLANK, Lineage, Problem
from winosmith.text import composed, pieces, tokens, visible

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from winosmith.lookalikes import Wanted

__all__ = [
    "HOLDERS",
    "SIDES",
    "Disjoint",
    "Former",
    "Placed",
    "Side",
    "assign_sides",
    "blocks",
    "contradictions",
    "copies",
    "draw",
    "find_lookalikes",
    "former_sides",
    "join_blocks",
    "plain",
    "shuffle",
    "shuffled_blocks",
    "side_kept",
    "whole_twins",
]

ALIKE = 0.7
"""The share of words that the halves of a twin have in common at least (WinoGrande, section 2)."""

ALIKE_ALONE = 0.4
"""The same share for two texts that are the only ones with their options. Without ids, 635 of
DPR's 661 training twins are then in one block, in place of 302. In WinoGrande's train_s, dev and
test without ids (3,674 problems), it joins 2 pairs across the splits that are not twins; 0.3 would
join 9."""


def blocks(dataset: Dataset, *, lookalikes: bool = True) -> list[list[int]]:
    """Return the rows that may not be parted, in an order that tells nothing of the answers.

    Two problems share a block when they share a twin or a family; when their sentences have the
    same tokens, whatever their case; or when they look like a twin whose id got lost (not without
    `lookalikes`). Then they have the same options and 70 % of their words in common. If one of them
    has no twin id, 40 % are enough if no third text has these options, and one option may differ at
    70 % if no third text has all the others. And so on, from neighbour to neighbour.

    >>> pair = [Problem("a", "A _ b.", ("x", "y"), 0, "t"), Problem("b", "B _ c.", ("x", "y"), 1, "t")]
    >>> [sorted(block) for block in blocks(Dataset([*pair, Problem("c", "b _ C.", ("x", "z"))]))]
    [[0, 1, 2]]
    """  # noqa: E501
    forest = _Forest(len(dataset))
    first: dict[tuple[str, str], int] = {}
    for rows in same_text(dataset):
        for row in rows:
            forest.join(row, rows[0])
    for row, problem in enumerate(dataset):
        for key in _ties_of(problem):
            forest.join(row, first.setdefault(key, row))
    if lookalikes:
        _join_lookalikes(dataset, forest)
    return forest.trees()


class _Forest:
    """Numbers from 0, each alone at first; joined, they and all that are with them are one tree."""

    def __init__(self, count: int):
        self._parent = list(range(count))

    def root(self, number: int) -> int:
        """Return the least number of a number's tree."""
        parent = self._parent
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    def join(self, one: int, other: int) -> None:
        """Make one tree of two."""
        one, other = self.root(one), self.root(other)
        self._parent[max(one, other)] = min(one, other)

    def trees(self) -> list[list[int]]:
        """Return the numbers of each tree, ascending; trees by their least number."""
        together: dict[int, list[int]] = {}
        for number in range(len(self._parent)):
            together.setdefault(self.root(number), []).append(number)
        return list(together.values())


def _ties_of(problem: Problem) -> Iterable[tuple[str, str]]:
    if problem.twin_id is not None:
        yield "twin", problem.twin_id
    yield "family", problem.root


def _join_lookalikes(dataset: Dataset, forest: _Forest) -> None:
    """Join rows that look like halves of a twin; see `blocks`.

    One pair is enough to join two blocks, and none is needed within a block: a large family, whose
    options are the same all over, is not compared with itself.
    """
    problems = dataset.problems
    options = [_lowered_options(problem) for problem in problems]
    for rows, words in _several_owners(problems, _by_key(options), forest.root):
        share = ALIKE_ALONE if _may_be_twin(problems, rows, words) else ALIKE
        _find(words, _Joined(forest, rows), [forest.root(row) for row in rows], share)
    changed: dict[tuple[int, frozenset[str]], list[int]] = {}
    for row, held in enumerate(options):
        for option in held if len(held) > 1 else ():
            changed.setdefault((len(held), frozenset(held) - {option}), []).append(row)
    for rows, words in _several_owners(problems, changed.values(), forest.root):
        if _may_be_twin(problems, rows, words):
            _find(words, _Joined(forest, rows), [forest.root(row) for row in rows])


def _may_be_twin(
    problems: Sequence[Problem], rows: Sequence[int], words: Sequence[frozenset[str]]
) -> bool:
    """Return whether the rows have two texts, of which one has no twin id.

    Where all have one, a filter may have removed the third text with these options.
    """
    return len({*words}) == 2 and any(problems[row].twin_id is None for row in rows)


class _Joined:
    """Joins what is alike; wanted are pairs that are not together. See `lookalikes.Wanted`."""

    def __init__(self, forest: _Forest, rows: Sequence[int]):
        self._forest, self._rows = forest, rows

    def settled(self, numbers: Iterable[int]) -> bool:
        roots = map(self._root, numbers)
        first = next(roots, None)
        return all(root == first for root in roots)

    def wants(self, one: int, other: int) -> bool:
        return self._root(one) != self._root(other)

    def take(self, one: int, other: int) -> None:
        self._forest.join(self._rows[one], self._rows[other])

    def take_of(self, numbers: Sequence[int], others: Sequence[int]) -> None:
        for number in (*numbers, *others):
            self.take(numbers[0], number)

    def _root(self, number: int) -> int:
        return self._forest.root(self._rows[number])


def find_lookalikes(problems: Sequence[Problem], others: Sequence[Problem]) -> set[int]:
    """Return the rows that have 70 % of their words, and the options, of another set's.

    >>> one = Problem("a", "The cup is on _ now.", ("x", "y"))
    >>> find_lookalikes([one, Problem("b", "Why is _ so?", ("x", "y"))], [one])
    {0}
    """
    import numpy as np

    from winosmith.lookalikes import Partners

    found, start = set[int](), len(others)
    both = [*others, *problems]
    groups = _by_key([_lowered_options(problem) for problem in both])
    for rows, words in _several_owners(both, groups, lambda row: row < start):
        asks = (np.array(rows) >= start).astype(int)
        partners = Partners(asks, asks)
        _find(words, partners, asks)
        found |= {rows[one] - start for pair in partners.pairs for one in pair if asks[one]}
    return found


def _find(
    words: Sequence[frozenset[str]], wanted: Wanted, owners: ArrayLike, share: float = ALIKE
) -> None:
    """Find the pairs that have this fraction of the words of the longer one in common."""
    import numpy as np  # in the functions: what imports blocks is to start at once

    from winosmith.lookalikes import find, of_longer

    find(words, of_longer(share), wanted, np.array(owners, int))


def _several_owners(
    problems: Sequence[Problem], groups: Iterable[list[int]], owner: Callable[[int], int]
) -> Iterator[tuple[list[int], list[frozenset[str]]]]:
    """Yield the groups of rows that have several owners, each with its words."""
    for rows in groups:
        if len({*map(owner, rows)}) > 1:
            yield rows, [_word_set(pieces(problems[row].sentence.lower())) for row in rows]


def _lowered_options(problem: Problem) -> tuple[str, ...]:
    return tuple(sorted({visible(option).lower() for option in problem.options}))


def _word_set(words: Sequence[str]) -> frozenset[str]:
    """Return the words, the second "the" as another one: what two have in common is a set, too."""
    counted = Counter(words)
    again = (f"{word} {at}" for word, n in counted.items() if n > 1 for at in range(2, n + 1))
    return frozenset(counted).union(again)


def copies(dataset: Dataset) -> list[list[int]]:
    """Return the rows of identical problems, two or more a group: copies of each other.

    Identical are problems with the same tokens, whatever their case or Unicode form, with the blank
    at the same place for the same pronoun, and with the same options in any order. Answers, ids
    and twins do not matter. So Winogender's versions with "he" and with "she" are no copies, though
    they share a block. A blank whose pronoun nobody noted is taken for the one pronoun that the
    other copies name; where they name several, it is a problem of its own. The time is linear in
    the rows.

    >>> fell = Problem("a", "The cup hit the jug and _ fell.", ("cup", "jug"), 0)
    >>> again = Problem("b", "the cup hit the jug and _ fell.", ("Jug", "Cup"), 1, pronoun="it")
    >>> copies(Dataset([fell, again, Problem("c", "The cup hit it. _ fell.", ("cup", "jug"))]))
    [[0, 1]]
    """
    groups: list[list[int]] = []
    for same in same_text(dataset):
        alike: dict[tuple[frozenset[str], int | None], dict[str | None, list[int]]] = {}
        for row in same:
            problem = dataset[row]
            pronoun = None if problem.pronoun is None else plain(problem.pronoun)
            number = None if problem.blank is None else problem.before.count(BLANK)
            by_pronoun = alike.setdefault((frozenset(_options(problem)), number), {})
            by_pronoun.setdefault(pronoun, []).append(row)
        groups += [rows for by_pronoun in alike.values() for rows in _grouped(by_pronoun)]
    return sorted(rows for rows in groups if len(rows) > 1)


def whole_twins(dataset: Dataset, among: Iterable[Sequence[int]] | None = None) -> list[list[int]]:
    """Return the rows of each twin with the copies of its halves, of each single with its copies.

    Not the blocks: a family is one, and would go whole for what gives away a few of its problems.

    Args:
        dataset: the problems.
        among: their groups of copies, where they are available already.

    >>> pair = [Problem("a", "A _ b.", ("x", "y"), 0, "t"), Problem("b", "B _ c.", ("x", "y"), 1, "t")]
    >>> whole_twins(Dataset([*pair, Problem("c", "b _ C.", ("y", "x"), 0)]))
    [[0, 1, 2]]
    """  # noqa: E501
    groups = copies(dataset) if among is None else among
    copy_of = {row: [rows[0]] for rows in groups for row in rows}
    together = join_blocks(dataset.groups, [copy_of.get(row, []) for row in range(len(dataset))])
    return [sorted(rows) for rows in together]


def same_text(dataset: Dataset) -> list[list[int]]:
    """Return the rows whose sentences have the same tokens, in any case: two or more a group.

    Tokens are cut of sentences with the same letters alone, since cutting takes the time.
    """
    letters = ("".join(_lowered(problem.sentence).split()) for problem in dataset)
    by_letters = _by_key(letters)
    return [
        same
        for rows in by_letters
        for same in _by_key((plain(dataset[row].sentence) for row in rows), rows)
    ]


def _by_key(keys: Iterable[Hashable], rows: Iterable[int] | None = None) -> list[list[int]]:
    """Return the rows of each key that two or more have; no list is made of a row alone."""
    first: dict[Hashable, int] = {}
    together: dict[int, list[int]] = {}
    for row, key in enumerate(keys) if rows is None else zip(rows, keys, strict=True):
        if (one := first.setdefault(key, row)) != row:
            together.setdefault(one, [one]).append(row)
    return [together[one] for one in sorted(together)]


def contradictions(
    dataset: Dataset, among: Iterable[Sequence[int]] | None = None
) -> list[list[int]]:
    """Return those groups of copies whose answers name different options as the right one.

    Args:
        dataset: the problems.
        among: their groups of copies, where they are available already.

    >>> one = Problem("a", "The cup hit the jug and _ fell.", ("cup", "jug"), 0)
    >>> contradictions(Dataset([one, Problem("b", one.sentence, ("jug", "cup"), 0)]))
    [[0, 1]]
    """
    groups = copies(dataset) if among is None else among
    return [list(rows) for rows in groups if len(_right(dataset[row] for row in rows)) > 1]


def plain(text: str) -> str:
    """Return the visible tokens of a text in lower case and composed, as copies are compared."""
    return " ".join(tokens(_lowered(text)))


def _lowered(text: str) -> str:
    return composed(visible(text)).lower()


def _grouped(by_pronoun: dict[str | None, list[int]]) -> Iterable[list[int]]:
    """Return the rows of each pronoun; those without one join the others where these agree."""
    if len(by_pronoun.keys() - {None}) > 1:
        return by_pronoun.values()
    return [sorted(row for rows in by_pronoun.values() for row in rows)]


def _options(problem: Problem) -> tuple[str, ...]:
    """Return the options as they are compared: in any case, unless their case tells them apart."""
    lowered = tuple(plain(option) for option in problem.options)
    return lowered if len({*lowered}) == len(lowered) else problem.options


def _right(problems: Iterable[Problem]) -> set[str]:
    return {_options(p)[p.answer] for p in problems if p.answer is not None}


def _place(problem: Problem, seed: int) -> tuple[bytes, bytes]:
    """Return a problem's place in the shuffled order: a digest of what a solver may see.

    The order of the input may follow the answers (right option first, say), and the seed is
    published; so neither the input's order nor its ids nor its answers may enter, nor which option
    is written first. Only between copies to the letter does a digest of the id decide, since
    nothing else tells them apart.
    """
    seen = "\0".join((str(seed), problem.sentence, *sorted(problem.options)))
    return hashlib.sha256(seen.encode()).digest(), hashlib.sha256(problem.id.encode()).digest()


def shuffled_blocks(dataset: Dataset, seed: int) -> list[list[int]]:
    """Return the blocks, and the rows in each, in the shuffled order."""
    places = [_place(problem, seed) for problem in dataset]
    shuffled = [sorted(block, key=places.__getitem__) for block in blocks(dataset)]
    return sorted(shuffled, key=lambda block: places[block[0]])


def shuffle(dataset: Dataset, seed: int) -> tuple[Dataset, list[list[int]]]:
    """Return the problems in the shuffled order, and the blocks that their rows form.

    Everything after depends on this order alone, not on that of the input.
    """
    order = shuffled_blocks(dataset, seed)
    blocks_of_new, start = [], 0
    for block in order:
        blocks_of_new.append(list(range(start, start + len(block))))
        start += len(block)
    return dataset.select(row for block in order for row in block), blocks_of_new


def join_blocks(
    order: Sequence[Sequence[int]], keys: Sequence[Iterable[Hashable]]
) -> list[list[int]]:
    """Return the blocks, those together in which a key occurs that another one holds, too.

    So that no contributor, or no source, is on two sides of a split. The order stays that of the
    first block of each.

    Args:
        order: blocks.
        keys: those of each row; a row without any goes together with nothing.

    >>> join_blocks([[0, 1], [2], [3], [4]], [["ann"], ["ann"], ["bob"], ["ann"], []])
    [[0, 1, 3], [2], [4]]
    """
    forest, holder = _Forest(len(order)), dict[Hashable, int]()
    for number, rows in enumerate(order):
        for row in rows:
            for key in keys[row]:
                forest.join(number, holder.setdefault(key, number))
    return [[row for number in tree for row in order[number]] for tree in forest.trees()]


def draw(
    order: Sequence[Sequence[int]], rows: Iterable[int], sizes: Sequence[int]
) -> list[list[int]]:
    """Draw sets of rows in whole blocks, from the end of the shuffled order.

    Args:
        order: the shuffled blocks.
        rows: what may be drawn; a block without any is passed over.
        sizes: how many rows each set needs; the last block may exceed it.

    Raises:
        DataError: there are too few rows.
    """
    allowed = set(rows)
    if sum(sizes) >= len(allowed):
        raise DataError(
            f"{sum(sizes)} problems are to be drawn from {len(allowed)}; nothing would be left"
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


Side = Literal["train", "dev", "test"]

SIDES: tuple[Side, ...] = ("train", "dev", "test")
"""The first of them wins where a block was on several: what was trained on measures nothing any
more, and an answer that was published is no secret again."""

Key = Literal["author", "source"]
"""What of a problem's origin may hold blocks together."""

Disjoint = Literal["twin", "contributor", "source"]
"""What train, dev and test don't share: only blocks, or also all of one contributor or source."""

HOLDERS: Mapping[str, Key] = {"contributor": "author", "source": "source"}
"""What sides may be kept apart by, besides blocks, and where a problem's origin says it."""

SLACK = 0.1
"""The share by which dev or test may exceed what is wanted, for the sake of whole contributors."""

BLOCK_SLACK = 0.5
"""The same for whole blocks: a twin is small, but a family may be larger than all of dev."""


@dataclass(frozen=True, slots=True)
class Former:
    """A problem of an earlier split.

    Attributes:
        problem: with the id that it had in its pool; answers do not matter.
        side: where it was; None for one that was on no side, and only ties others together.
    """

    problem: Problem
    side: Side | None


def former_sides(
    dataset: Dataset,
    order: Sequence[Sequence[int]],
    former: Sequence[Former],
    keys: Iterable[Key] = (),
) -> list[frozenset[Side]]:
    """Return for each block the sides that it was on, or what belongs to it: none for a new one.

    What belongs together is what `blocks` puts together, across the times: copies, families by the
    ids of the pool, and what looks like a twin. An id counts for nothing when another problem has
    it now.

    Args:
        dataset: the problems to be split.
        order: their blocks, joined by `keys`.
        former: what was split before.
        keys: what holds blocks together besides themselves: all of one author, all of one source.

    >>> old = Problem("a", "The _ fell.", ("cup", "jug"), 0)
    >>> new = Problem("b", "A _ rose.", ("sun", "moon"), 1)
    >>> sides = former_sides(Dataset([old, new]), [[0], [1]], [Former(old, "dev")])
    >>> [sorted(of) for of in sides]
    [['dev'], []]
    """
    keys = tuple(keys)
    both = Dataset(
        replace(p, id=f"{at}", lineage=Lineage(root, root), twin_id=twin)
        for at, (p, root, twin) in enumerate((*_now(dataset), *_then(dataset, former)))
    )
    named = [[*_keys_held(problem, keys)] for problem in both]
    found: list[frozenset[Side]] = [frozenset()] * len(dataset)
    for tree in join_blocks(blocks(both), named):
        past = [former[at - len(dataset)].side for at in tree if at >= len(dataset)]
        sides = frozenset(side for side in past if side is not None)
        for row in tree:
            if row < len(dataset):
                found[row] = sides
    return [frozenset[Side]().union(*(found[row] for row in block)) for block in order]


@dataclass(frozen=True, slots=True)
class Placed:
    """Rows that stay together, and their side.

    Attributes:
        rows: of the data set.
        side: where they go.
        former: the sides that they, or what belongs to them, were on before.
    """

    rows: tuple[int, ...]
    side: Side
    former: frozenset[Side]


def assign_sides(
    dataset: Dataset,
    order: Sequence[Sequence[int]],
    wanted: Mapping[Side, int],
    *,
    keys: Iterable[Key] = (),
    former: Sequence[Former] = (),
    counted: Collection[int] | None = None,
) -> list[Placed]:
    """Share blocks between train, dev and test.

    Where nothing was split before, sides fill one after the other, in the order of `wanted`, and
    the rest is for training. Otherwise each block stays on the side that it was on, on the first of
    train, dev and test where it was on several, and new ones go where most is missing.

    A side takes blocks until it has what is wanted, but none, such as a large family, that would
    make it more than half as large again (`BLOCK_SLACK`; two problems always fit); if every block
    is too large, the smallest. What one contributor wrote, or one source holds, may be a large part
    of everything, and any of it that is wrong is wrong together; so with `keys` a side takes only
    what leaves it at most a tenth (`SLACK`) too large. What does not fit goes to training. A tenth
    more problems make an interval five per cent narrower at the most; what more would be for is
    lost to training.

    Args:
        dataset: the problems; with `former`, with the ids of their pool.
        order: their shuffled blocks.
        wanted: how many problems dev and test are to have.
        keys: what is on one side, besides blocks: all of one author, all of one source.
        former: what was split before.
        counted: the rows that count for `wanted`, and without any of which a new block is for
            training; None counts all.

    >>> fell = [Problem(f"{at}", f"The {at} _ fell.", ("cup", f"jug {at}"), 0) for at in range(4)]
    >>> found = assign_sides(Dataset(fell), [[0, 1], [2], [3]], {"dev": 1, "test": 1})
    >>> [(part.rows, part.side) for part in found]
    [((0, 1), 'dev'), ((2,), 'test'), ((3,), 'train')]
    """
    keys = tuple(keys)
    groups: Sequence[Sequence[int]] = order
    if keys:
        groups = join_blocks(order, [[*_keys_held(problem, keys)] for problem in dataset])
    count = [sum(counted is None or row in counted for row in rows) for rows in groups]
    most = {
        side: size * (1 + SLACK) if keys else max(size * (1 + BLOCK_SLACK), 2)
        for side, size in wanted.items()
    }
    before: Sequence[frozenset[Side]] = [frozenset()] * len(groups)
    if former:
        before = former_sides(dataset, groups, former, keys)
        sides = _continued(count, list(map(side_kept, before)), wanted, most)
    else:
        sides = _filled(count, wanted, most)
    if not keys:
        _fill_empty(sides, count, wanted, [at for at, were in enumerate(before) if not were])
    return [
        Placed(tuple(rows), side, were)
        for rows, side, were in zip(groups, sides, before, strict=True)
    ]


def _filled(
    count: Sequence[int], wanted: Mapping[Side, int], most: Mapping[Side, float]
) -> list[Side]:
    """Return the side of each group: the first that is not full, or training."""
    sizes = dict.fromkeys(SIDES, 0)
    found: list[Side] = []
    for more in count:
        fitting = (side for side in wanted if _fits(more, sizes[side], wanted[side], most[side]))
        found.append(next(fitting, "train"))
        sizes[found[-1]] += more
    return found


def _continued(
    count: Sequence[int],
    before: Sequence[Side | None],
    wanted: Mapping[Side, int],
    most: Mapping[Side, float],
) -> list[Side]:
    """Return the side of each group: its old one, or that of which the least share is there."""
    sizes = dict.fromkeys(SIDES, 0)
    for more, side in zip(count, before, strict=True):
        if side is not None:
            sizes[side] += more
    wants = {**wanted, "train": sum(count) - sum(wanted.values())}
    found: list[Side] = []
    for more, old in zip(count, before, strict=True):
        if old is not None:
            found.append(old)
            continue
        short = [side for side in wanted if _fits(more, sizes[side], wanted[side], most[side])]
        short += ["train"] if sizes["train"] < wants["train"] or not short else []
        found.append(min(short, key=lambda side: sizes[side] / max(wants[side], 1)))
        sizes[found[-1]] += more
    return found


def _fits(more: int, held: int, wanted: int, most: float) -> bool:
    """Return whether a side takes a group: it is short, and not too large with it."""
    return more > 0 and held < wanted and held + more <= most


def _fill_empty(
    sides: list[Side], count: Sequence[int], wanted: Mapping[Side, int], new: Sequence[int]
) -> None:
    """Give each side that nothing fitted the smallest of the new groups that are in training."""
    for side, size in wanted.items():
        if size and not any(more for more, of in zip(count, sides, strict=True) if of == side):
            left = [at for at in new if count[at] and sides[at] == "train"]
            if left:
                sides[min(left, key=count.__getitem__)] = side


def side_kept(sides: Iterable[Side]) -> Side | None:
    """Return the side on which a block stays; None for a new one.

    >>> side_kept(["test", "dev"]), side_kept([])
    ('dev', None)
    """
    return min(sides, key=SIDES.index, default=None)


_NamedProblem = tuple[Problem, str, str | None]
"""A problem, its root, and its twin, named so that those of one time are not those of another."""


def _now(dataset: Dataset) -> Iterable[_NamedProblem]:
    return ((p, p.root, p.twin_id and f"now {p.twin_id}") for p in dataset)


def _then(dataset: Dataset, former: Sequence[Former]) -> Iterable[_NamedProblem]:
    now = {problem.id: problem for problem in dataset}
    reused = {
        old.problem.id
        for old in former
        if old.problem.id in now and not _one_problem(old.problem, now[old.problem.id])
    }
    for old in former:
        p = old.problem
        root = f"then {p.root}" if p.root in reused else p.root
        yield p, root, p.twin_id and f"then {p.twin_id}"


def _one_problem(old: Problem, new: Problem) -> bool:
    """Tell whether a problem can have become another: it has its options, or most of its words."""
    if {option.lower() for option in old.options} == {option.lower() for option in new.options}:
        return True
    a, b = (Counter(pieces(problem.sentence.lower())) for problem in (old, new))
    return (a & b).total() >= ALIKE * max(a.total(), b.total())


def _keys_held(problem: Problem, keys: Sequence[Key]) -> Iterable[Hashable]:
    values = ((key, problem.origin and getattr(problem.origin, key)) for key in keys)
    return ((key, value) for key, value in values if value is not None)
