"""Test sheets of any data set: the halves dealt to tests, the items put in order and labelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from winosmith.dataset import Dataset, Dropped
from winosmith.errors import DataError
from winosmith.humans._assign_schemas import Dealt, deal
from winosmith.humans._item import Item, Label
from winosmith.humans._sheet import COMMON, Sheet
from winosmith.humans._sheet_order import ordered
from winosmith.humans._sheet_text import option_order, pieces, snippet, text_key
from winosmith.problem import Problem
from winosmith.text import overlap

__all__ = ["ALIKE", "TITLE", "Sheets", "make_sheets"]

TITLE = "Who or what is meant?"
"""What stands at the top of a sheet when nothing else is asked for."""

ALIKE = 0.5
"""The share of words from which two texts in succession are easily taken for one. Halves of one
schema share 70 % (WinoGrande, section 2) but never meet; half of that text again is alike enough
that a reader who skips the beginning mistakes it."""


@dataclass(frozen=True, slots=True)
class Sheets:
    """The sheets of a data set.

    Attributes:
        sheets: each test in each of its orders; tests by name, the common one last.
        left_out: the problems on no sheet, with the reason.
    """

    sheets: tuple[Sheet, ...]
    left_out: tuple[Dropped, ...]


def make_sheets(
    dataset: Dataset,
    *,
    versions: Sequence[str] = ("a", "b"),
    orders: int = 1,
    seed: int = 0,
    title: str = TITLE,
    alike: float = ALIKE,
) -> Sheets:
    """Make test sheets: one half of each schema on each, and a common one for what has no half.

    Args:
        dataset: problems with a blank, with or without the pronoun that stood there.
        versions: names of the tests that the halves are dealt to.
        orders: how many orders of each test there are.
        seed: deals the halves and draws the orders.
        title: what stands at the top.
        alike: the share of words, 0–1, from which a text after another is labelled different.

    Raises:
        DataError: there are no problems, or names or numbers that can't be used.

    >>> made = make_sheets(Dataset([
    ...     Problem("1", "The cup hit the jug and _ broke.", ("jug", "cup"), 0, "t", "it"),
    ...     Problem("2", "The cup hit the jug and _ held.", ("jug", "cup"), 1, "t", "it"),
    ... ]))
    >>> [(sheet.name, sheet[1].options, sheet[1].text[1]) for sheet in made.sheets]
    [('a-1', ('cup', 'jug'), 'it'), ('b-1', ('cup', 'jug'), 'it')]
    """
    _check(dataset, versions, orders)
    dealt = deal(dataset, versions, seed)
    digest = dataset.blind().digest
    sheets = [
        Sheet(
            title,
            test,
            order,
            seed,
            digest,
            _items(
                dataset,
                ordered(dataset, rows, seed=seed, test=test, order=order, orders=orders),
                dealt,
                alike,
            ),
        )
        for test, rows in dealt.tests.items()
        for order in range(1, orders + 1)
    ]
    return Sheets(tuple(sheets), dealt.left_out)


def _check(dataset: Dataset, versions: Sequence[str], orders: int) -> None:
    if not len(dataset):
        raise DataError("there are no problems to make sheets of")
    if len(versions) < 2 or len(set(versions)) < len(versions) or COMMON in versions:
        raise DataError(
            f"the versions {', '.join(versions)!r} can't be used; at least two different names "
            f"are needed, such as a,b, and {COMMON!r} is taken"
        )
    for name in versions:
        if not name.isascii() or not name.isalnum() or not name.islower() or len(name) > 8:
            raise DataError(
                f"a version can't be named {name!r}; use up to 8 small letters, such as a,b"
            )
    if not 1 <= orders <= len(dataset):
        raise DataError(f"{orders} orders of {len(dataset)} problems can't be made")


def _items(dataset: Dataset, rows: Sequence[int], dealt: Dealt, alike: float) -> tuple[Item, ...]:
    items: list[Item] = []
    previous: Problem | None = None
    for number, row in enumerate(rows, start=1):
        problem = dataset[row]
        shown = option_order(problem)
        items.append(
            Item(
                number=number,
                problem_id=problem.id,
                schema=dealt.schema[row],
                text=pieces(problem),
                snippet=snippet(problem),
                options=tuple(" ".join(problem.options[index].split()) for index in shown),
                shown=shown,
                label=_label(previous, problem, alike),
            )
        )
        previous = problem
    return tuple(items)


def _label(previous: Problem | None, problem: Problem, alike: float) -> Label | None:
    if previous is None:
        return None
    if text_key(previous) == text_key(problem):
        return "SAME TEXT AS PREVIOUS QUESTION"
    if overlap(_words(previous), _words(problem)) >= alike:
        return "TEXT IS DIFFERENT FROM PREVIOUS QUESTION"
    return None


def _words(problem: Problem) -> list[str]:
    return text_key(problem).split()
