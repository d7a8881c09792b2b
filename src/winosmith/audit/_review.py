"""What a reviewer of a set looks for besides cues: options, copies, splits, fields, positions."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from sys import intern
from typing import Any

import numpy as np

from winosmith.audit._items import has_unfilled_field, uneven
from winosmith.audit._pace import Step, paced
from winosmith.blocks import copies as rows_of_copies, plain
from winosmith.data import file_of
from winosmith.dataset import Dataset
from winosmith.formats import content
from winosmith.lookalikes import Partners, find, of_both
from winosmith.metrics import Copies, Leak, columns, copies, leaks
from winosmith.problem import Problem
from winosmith.results import Result
from winosmith.text import pieces, visible

ALIKE = 0.8
"""Near-duplicates share this many of the words that either holds (Jaccard 1901)."""

MOST = 20
"""An item is told beside so many others that it is like, at most: a template's are like all."""

SHOWN = 5
"""How many ids are named of each kind."""


_CARDS = (
    "readme*",
    "datasheet*",
    "licen[cs]e*",
    "copying*",
    "canary*",
    "*info*.json",
    "croissant*",
)
"""Files next to a set that say what it is, in any case."""

_GUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_CANARY = re.compile(rf"canary\b.{{0,80}}?({_GUID})", re.IGNORECASE | re.DOTALL)
"""A canary: the word, and soon a GUID (Srivastava et al. 2022, BIG-bench)."""

_LICENCE = re.compile(
    r"""^\W*licen[cs]e\W*:\s*["'*]*([^"'*\n,{\[]+)|^\#+\s*licen[cs](?:e|ing)\b[^\n]*\n+([^\n]+)""",
    re.IGNORECASE | re.MULTILINE,
)
"""A licence in a card: "license: mit", "- **License:** MIT", "## License" and the line after it."""

_ENDS = " .,;:"
"""What an option may end with and still be the same."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What a file, or a card next to it, declares.

    Attributes:
        licence: what it says, and where; None if nothing does.
        canary: the same of the string by which training data can be searched for the set.
    """

    licence: tuple[str, str] | None
    canary: tuple[str, str] | None

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        found = {"licence": self.licence, "canary": self.canary}
        return {name: one and {"says": one[0], "where": one[1]} for name, one in found.items()}


def declared(path: str | Path, dataset: Dataset | None = None) -> Declared:
    """Look for a licence and a canary in a file, its items, and the cards next to it.

    Cards are files such as README.md, LICENSE or croissant.json in the same folder, and in the
    folder above if that of the file is `data`.

    Args:
        path: the file.
        dataset: its items, whose `origin` may state a licence.
    """
    path = Path(file_of(str(path))).absolute()
    folders = [path.parent, *([path.parent.parent] if path.parent.name == "data" else [])]
    cards = [
        file
        for folder in folders
        for file in sorted(folder.iterdir())
        if file != path
        and file.is_file()
        and any(fnmatchcase(file.name.lower(), card) for card in _CARDS)
    ]
    texts = {file.name: file.read_text("utf-8", errors="replace") for file in cards}
    stated = {p.origin.licence for p in dataset or () if p.origin and p.origin.licence}
    licence = (", ".join(sorted(stated)), "its items") if stated else _licence(texts)
    whole = {path.name: content(path).decode("utf-8", errors="replace")} | texts
    marks = ((_CANARY.search(text), name) for name, text in whole.items())
    return Declared(licence, next(((mark[1], name) for mark, name in marks if mark), None))


def _licence(texts: Mapping[str, str]) -> tuple[str, str] | None:
    for name, text in texts.items():
        if fnmatchcase(name.lower(), "licen[cs]e*") or name.lower().startswith("copying"):
            first = next(filter(None, map(str.strip, text.splitlines())), None)
            if first:
                return first, name
        if found := _LICENCE.search(text):
            return (found[1] or found[2]).strip(), name
    return None


def _listed(key: str) -> dict[str, Any]:
    """Return the metadata of ids, of which the record has the number and the first few."""
    return {"key": key, "json": lambda ids: {"count": len(ids), "examples": ids[:SHOWN]}}


@dataclass(frozen=True, slots=True)
class Review(Result):
    """What is found in one split; all ids in its order.

    Attributes:
        equal: items with options that differ in case or in a mark at the end alone.
        uneven: items with another number of options than most items have.
        unfilled: items with a field of a template, such as `{{answer}}`, that was not filled in.
        copies: identical items, those with contradictory keys among them.
        alike: pairs that share four fifths of their words, twins and copies apart.
        differing: those of `alike` whose answers are different texts, the pairs with the same
            options first. A key may be wrong there, or a word that differs changes the answer.
        leaks: fields that give the answer away; None if there are too few items to tell.
        unlicensed: how many items state no licence.
        withheld: how many items have no key.
    """

    equal: tuple[str, ...] = field(metadata=_listed("equal_options"))
    uneven: tuple[str, ...] = field(metadata=_listed("other_number_of_options"))
    unfilled: tuple[str, ...] = field(metadata=_listed("unfilled_fields"))
    copies: Copies = field(metadata={"json": "flat"})
    alike: tuple[tuple[str, str], ...] = field(metadata=_listed("near_duplicates"))
    differing: tuple[tuple[str, str], ...] = field(metadata=_listed("near_duplicates_that_differ"))
    leaks: tuple[Leak, ...] | None
    unlicensed: int = field(metadata={"key": "without_licence"})
    withheld: int = field(metadata={"key": "without_key"})


