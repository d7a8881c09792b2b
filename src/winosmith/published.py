"""Recognise published data sets by digests of their sentences.

`published.npz` contains no text, only 40-bit digests that identify a problem in any file format.
`docs/make_published.py` generates the file.
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
from winosmith.text import split_words

DIGESTS_RESOURCE = "published.npz"
"""Name of the file that contains the arrays `NAME/whole` and `NAME/sides` for each data set."""

NEARLY_ALL = 0.9
"""Minimum fraction of known sentences for a data set to be recognised."""

MIN_SIDE_WORDS = 4
"""Minimum number of words before or after a blank that identify a problem (our choice)."""

_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True, slots=True)
class Digests:
    """Digests of the problems in a data set.

    Attributes:
        name: the name of the data set, in lower case.
        sides: digests of the text before or after a blank, with the options.
    """

    name: str
    whole: frozenset[int]
    sides: frozenset[int]


def find_source_name(sentence: str) -> str | None:
    """Return the name of the published data set that contains a sentence, or None.

    >>> find_source_name("The trophy doesn't fit into the brown suitcase because _ is too large.")
    'WSC'
    """
    return next(iter(_find_data_set_names(sentence)), None)


def recognise_dataset(dataset: Dataset) -> str | None:
    """Return the name of the published data set that has at least 90 % of the problems, or None.

    >>> recognise_dataset(Dataset([Problem("a", "The _ fell.", ("cup", "jug"))])) is None
    True
    """
    found = Counter(name for problem in dataset for name in _find_data_set_names(problem.sentence))
    name, count = next(iter(found.most_common(1)), (None, 0))
    return name if count >= NEARLY_ALL * len(dataset) else None


def get_published_digests(name: str) -> Digests:
    """Return the digests of a published data set, by its name in `winosmith data`.

    Only the test part of KnowRef is included, because no other part is public.

    Raises:
        InputError: the data set's contents are unknown; the message lists the known data sets.

    >>> get_published_digests("WSC").name, len(get_published_digests("wsc").whole) > 285
    ('wsc', True)
    """
    known = {name.casefold(): name for name in _load_digests("whole")}
    low = name.casefold().replace("_", "-")
    if low not in known:
        raise InputError(
            f"the contents of {name!r} are unknown; known data sets are {', '.join(known)}. Give "
            f"the file, or write other:{name} if the file is not available"
        )
    return Digests(low, _load_digests("whole")[known[low]], _load_digests("sides")[known[low]])


def compute_digests(name: str, items: Iterable[Problem | Claim]) -> Digests:
    found = [compute_item_digests(item) for item in items]
    return Digests(
        name.casefold(),
        frozenset().union(*(whole for whole, _ in found)),
        frozenset().union(*(sides for _, sides in found)),
    )


DIGESTS_FILE = "trained_on.npz"
"""Name of the file that contains the digests of a model's training data, in the model's folder."""


def write_digests(folder: Path, items: Iterable[Problem | Claim], *base_digests: Digests) -> Path:
    """Write the digests of a model's training data to the model's folder.

    The file also contains `base_digests`, those of the base model's training data.
    """
    found = (compute_digests("", items), *base_digests)
    whole, sides = (
        np.array(sorted(set().union(*(getattr(held, which) for held in found))), np.uint64)
        for which in ("whole", "sides")
    )
    with (folder / DIGESTS_FILE).open("wb") as file:
        np.savez(file, whole=whole, sides=sides)
    return folder / DIGESTS_FILE


def read_digests(folder: Path) -> tuple[Digests, ...]:
    """Read the digests of a model's training data from its folder, if they exist.

    The folder may be the output of `winosmith train`, with the model in `model/`.

    Raises:
        InputError: the file can't be read.
    """
    paths = (folder / DIGESTS_FILE, folder / "model" / DIGESTS_FILE)
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        return ()
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            whole, sides = (frozenset(arrays[which].tolist()) for which in ("whole", "sides"))
    except (OSError, EOFError, ValueError, KeyError, TypeError, BadZipFile, zlib.error) as error:
        raise InputError(
            f"{path}: this is not a valid record of the model's training data ({error}); copy or "
            "train the model again"
        ) from None
    return (Digests("what it was trained on", whole, sides),)


def compute_item_digests(item: Problem | Claim) -> tuple[frozenset[int], frozenset[int]]:
    """Compute 40-bit digests that identify a problem without revealing its text.

    The digests are computed from letters and digits, ignoring case and articles. The probability
    that 50,000 digests have one in common with 50,000 others is 1 in 400.

    Returns:
        Digests of the sentence without the blank and, if known, with the pronoun. For a problem,
        also digests of the text before and after the blank, each with the options. The other half
        of the problem's twin and most problems perturbed from it share one of these digests.

    >>> one = Problem("a", "Ann thanked Eva as _ had been kind.", ("Ann", "Eva"), 1)
    >>> two = Problem("b", "Ann thanked Eva as _ was helped.", ("Eva", "Ann"), 1)
    >>> [bool(a & b) for a, b in zip(compute_item_digests(one), compute_item_digests(two))]
    [False, True]
    """
    if isinstance(item, Problem):
        before, after = item.before, item.after
    else:
        before, _, after = item.sentence.partition(BLANK)
    whole = {_digest_sentence(item.sentence)}
    if item.pronoun is not None:
        whole.add(_digest_sentence(f"{before} {item.pronoun} {after}"))
    if not isinstance(item, Problem):
        return frozenset(whole), frozenset()
    options = sorted(map(_extract_letters, item.options))
    sides = (("before", before), ("after", after))
    return frozenset(whole), frozenset(
        _digest_letters("\0".join((name, _extract_letters(side), *options)))
        for name, side in sides
        if len(split_words(side)) >= MIN_SIDE_WORDS
    )


def _digest_sentence(sentence: str) -> int:
    return _digest_letters(_extract_letters(sentence))


def _extract_letters(text: str) -> str:
    """Return the letters and digits of a text, without articles or the blank.

    Versions of one data set differ in case, punctuation and the articles of options ("the _", or
    "_" with "the trophy").
    """
    parts = text.casefold().replace(BLANK, " ").split()
    kept = ("".join(filter(str.isalnum, part)) for part in parts)
    return "".join(word for word in kept if word not in _ARTICLES)


def _digest_letters(letters: str) -> int:
    coded = letters.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(coded, digest_size=5).digest())


def _find_data_set_names(sentence: str) -> list[str]:
    digest = _digest_sentence(sentence)
    return [name for name, digests in _load_digests("whole").items() if digest in digests]


@cache
def _load_digests(kind: str) -> Mapping[str, frozenset[int]]:
    """Map each published data set's name to its "whole" or "sides" digests."""
    with (
        resources.as_file(resources.files("winosmith") / DIGESTS_RESOURCE) as path,
        np.load(path, allow_pickle=False) as arrays,
    ):
        return {
            key.removesuffix(f"/{kind}"): frozenset(arrays[key].tolist())
            for key in arrays.files
            if key.endswith(f"/{kind}")
        }
