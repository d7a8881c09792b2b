"""The published data sets, known by digests: `name_of`, `set_of`, `known_contents`.

`published.npz` has no text, but digests of 40 bits, by which a problem is known again in any file
that holds it, whatever the format. `docs/make_published.py` writes it.
"""

from __future__ import annotations

import hashlib
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.problem import BLANK, Claim, Problem
from winosmith.text import words

__all__ = [
    "HELD",
    "NEARLY_ALL",
    "Contents",
    "contents_of",
    "known_contents",
    "name_of",
    "read_contents",
    "set_of",
    "traces",
    "write_contents",
]

HELD = "published.npz"
"""The file next to this one: of each set, by its name, `NAME/whole` and `NAME/sides`."""

NEARLY_ALL = 0.9
"""The share of known sentences from which on a data set is that set, in an encoding that differs in
the others."""

SIDE = 4
"""Words that must stand before or after a blank for these to tell a problem by; ours."""

_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True, slots=True)
class Contents:
    """What a data set holds, as digests, where its text is not available.

    Attributes:
        name: of the data set, in lower case, as sources name it.
        whole: of its sentences; see `traces`.
        sides: of what is on either side of a blank, with the options.
    """

    name: str
    whole: frozenset[int]
    sides: frozenset[int]


def name_of(sentence: str) -> str | None:
    """Return the name of the published set that holds a sentence; None if none does.

    >>> name_of("The trophy doesn't fit into the brown suitcase because _ is too large.")
    'WSC'
    """
    return next(iter(_names_of(sentence)), None)


def set_of(dataset: Dataset) -> str | None:
    """Return the name of the published set that nearly all problems are of; None if there is none.

    >>> set_of(Dataset([Problem("a", "The _ fell.", ("cup", "jug"))])) is None
    True
    """
    found = Counter(name for problem in dataset for name in _names_of(problem.sentence))
    name, count = next(iter(found.most_common(1)), (None, 0))
    return name if count >= NEARLY_ALL * len(dataset) else None


def known_contents(name: str) -> Contents:
    """Return what a published data set holds, by the name that `winosmith data` has for it.

    Of KnowRef only the test part is public as it stands.

    Raises:
        InputError: its contents are not known; the message lists those that are.

    >>> known_contents("WSC").name, len(known_contents("wsc").whole) > 285
    ('wsc', True)
    """
    known = {told.casefold(): told for told in _held("whole")}
    low = name.casefold().replace("_", "-")
    if low not in known:
        raise InputError(
            f"the contents of {name!r} are not known; known are {', '.join(known)}. Give the file, "
            f"or name a corpus that is not here as other:{name}"
        )
    return Contents(low, _held("whole")[known[low]], _held("sides")[known[low]])


def contents_of(name: str, items: Iterable[Problem | Claim]) -> Contents:
    """Return what a data set holds."""
    found = [traces(item) for item in items]
    return Contents(
        name.casefold(),
        frozenset().union(*(whole for whole, _ in found)),
        frozenset().union(*(sides for _, sides in found)),
    )


BESIDE = "trained_on.npz"
"""The file next to a model's weights that holds digests of what it was trained on."""


def write_contents(folder: Path, items: Iterable[Problem | Claim], *before: Contents) -> Path:
    """Write down next to a model what it was trained on, as digests, and return the file.

    Args:
        folder: of the model.
        items: what it was trained on.
        before: what the model that it was made from was trained on.
    """
    found = (contents_of("", items), *before)
    whole, sides = (
        np.array(sorted(set().union(*(getattr(held, which) for held in found))), np.uint64)
        for which in ("whole", "sides")
    )
    with (folder / BESIDE).open("wb") as file:
        np.savez(file, whole=whole, sides=sides)
    return folder / BESIDE


def read_contents(folder: Path) -> tuple[Contents, ...]:
    """Return what the model in a folder was trained on; nothing if nobody wrote it down.

    The folder of a run of `winosmith train` stands for the `model/` in it.

    Raises:
        InputError: what was written down can't be read.
    """
    paths = (folder / BESIDE, folder / "model" / BESIDE)
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        return ()
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            whole, sides = (frozenset(arrays[which].tolist()) for which in ("whole", "sides"))
    except (OSError, EOFError, ValueError, KeyError, TypeError, BadZipFile, zlib.error) as error:
        raise InputError(
            f"{path}: this can't be read as what the model was trained on ({error}). Copy the "
            "model again, or train it again; without the file nobody knows what it has seen"
        ) from None
    return (Contents("what it was trained on", whole, sides),)


def traces(item: Problem | Claim) -> tuple[frozenset[int], frozenset[int]]:
    """Return digests of 40 bits by which a problem is known where its text is not available.

    Letters and digits count, in any case, without articles. Among 50,000 digests, one of 50,000
    others is found by chance once in 400 times.

    Returns:
        Of its sentence, without the blank and, where its pronoun is known, with that; and, of a
        problem, of what stands before its blank and of what stands after it, each with the
        options: a half of its twin has one of them, as have most problems perturbed from it.

    >>> one = Problem("a", "Ann thanked Eva as _ had been kind.", ("Ann", "Eva"), 1)
    >>> two = Problem("b", "Ann thanked Eva as _ was helped.", ("Eva", "Ann"), 1)
    >>> [bool(a & b) for a, b in zip(traces(one), traces(two))]
    [False, True]
    """
    if isinstance(item, Problem):
        before, after = item.before, item.after
    else:
        before, _, after = item.sentence.partition(BLANK)
    whole = {_digest(item.sentence)}
    if item.pronoun is not None:
        whole.add(_digest(f"{before} {item.pronoun} {after}"))
    if not isinstance(item, Problem):
        return frozenset(whole), frozenset()
    options = sorted(map(_letters, item.options))
    sides = (("before", before), ("after", after))
    return frozenset(whole), frozenset(
        _digest_of("\0".join((name, _letters(side), *options)))
        for name, side in sides
        if len(words(side)) >= SIDE
    )


def _digest(sentence: str) -> int:
    """Return what a sentence is known by."""
    return _digest_of(_letters(sentence))


def _letters(text: str) -> str:
    """Return the letters and digits of a text, without articles and the blank.

    The encodings of one set differ in case, punctuation, and in what belongs to an option ("the _",
    or "_" with "the trophy").
    """
    parts = text.casefold().replace(BLANK, " ").split()
    kept = ("".join(filter(str.isalnum, part)) for part in parts)
    return "".join(word for word in kept if word not in _ARTICLES)


def _digest_of(letters: str) -> int:
    coded = letters.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(coded, digest_size=5).digest())


def _names_of(sentence: str) -> list[str]:
    """Return the names of the sets that hold a sentence, in the order of the file."""
    digest = _digest(sentence)
    return [name for name, digests in _held("whole").items() if digest in digests]


@cache
def _held(which: str) -> Mapping[str, frozenset[int]]:
    """Return the digests of each set, "whole" or "sides", in the order of the file."""
    with (
        resources.as_file(resources.files("winosmith") / HELD) as path,
        np.load(path, allow_pickle=False) as arrays,
    ):
        return {
            key.removesuffix(f"/{which}"): frozenset(arrays[key].tolist())
            for key in arrays.files
            if key.endswith(f"/{which}")
        }
