"""Items as arrays, with the units whose keys are drawn together under the null."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from winosmith.audit._cues import SCRIPTS, Corpus, Cue, Ties, View, count_ties, detect_classes
from winosmith.blocks import find_blocks, normalize_tokens
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.parallel import pause_garbage_collection
from winosmith.problem import MAX_OPTIONS, Problem
from winosmith.results import HIDDEN, Result
from winosmith.text import Writing, format_count

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

ReportDone = Callable[[int], None]
"""A callback that receives the amount of completed work."""

Step = Callable[[str], None]
"""A callback that receives a description of the next step."""

MIN_BLOCKS = 50
"""Minimum number of blocks for training a model."""

_REPORT_INTERVAL = 60
"""Number of seconds between progress reports within a step."""

TIE_SHARES: Floats = np.concatenate([[0.0], 1 / np.arange(1, MAX_OPTIONS + 1)])
"""The score of a key by its value in `Items.count_ties`: 1 / n in a tie of n options."""

_BATCH_SIZE = 1000
"""Number of items whose views are held in memory at the same time."""


@dataclass(frozen=True)
class Items(Result):
    """The items of a data set that have a key, in an order that doesn't depend on their rows.

    The items of a block with the same options form a *unit*. A new key of a unit changes the keys
    of all its items, so that copies share a draw and the halves of a twin keep opposite keys. The
    items of a unit are consecutive. Options are numbered consecutively over all items.

    Attributes:
        problems: the items in this order.
        rows: (n,) row of each item in the data set.
        keys: (n,) position of each item's key.
        texts: the options of each item, normalised for comparison.
        block: (n,) number of each item's block.
        unit: (n,) number of each item's unit, ascending.
    """

    problems: tuple[Problem, ...] = field(metadata={"json": len})
    rows: Ints = field(metadata=HIDDEN)
    keys: Ints = field(metadata=HIDDEN)
    texts: tuple[tuple[str, ...], ...] = field(metadata=HIDDEN)
    block: Ints = field(metadata=HIDDEN)
    unit: Ints = field(metadata=HIDDEN)

    @classmethod
    @pause_garbage_collection()
    def from_dataset(cls, dataset: Dataset) -> Items:
        """Return the items of a data set that have a key.

        Raises:
            DataError: no item has a key.
        """
        answered = [row for row, problem in enumerate(dataset) if problem.answer is not None]
        if not answered:
            raise DataError("no item has a key; omit this file, or name the answers with `answer=`")
        texts = {row: normalise_options(dataset[row]) for row in answered}
        block_of = {row: at for at, rows in enumerate(_find_blocks(dataset)) for row in rows}

        def sort_key(row: int) -> tuple[object, ...]:
            sentence, key = dataset[row].sentence, texts[row][dataset[row].answer or 0]
            return tuple(sorted(texts[row])), normalize_tokens(sentence), key, sentence

        order = sorted(answered, key=sort_key)
        first: dict[int, int] = {}
        unit_of: dict[tuple[int, frozenset[str]], int] = {}
        units = []
        for row in order:
            block = first.setdefault(block_of[row], len(first))
            units.append(unit_of.setdefault((block, frozenset(texts[row])), len(unit_of)))
        along = np.argsort(units, kind="stable")
        order = [order[at] for at in along]
        return cls(
            tuple(dataset[row] for row in order),
            np.array(order),
            np.array([dataset[row].answer for row in order]),
            tuple(texts[row] for row in order),
            np.array([first[block_of[row]] for row in order]),
            np.array(units)[along],
        )

    def __len__(self) -> int:
        return len(self.problems)

    def subset(self, mask: Bools) -> Items:
        """Select whole units of items; the scores of cues remain those of the whole data set."""
        found = Items(
            tuple(p for p, is_in in zip(self.problems, mask, strict=True) if is_in),
            self.rows[mask],
            self.keys[mask],
            tuple(texts for texts, is_in in zip(self.texts, mask, strict=True) if is_in),
            np.unique(self.block[mask], return_inverse=True)[1],
            np.unique(self.unit[mask], return_inverse=True)[1],
        )
        of_chosen = np.repeat(mask, self.counts)
        vars(found)["corpus"] = self.corpus
        vars(found)["_cached_ties"] = {
            at: (cue, ties[of_chosen]) for at, (cue, ties) in self._cached_ties.items()
        }
        return found

    def with_keys(self, unit_key: Ints) -> Items:
        """Return the same items with different keys.

        Args:
            unit_key: (units,) position of the key in each unit's first item.
        """
        found = replace(self, keys=self.find_correct_options(unit_key) - self.starts)
        same = ("corpus", "scripts", "_cached_ties", "counts", "starts", "unit_starts", "weights")
        for name in same:
            vars(found)[name] = getattr(self, name)
        return found

    @cached_property
    def counts(self) -> Ints:
        """Number of options of each item, (n,)."""
        return np.array([len(texts) for texts in self.texts])

    @cached_property
    def starts(self) -> Ints:
        """Index of each item's first option in the flat list of options, (n,)."""
        return np.concatenate([[0], np.cumsum(self.counts)[:-1]])

    @cached_property
    def unit_starts(self) -> Ints:
        """The index of each unit's first item, (units,)."""
        return np.flatnonzero(np.diff(self.unit, prepend=-1))

    @cached_property
    def originals(self) -> Ints:
        """Index of each item's original, (n,); its own index if the item is not a copy."""
        seen: dict[tuple[int, str], int] = {}
        named = zip(self.unit.tolist(), self.problems, strict=True)
        same = ((unit, normalize_tokens(problem.sentence)) for unit, problem in named)
        return np.array([seen.setdefault(one, at) for at, one in enumerate(same)])

    @property
    def block_count(self) -> int:
        """Number of blocks."""
        return int(self.block.max()) + 1

    def find_ids_of_first_shared_block(self) -> list[str]:
        """Return the ids of the first block that has several items; empty if there is none."""
        shared = np.flatnonzero(np.bincount(self.block) > 1)
        return [self.problems[at].id for at in np.flatnonzero(np.isin(self.block, shared[:1]))]

    @cached_property
    def weights(self) -> Floats:
        """Training weight of each item, (n,): an item and its copies have a total weight of 1."""
        return np.asarray(1 / np.bincount(self.originals)[self.originals])

    @cached_property
    def chance(self) -> float:
        """Accuracy of random guessing, 0–1."""
        return float((1 / self.counts).mean())

    @cached_property
    def key_options(self) -> Ints:
        """The index of each item's key for each position of its unit's key, (n, most options).

        Positions beyond an item's options get the total number of options as their index.
        """
        positions = np.arange(int(self.counts.max()))
        exists = positions < self.counts[:, None]
        table = np.where(exists, self.starts[:, None] + positions, int(self.counts.sum()))
        ends = np.append(self.unit_starts, len(self))
        for unit in np.flatnonzero(np.diff(ends) > 1).tolist():
            first, end = int(ends[unit]), int(ends[unit + 1])
            lead, key = self.texts[first], int(self.keys[first])
            count = len(lead)
            place = {text: at for at, text in enumerate(lead)}
            for item in range(first, end):
                own = [place[text] for text in self.texts[item]]
                here = np.empty(count, int)
                here[own] = np.arange(count)
                shift = own[int(self.keys[item])] - key
                table[item, :count] = self.starts[item] + here[(shift + np.arange(count)) % count]
        return table

    @cached_property
    def unit_key(self) -> Ints:
        """Position of the key in each unit's first item, (units,)."""
        return self.keys[self.unit_starts]

    @cached_property
    def unit_counts(self) -> Ints:
        """Number of options of each unit, (units,)."""
        return self.counts[self.unit_starts]

    def find_correct_options(self, unit_key: Ints) -> Ints:
        """Return the index of each item's correct option, (n,), given the keys of the units."""
        return self.key_options[np.arange(len(self)), unit_key[self.unit]]

    def compute_unit_scores(self, values: Floats | Ties, units: slice = slice(None)) -> Floats:
        """Return the score of each unit for each position that its key could have.

        Args:
            values: (options, columns) the score of each option as the key, or the result of
                `count_ties`.
            units: the units; by default all.

        Returns:
            (units, most options, columns) the scores; 0 for positions beyond a unit's options.
        """
        _, end, _ = units.indices(len(self.unit_starts))
        leads = self.unit_starts[units]
        key_options = self.key_options[
            leads[0] : self.unit_starts[end] if end < len(self.unit_starts) else None
        ]
        found = values[np.minimum(key_options, len(values) - 1)]
        found[key_options == len(values)] = 0
        own: Floats = (
            TIE_SHARES[found] if found.dtype == np.uint8 else found.astype(float, copy=False)
        )
        return np.add.reduceat(own, leads - leads[0], axis=0) if len(own) > len(leads) else own

    def select_readable_cues(self, cues: Sequence[Cue]) -> list[Cue]:
        """Return the cues that can read at least one item."""
        return [cue for cue in cues if not self.scripts.isdisjoint(SCRIPTS[cue.needs])]

    @pause_garbage_collection()
    def count_ties(self, cues: Sequence[Cue], report_done: ReportDone = lambda _: None) -> Ties:
        """Count the options that the cue selects in the same item, for each option that it selects.

        The result has the shape (options, cues). It is 0 for options that the cue does not select.
        Items are processed in parts to save memory.

        Args:
            cues: the cues.
            report_done: called repeatedly with the number of processed items.

        Raises:
            DataError: a cue gives invalid scores.
        """
        options = int(self.counts.sum())
        new = {id(cue): cue for cue in cues if id(cue) not in self._cached_ties}
        missing = {at: (cue, np.empty(options, np.uint8)) for at, cue in new.items()}
        for first in range(0, len(self) if missing else 0, _BATCH_SIZE):
            views, start = [*self.iter_views(first, first + _BATCH_SIZE)], int(self.starts[first])
            for cue, ties in missing.values():
                found = count_ties(cue, views)
                ties[start : start + len(found)] = found
            report_done(first + len(views))
        self._cached_ties.update(missing)
        columns = np.empty((options, len(cues)), np.uint8)
        for at, cue in enumerate(cues):
            columns[:, at] = self._cached_ties[id(cue)][1]
        return columns

    def find_first_solved_id(self, cue: str) -> str:
        """Return the id of the first item whose key a cue selects; "" if there is none."""
        ties = next((ties for known, ties in self._cached_ties.values() if known.name == cue), None)
        hit = np.flatnonzero(ties[self.starts + self.keys]) if ties is not None else self.keys[:0]
        return self.problems[hit[self.rows[hit].argmin()]].id if len(hit) else ""

    @cached_property
    def _cached_ties(self) -> dict[int, tuple[Cue, Ties]]:
        """Results of `count_ties` by the `id` of the cue, because a cue may not be hashable."""
        return {}

    @cached_property
    def corpus(self) -> Corpus:
        """Frequencies in the options of each unit's first item, so that copies are counted once."""
        return Corpus.from_options([self.problems[lead].options for lead in self.unit_starts])

    @cached_property
    def scripts(self) -> frozenset[Writing]:
        """Kinds of script of the items; see `View`."""
        return frozenset(view.script for view in self.iter_views())

    def iter_views(self, first: int = 0, end: int | None = None) -> Iterator[View]:
        """Yield the views of the items from `first` to `end`, excluding `end`."""
        return (View(p.sentence, p.options, self.corpus) for p in self.problems[first:end])