def review(dataset: Dataset, seed: int = 0, step: Step = lambda _: None) -> Review:
    """Look one split through.

    Args:
        dataset: the split.
        seed: of the folds that fields are tried on.
        step: is called with how far this is, where it takes minutes.
    """
    alike = _near(dataset, step)
    return Review(
        tuple(p.id for p in dataset if len({*map(_bare, p.options)}) < len(p.options)),
        uneven(dataset),
        tuple(p.id for p in dataset if has_unfilled_field(p)),
        copies(dataset),
        tuple((one.id, other.id) for one, other in alike),
        tuple((one.id, other.id) for one, other in _differing(alike)),
        _fields(dataset, seed, step),
        sum(not (problem.origin and problem.origin.licence) for problem in dataset),
        sum(answer is None for answer in dataset.answers),
    )


def _bare(option: str) -> str:
    """Return an option without what may differ in the same one."""
    return plain(option).rstrip(_ENDS)


def _fields(dataset: Dataset, seed: int, step: Step) -> tuple[Leak, ...] | None:
    """Return the leaks of fields; what options tell is for the cues."""
    if not any(answer is not None for answer in dataset.answers):
        return None
    tried = 1 + sum(1 for _ in columns(dataset))
    found = leaks(dataset, seed, paced(step, "fields", tried, "fields"))
    return found and tuple(leak for leak in found if leak.field != "options")


def _near(dataset: Dataset, step: Step) -> list[tuple[Problem, Problem]]:
    same = {row: at for at, rows in enumerate(rows_of_copies(dataset)) for row in rows}
    pairs = near(list(dataset), step=step)
    return [
        (dataset[one], dataset[other])
        for one, other in pairs
        if not (one in same and same[one] == same.get(other))
        and not _twins(dataset[one], dataset[other])
    ]


def _differing(pairs: Sequence[tuple[Problem, Problem]]) -> list[tuple[Problem, Problem]]:
    """Return the pairs whose answers are different texts, those with the same options first."""
    same: list[tuple[Problem, Problem]] = []
    others: list[tuple[Problem, Problem]] = []
    for one, other in pairs:
        if one.answer is not None and other.answer is not None:
            ours, theirs = ([*map(_bare, problem.options)] for problem in (one, other))
            if ours[one.answer] != theirs[other.answer]:
                (same if sorted(ours) == sorted(theirs) else others).append((one, other))
    return same + others


def _twins(one: Problem, other: Problem) -> bool:
    """Return whether two problems are alike by design: a twin, or a family."""
    return one.root == other.root or (one.twin_id is not None and one.twin_id == other.twin_id)


def near(
    problems: Sequence[Problem],
    owners: Sequence[Hashable] | None = None,
    step: Step = lambda _: None,
) -> list[tuple[int, int]]:
    """Return the pairs of items that share `ALIKE` of the words that either holds.

    A pair is omitted only where both its items are reported next to `MOST` others, as those of a
    template are: of ten thousand of them there would be fifty million pairs.

    Args:
        problems: the items.
        owners: of each; only items of different ones are paired. All with all when omitted.
        step: is called with how far this is, where it takes minutes.
    """
    if not problems:
        return []
    texts = (visible(" ".join((p.sentence, *sorted(p.options)))).lower() for p in problems)
    number: dict[Hashable, int] = {}
    owner = None
    if owners is not None:
        owner = np.array([number.setdefault(one, len(number)) for one in owners])
    found = Partners(np.full(len(problems), MOST), owner)
    words = [tuple({*map(intern, pieces(text))}) for text in texts]  # each word held once
    tell = paced(step, "near copies", len(words), "items")
    find(words, of_both(ALIKE), found, owner, tell)
    return sorted(found.pairs)


def across(
    splits: Mapping[str, Dataset], step: Step = lambda _: None
) -> dict[tuple[str, str], tuple[tuple[str, str], ...]]:
    """Return, for each two splits that share items, the pairs of ids that are copies or alike."""
    owners = [name for name, dataset in splits.items() for _ in dataset]
    problems = [problem for dataset in splits.values() for problem in dataset]
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for one, other in near(problems, owners, step) if len(splits) > 1 else ():
        pair = (problems[one].id, problems[other].id)
        found.setdefault((owners[one], owners[other]), []).append(pair)
    return {names: tuple(pairs) for names, pairs in found.items()}


def shared(pairs: Sequence[tuple[str, str]]) -> int:
    """Return how many items of the second split the first one has."""
    return len({other for _, other in pairs})


def leaked(one: str, other: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Say how many items of a split another one has.

    >>> leaked("train", "test", [("a", "x"), ("b", "x")])
    'train has 1 item of test'
    """
    items = shared(pairs)
    return f"{one} has {items:,} item{'s' * (items != 1)} of {other}"
