"""Copies: problems that are one observation, however often they are written down."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from winosmith.dataset import Dataset
from winosmith.problem import Problem
from winosmith.text import tokens

__all__ = ["contradictions", "copies", "plain", "same_text"]


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
        alike: dict[frozenset[str], dict[str | None, list[int]]] = {}
        for row in same:
            problem = dataset[row]
            pronoun = None if problem.pronoun is None else plain(problem.pronoun)
            by_pronoun = alike.setdefault(frozenset(_options(problem)), {})
            by_pronoun.setdefault(pronoun, []).append(row)
        groups += [rows for by_pronoun in alike.values() for rows in _grouped(by_pronoun)]
    return sorted(rows for rows in groups if len(rows) > 1)


def same_text(dataset: Dataset) -> list[list[int]]:
    """Return the rows whose sentences have the same tokens, in any case: two or more a group.

    Tokens are cut of sentences with the same letters alone, since cutting takes the time.
    """
    letters = ("".join(_lowered(problem.sentence).split()) for problem in dataset)
    by_letters = _by(letters, range(len(dataset)))
    return [
        same
        for rows in by_letters
        for same in _by((plain(dataset[row].sentence) for row in rows), rows)
    ]


def _by(keys: Iterable[str], rows: Iterable[int]) -> list[list[int]]:
    """Return the rows of each key that two or more have."""
    together: dict[str, list[int]] = {}
    for key, row in zip(keys, rows, strict=True):
        together.setdefault(key, []).append(row)
    return [rows for rows in together.values() if len(rows) > 1]


def contradictions(
    dataset: Dataset, among: Iterable[Sequence[int]] | None = None
) -> list[list[int]]:
    """Return those groups of copies whose answers name different options as the right one.

    Args:
        dataset: the problems.
        among: their groups of copies, where they are at hand already.

    >>> one = Problem("a", "The cup hit the jug and _ fell.", ("cup", "jug"), 0)
    >>> contradictions(Dataset([one, Problem("b", one.sentence, ("jug", "cup"), 0)]))
    [[0, 1]]
    """
    groups = copies(dataset) if among is None else among
    return [list(rows) for rows in groups if len(_right(dataset[row] for row in rows)) > 1]


def plain(text: str) -> str:
    """Return the tokens of a text in lower case and composed, as copies and blocks compare it."""
    return " ".join(tokens(_lowered(text)))


def _lowered(text: str) -> str:
    return unicodedata.normalize("NFC", text).lower()


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
