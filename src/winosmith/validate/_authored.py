"""To which problems WinoGrande's rules for authors apply: twins as people write them for a benchmark.

They were made for that alone (WinoGrande, section 2). A problem that was perturbed from another one
is meant to differ from it a little, so it may be shorter or share other words; and what others
published was written under other rules: of the 273 Winograd schemas, 126 break one of WinoGrande's.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Literal

from winosmith.dataset import Dataset
from winosmith.problem import BLANK
from winosmith.text import writing

__all__ = ["Applied", "RuleSet", "applied", "published_index"]

RuleSet = Literal["auto", "winogrande", "none"]
"""Which rules are used: WinoGrande's for everything, none of them, or "auto": WinoGrande's, but not
for problems that were perturbed, their roots, and problems of published sets that are known."""

PERTURBED = "perturbed or their roots"
"""Why the rules do not apply to a family with lineages."""

_DIGEST = 5
"""Bytes of a digest: a sentence of one's own passes for one of 5,000 once in 200 million times."""

NEARLY_ALL = 0.9
"""The share of known sentences from which on a data set is that set, in an encoding that differs in
the others."""

_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True)
class Applied:
    """Which rules were used, and why.

    Attributes:
        rules: what was asked for.
        exempt: the rows to which WinoGrande's rules were not applied, each with the reason; empty
            with "winogrande". With "none" they are all rows.
        n: how many problems there are.
        unspaced, spaced: how many of them are written without spaces between words, and in another
            script than Latin with spaces (`winosmith.text.writing`).
    """

    rules: RuleSet
    exempt: Mapping[int, str]
    n: int
    unspaced: int = 0
    spaced: int = 0

    def __str__(self) -> str:
        """Return it as one line: the first one that is told of a check.

        >>> str(Applied("auto", {2: "of WSC, published"}, 3))
        "Rules: WinoGrande's for authors, on 2 of 3; not on 1 of WSC, published"
        """
        if self.rules == "none":
            return "Rules: none of WinoGrande's for authors, as asked for"
        if self.rules == "winogrande":
            return f"Rules: WinoGrande's for authors, on all {self.n:,}, as asked for"
        if not self.exempt:
            return "Rules: WinoGrande's for authors; no problem is perturbed or known as published"
        why = Counter(self.exempt.values()).most_common()
        told = ", ".join(f"{count:,} {reason}" for reason, count in why)
        left = self.n - len(self.exempt)
        if not left:
            return f"Rules: none of WinoGrande's for authors: {told}"
        return f"Rules: WinoGrande's for authors, on {left:,} of {self.n:,}; not on {told}"

    @property
    def lines(self) -> tuple[str, ...]:
        """What is told of it: one line, and one for each script in which some rule is not checked.

        >>> Applied("auto", {}, 2, unspaced=1).lines[1]
        '1 without spaces between words: rules that count or know words are not checked there'
        """
        other = (
            (self.unspaced, "without spaces between words: rules that count or know words"),
            (self.spaced, "in another script than Latin: rules that know English words"),
        )
        notes = (f"{count:,} {what} are not checked there" for count, what in other if count)
        return str(self), *notes

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "rules": self.rules,
            "applied_to": self.n - len(self.exempt),
            "not_applied": dict(Counter(self.exempt.values()).most_common()),
            "without_spaces": self.unspaced,
            "in_another_script": self.spaced,
            "words": list(self.lines),
        }


def applied(dataset: Dataset, rules: RuleSet) -> Applied:
    """Return to which problems WinoGrande's rules apply; halves of one twin go together.

    >>> from winosmith import Problem
    >>> wsc = Problem("0", "The trophy doesn't fit into the brown suitcase because the _ is too "
    ...               "large.", ("trophy", "suitcase"))
    >>> applied(Dataset([wsc]), "auto").exempt
    {0: 'of WSC, published'}
    """
    exempt: dict[int, str] = {}
    if rules == "none":
        exempt = dict.fromkeys(range(len(dataset)), "as asked for")
    elif rules == "auto":
        exempt = _exempt(dataset)
    written = Counter(writing(problem.sentence) for problem in dataset)
    return Applied(rules, exempt, len(dataset), written["unspaced"], written["spaced"])


def _exempt(dataset: Dataset) -> dict[int, str]:
    known = _index()
    exempt: dict[int, str] = {}
    for rows in dataset.families.values():
        if any(dataset[row].lineage for row in rows):
            exempt |= dict.fromkeys(rows, PERTURBED)
    names = {row: known.get(_digest(problem.sentence)) for row, problem in enumerate(dataset)}
    found = Counter(filter(None, names.values())).most_common(1) or [("", 0)]
    most, count = found[0]
    for row, name in names.items():
        name = name or (most if count >= NEARLY_ALL * len(dataset) else None)
        if name is not None:
            exempt.setdefault(row, f"of {name}, published")
    for rows in dataset.groups:
        why = next((exempt[row] for row in rows if row in exempt), None)
        if why is not None:
            for row in rows:
                exempt.setdefault(row, why)
    return dict(sorted(exempt.items()))


def _digest(sentence: str) -> bytes:
    """Return what a sentence is known by: its letters and digits, without articles and the blank.

    The encodings of one set differ in case, punctuation, and in what belongs to an option ("the _",
    or "_" with "the trophy").
    """
    kept = (
        "".join(filter(str.isalnum, word)) for word in sentence.casefold().replace(BLANK, " ").split()
    )
    text = "".join(word for word in kept if word not in _ARTICLES)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


def published_index(sets: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return the digests of the sentences of published sets, by name, as the shipped file has them.

    Args:
        sets: the sentences of each set, with the blank in the pronoun's place.
    """
    return {
        name: base64.b64encode(b"".join(sorted({*map(_digest, sentences)}))).decode("ascii")
        for name, sentences in sets.items()
    }


@lru_cache(1)
def _index() -> Mapping[bytes, str]:
    """Return the name of the published set of each digest; the first one that holds it."""
    file = resources.files("winosmith.validate") / "published.json"
    held: dict[bytes, str] = {}
    for name, digests in json.loads(file.read_text("utf-8")).items():
        for digest in _parts(base64.b64decode(digests)):
            held.setdefault(digest, name)
    return held


def _parts(digests: bytes) -> Iterator[bytes]:
    return (digests[at : at + _DIGEST] for at in range(0, len(digests), _DIGEST))
