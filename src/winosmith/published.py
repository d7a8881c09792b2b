"""The published data sets, known by what their sentences hash to: `name_of`, `set_of`.

`published.json` has no sentence, but digests of 5 bytes: all those of the small sets, and a sample
of WinoGrande's. `docs/make_published.py` writes it. A sentence is known in any file that holds it,
whatever the format.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources

from winosmith.dataset import Dataset
from winosmith.problem import BLANK

__all__ = ["NEARLY_ALL", "SAMPLED", "index", "name_of", "set_of"]

_DIGEST = 5
"""Bytes of a digest: a sentence of one's own passes for one of 5,000 once in 200 million times."""

SAMPLED = {"WinoGrande": 4}
"""Of a large set, only the digests whose first byte is below this: here 1 in 64."""

NEARLY_ALL = 0.9
"""The share of known sentences from which on a data set is that set, in an encoding that differs in
the others."""

_ARTICLES = frozenset({"a", "an", "the"})


def name_of(sentence: str) -> str | None:
    """Return the name of the small published set that holds a sentence; None where none does.

    >>> name_of("The trophy doesn't fit into the brown suitcase because _ is too large.")
    'WSC'
    """
    names = _held().get(_digest(sentence), ())
    return next((name for name in names if name not in SAMPLED), None)


def set_of(dataset: Dataset) -> str | None:
    """Return the name of the published set that nearly all problems are of; None where there is none.

    >>> from winosmith.problem import Problem
    >>> set_of(Dataset([Problem("a", "The _ fell.", ("cup", "jug"))])) is None
    True
    """  # noqa: E501
    held = _held()
    digests = [_digest(problem.sentence) for problem in dataset]
    found = Counter(name for digest in digests for name in held.get(digest, ()))
    if not found:
        return None
    name, count = found.most_common(1)[0]
    asked = [digest for digest in digests if _is_drawn(digest, name)]
    return name if count >= NEARLY_ALL * len(asked) else None


def index(sets: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return the digests of the sentences of published sets, by name, as the shipped file has them.

    Args:
        sets: the sentences of each set, with the blank in the pronoun's place.
    """
    return {
        name: base64.b64encode(
            b"".join(sorted({d for d in map(_digest, sentences) if _is_drawn(d, name)}))
        ).decode("ascii")
        for name, sentences in sets.items()
    }


def _is_drawn(digest: bytes, name: str) -> bool:
    return name not in SAMPLED or digest[0] < SAMPLED[name]


def _digest(sentence: str) -> bytes:
    """Return what a sentence is known by: its letters and digits, without articles and the blank.

    The encodings of one set differ in case, punctuation, and in what belongs to an option ("the _",
    or "_" with "the trophy").
    """
    words = sentence.casefold().replace(BLANK, " ").split()
    kept = ("".join(filter(str.isalnum, word)) for word in words)
    text = "".join(word for word in kept if word not in _ARTICLES)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


@lru_cache(1)
def _held() -> Mapping[bytes, tuple[str, ...]]:
    """Return the names of the sets that hold each digest."""
    file = resources.files("winosmith") / "published.json"
    held: dict[bytes, tuple[str, ...]] = {}
    for name, coded in json.loads(file.read_text("utf-8")).items():
        digests = base64.b64decode(coded)
        for at in range(0, len(digests), _DIGEST):
            digest = digests[at : at + _DIGEST]
            held[digest] = (*held.get(digest, ()), name)
    return held
