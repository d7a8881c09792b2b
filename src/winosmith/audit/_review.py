"""Check a data set for flaws other than cues: options, copies, fields and splits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from sys import intern
from typing import Any

import numpy as np

from winosmith import formats
from winosmith.audit._items import Step, make_reporter
from winosmith.blocks import find_copies as rows_of_copies, normalize_tokens
from winosmith.dataset import Dataset
from winosmith.lookalikes import PartnerCollector, find_pairs, make_jaccard_threshold
from winosmith.metrics import Copies, Leak, find_copies, find_leaks, iterate_columns
from winosmith.parallel import pause_garbage_collection
from winosmith.problem import Problem
from winosmith.results import Result
from winosmith.text import fold, split_pieces

MIN_SIMILARITY = 0.8
"""Minimum Jaccard similarity of the words of near-duplicates (Jaccard 1901)."""

MAX_NEAR_DUPLICATES = 20
"""Maximum number of near-duplicates that are reported for an item."""

MAX_LISTED_IDS = 5
"""Maximum number of ids in the record of each finding."""

_FINAL_PUNCTUATION = " .,;:"
"""Final characters that are ignored when options are compared."""


def _make_ids_metadata(key: str) -> dict[str, Any]:
    return {"key": key, "json": lambda ids: {"count": len(ids), "examples": ids[:MAX_LISTED_IDS]}}


@dataclass(frozen=True, slots=True)
class Review(Result):
    """The findings in one split, with ids in the order of the split.

    Attributes:
        equal_option_ids: items with options that differ only in case or in a final mark.
        uneven_ids: items whose number of options differs from that of most items.
        unfilled_ids: items with an unfilled template field, such as `{{answer}}`.
        copies: identical items, and the groups of identical items with contradictory keys.
        near_duplicates: pairs that share four fifths of their words, except twins and copies.
        differing_pairs: the pairs of `near_duplicates` with different answers, starting with pairs
            that have the same options. One of the keys may be wrong, or a different word changes
            the answer.
        leaks: fields that give the answer away; None if there are too few items.
        withheld_count: number of items without a key.
    """

    equal_option_ids: tuple[str, ...] = field(metadata=_make_ids_metadata("equal_options"))
    uneven_ids: tuple[str, ...] = field(metadata=_make_ids_metadata("other_number_of_options"))
    unfilled_ids: tuple[str, ...] = field(metadata=_make_ids_metadata("unfilled_fields"))
    copies: Copies = field(metadata={"json": "flat"})
    near_duplicates: tuple[tuple[str, str], ...] = field(
        metadata=_make_ids_metadata("near_duplicates")
    )
    differing_pairs: tuple[tuple[str, str], ...] = field(
        metadata=_make_ids_metadata("near_duplicates_that_differ")
    )
    leaks: tuple[Leak, ...] | None
    withheld_count: int = field(metadata={"key": "without_key"})


@pause_garbage_collection()
def review(
    dataset: Dataset | formats.Readable, seed: int = 0, step: Step = lambda _: None
) -> Review:
    """Review one split for copies, leaking fields and flaws in options.

    Args:
        dataset: the split, as a data set or any input of `formats.read`.
        seed: random seed of the folds for the test of fields.
        step: called with progress reports if the review takes minutes.
    """
    dataset = formats.as_dataset(dataset)
    copy_of = {row: at for at, rows in enumerate(rows_of_copies(dataset)) for row in rows}
    alike = [
        (dataset[one], dataset[other])
        for one, other in find_near_duplicates(list(dataset), step=step)
        if not (one in copy_of and copy_of[one] == copy_of.get(other))
        and dataset[one].root != dataset[other].root
        and (dataset[one].twin_id is None or dataset[one].twin_id != dataset[other].twin_id)
    ]
    with_same_options, others = list[tuple[str, str]](), list[tuple[str, str]]()
    for one, other in alike:  # pairs with different answers
        if one.answer is not None and other.answer is not None:
            ours, theirs = ([*map(_normalise_option, problem.options)] for problem in (one, other))
            if ours[one.answer] != theirs[other.answer]:
                is_same = sorted(ours) == sorted(theirs)
                (with_same_options if is_same else others).append((one.id, other.id))
    leaks = None
    if any(answer is not None for answer in dataset.answers):
        tried = 2 + sum(1 for _ in iterate_columns(dataset))  # after the options and their spacing
        leaks = find_leaks(dataset, seed, make_reporter(step, "fields", tried, "fields"))
    counts = Counter(len(problem.options) for problem in dataset)
    usual, often = max(counts.items(), key=lambda one: one[1], default=(0, 0))
    is_usual = 2 * often > len(dataset)
    return Review(
        tuple(p.id for p in dataset if len({*map(_normalise_option, p.options)}) < len(p.options)),
        tuple(p.id for p in dataset if is_usual and len(p.options) != usual),
        tuple(p.id for p in dataset if _has_unfilled_field(p)),
        find_copies(dataset),
        tuple((one.id, other.id) for one, other in alike),
        (*with_same_options, *others),
        leaks and tuple(leak for leak in leaks if leak.field != "options"),
        sum(answer is None for answer in dataset.answers),
    )


def _normalise_option(option: str) -> str:
    return normalize_tokens(option).rstrip(_FINAL_PUNCTUATION)


_WHOLE_FIELD = re.compile(r"\s*\{\s*[A-Za-z_]\w{2,}\s*\}\s*")
_FIELD = re.compile(
    r"\{\{\s*[A-Za-z_]\w{2,}\s*\}\}|(?<![\w\\])[{<](?:correct_?)?(?:answer|option|choice"
    r"|question|context|passage|sentence|premise|hypothesis|label|target|placeholder|name)"
    r"(?:_?(?:\d+|[A-Za-z]))?[}>]",
    re.IGNORECASE,
)
"""Unfilled template fields: any field as a whole option; within a text, only fields with usual
template names, because code and formulas also contain braces."""


def _has_unfilled_field(problem: Problem) -> bool:
    r"""Return whether an item's text or options contain an unfilled template field.

    >>> [_has_unfilled_field(Problem("q", text, (option, "b"), blank=None)) for text, option in
    ...  [("Why?", "<answer>"), ("Is {{answerA}} so?", "a"), (r"\text{answer} in {x}", "a")]]
    [True, True, False]
    """
    return any(map(_WHOLE_FIELD.fullmatch, problem.options)) or any(
        map(_FIELD.search, (problem.sentence, *problem.options))
    )


def find_near_duplicates(
    problems: Sequence[Problem],
    owners: Sequence[Hashable] | None = None,
    step: Step = lambda _: None,
) -> list[tuple[int, int]]:
    """Find the pairs of items whose words have a Jaccard similarity of at least `MIN_SIMILARITY`.

    A pair is omitted only if both items are reported with `MAX_NEAR_DUPLICATES` other items.
    Without this limit, ten thousand items from one template would make fifty million pairs. If
    items have `owners`, only items of different owners are paired.
    """
    if not problems:
        return []
    texts = (fold(" ".join((p.sentence, *sorted(p.options)))) for p in problems)
    number: dict[Hashable, int] = {}
    owner = None
    if owners is not None:
        owner = np.array([number.setdefault(one, len(number)) for one in owners])
    found = PartnerCollector(np.full(len(problems), MAX_NEAR_DUPLICATES), owner)
    words = [tuple({*map(intern, split_pieces(text))}) for text in texts]  # share equal strings
    report_done = make_reporter(step, "near-duplicates", len(words), "items")
    find_pairs(words, make_jaccard_threshold(MIN_SIMILARITY), found, owner, report_done)
    return sorted(found.pairs)


def find_shared_items(
    splits: Mapping[str, Dataset], step: Step = lambda _: None
) -> dict[tuple[str, str], tuple[tuple[str, str], ...]]:
    """Map each pair of splits to the id pairs of their shared items and near-duplicates."""
    owners = [name for name, dataset in splits.items() for _ in dataset]
    problems = [problem for dataset in splits.values() for problem in dataset]
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for one, other in find_near_duplicates(problems, owners, step) if len(splits) > 1 else ():
        pair = (problems[one].id, problems[other].id)
        found.setdefault((owners[one], owners[other]), []).append(pair)
    return {names: tuple(pairs) for names, pairs in found.items()}
