"""Words as knowledge hunting reads them: stems, pronouns, and where a clause ends."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "POSSESSIVES",
    "PRONOUNS",
    "_BOUNDARIES",
    "_NEGATIONS",
    "is_boundary",
    "is_plural",
    "negated",
    "stem",
]

_GROUPS = {
    "he": "he him his himself",
    "she": "she her hers herself",
    "it": "it its itself",
    "they": "they them their theirs themselves",
    "i": "i me my mine myself",
    "we": "we us our ours ourselves",
    "you": "you your yours yourself yourselves",
}

PRONOUNS = {form: group for group, forms in _GROUPS.items() for form in forms.split()}
"""Each form of a personal pronoun, with the one that stands for all of its forms."""

_BOUNDARIES = frozenset(
    """although and as because before but if or since so that though unless until when whereas
    which while who after""".split()
)
"""What opens a clause."""

POSSESSIVES = frozenset("my your his her its our their".split())
"""The forms that stand before a noun; "his" and "her" stand alone too."""

_NEGATIONS = frozenset("not n't never no hardly cannot without".split())


def is_boundary(token: str) -> bool:
    """Tell whether a clause ends at a token: punctuation, or a word that opens the next one."""
    return token.lower() in _BOUNDARIES or not any(map(str.isalnum, token))


def is_plural(token: str) -> bool:
    """Tell whether a noun looks like a plural."""
    return token.lower().endswith("s") and not token.lower().endswith(("ss", "us", "'s"))


def negated(tokens: Sequence[str], start: int, reach: int = 3) -> bool:
    """Tell whether a negation stands at most `reach` tokens ahead of a place."""
    return not _NEGATIONS.isdisjoint(t.lower() for t in tokens[max(0, start - reach) : start])


def stem(word: str) -> str:
    """Return a word without the endings of its inflection, roughly as Porter (1980) has it.

    >>> {stem(word) for word in ("refuse", "refuses", "refused", "refusing")}
    {'refus'}
    >>> [stem(word) for word in ("carried", "carry", "stopped", "stop", "glass", "so")]
    ['carri', 'carri', 'stop', 'stop', 'glass', 'so']
    """
    word = word.lower().removesuffix("'s")
    for ending in ("ing", "ed", "s"):
        root = word.removesuffix(ending)
        if root == word or len(root) < 3 or len(word) < 4 or (ending == "s" and root.endswith("s")):
            continue
        word = root if ending == "s" else _undoubled(root)
        break
    word = word.removesuffix("e") if len(word) > 3 else word
    return word[:-1] + "i" if word.endswith("y") and len(word) > 2 else word


def _undoubled(root: str) -> str:
    """Return "stop" for "stopp", and "fall" for "fall"."""
    doubled = root[-1] == root[-2] and root[-1] not in "lsz"
    return root[:-1] if doubled else root