def _find_blocks(dataset: Dataset) -> list[list[int]]:
    """Find the blocks of items, without joining look-alikes whose options are classes.

    Look-alikes are usually twins without an id. If options are classes, look-alikes come from a
    template, and a thousand of them would share one draw.
    """
    together = find_blocks(dataset)
    classes = detect_classes(dataset)
    if not any(classes):
        return together
    apart = {
        row: at for at, rows in enumerate(find_blocks(dataset, lookalikes=False)) for row in rows
    }
    found: list[list[int]] = []
    for rows in together:
        if not any(classes[row] for row in rows):
            found.append(rows)
            continue
        parted: dict[int, list[int]] = {}
        for row in rows:
            parted.setdefault(apart[row], []).append(row)
        found += parted.values()
    return found


def normalise_options(problem: Problem) -> tuple[str, ...]:
    """Return a distinct text for each option, for comparison with other items.

    Case is ignored unless options differ only in case.
    """
    for alike in (normalize_tokens, str.strip):
        texts = tuple(map(alike, problem.options))
        if len({*texts}) == len(texts):
            return texts
    return tuple(f"{at} {text}" for at, text in enumerate(problem.options))


def split_ties(scores: Floats, starts: Ints, counts: Ints, tolerance: float = 0.0) -> Floats:
    """Return 1 / n for the n options that tie for an item's highest score, and 0 for the others."""
    best = scores >= np.repeat(np.maximum.reduceat(scores, starts), counts) - tolerance
    return np.asarray(best / np.repeat(np.add.reduceat(best.astype(float), starts), counts))


def make_reporter(step: Step, title: str, total: int, unit: str) -> ReportDone:
    """Make a callback that reports a step's progress and remaining time once a minute.

    Args:
        step: called with each report.
        title: description of the step.
        total: amount of work in the step.
        unit: unit of work, in the plural.
    """
    began = last = monotonic()

    def report_done(done: int) -> None:
        nonlocal last
        now = monotonic()
        if 0 < done < total and now - last >= _REPORT_INTERVAL:
            last = now
            left = ceil((now - began) / 60 * (total - done) / done)
            step(
                f"{title}: {done:,} of {total:,} {unit}, about {format_count(left, 'minute')} left"
            )

    return report_done
