"""Data sets of problems (`Dataset`), and the results of filters (`Filtered`)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, overload

from winosmith.errors import DataError
from winosmith.problem import Problem
from winosmith.records import dump_json, make_problem_record

Key = TypeVar("Key", bound=Hashable)


def group_rows(keys: Iterable[Key]) -> dict[Key, list[int]]:
    """Return the 0-based rows of each key, in order of first occurrence.

    >>> group_rows("abca")
    {'a': [0, 3], 'b': [1], 'c': [2]}
    """
    rows: dict[Key, list[int]] = {}
    for row, key in enumerate(keys):
        rows.setdefault(key, []).append(row)
    return rows


@dataclass(frozen=True)
class ColumnRoles:
    """The format in which a data set was read and, for questions, the role of each column.

    Attributes:
        format: name of the format.
        question: columns of the question.
        choices: columns of the choices; the answer column if its labels are the choices.
        answer: column of the correct choice; None if there is none.
        answer_is: the kind of answers, such as "letter"; None if they are marked otherwise.
        id: column of the ids; None if items are numbered or named by their locations.
        others: the other columns.
    """

    format: str
    question: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    answer: str | None = None
    answer_is: str | None = None
    id: str | None = None
    others: tuple[str, ...] = ()


class Dataset(Sequence[Problem]):
    """An ordered, immutable set of problems with distinct ids.

    Attributes:
        problems: the problems, in order.
        name: a label for reports ("train_xl"); not part of the digest.
        is_numbered: whether the ids are numbers that other files may use for other problems.
        roles: how the columns of its file were read; None if unknown. Not part of the digest.

    Raises:
        DataError: two problems share an id.

    >>> halves = Dataset([
    ...     Problem("t-a", "The ball hit the vase and the _ broke.", ("ball", "vase"), 1, "t"),
    ...     Problem("t-b", "The ball hit the vase and the _ bounced.", ("ball", "vase"), 0, "t"),
    ... ])
    >>> len(halves), len(halves.twins), len(halves.singles)
    (2, 1, 0)
    """

    def __init__(
        self,
        problems: Iterable[Problem] = (),
        name: str = "",
        roles: ColumnRoles | None = None,
        *,
        is_numbered: bool = False,
    ):
        self.problems = tuple(problems)
        self.name, self.roles, self.is_numbered = name, roles, is_numbered
        if len(self._row_by_id) != len(self.problems):
            twice = next(i for i, n in Counter(p.id for p in self.problems).items() if n > 1)
            raise DataError(f"the id {twice!r} occurs twice; ids must be distinct in a data set")

    @overload
    def __getitem__(self, index: int) -> Problem: ...
    @overload
    def __getitem__(self, index: slice) -> Dataset: ...
    def __getitem__(self, index: int | slice) -> Problem | Dataset:
        if isinstance(index, slice):
            return self.with_problems(self.problems[index])
        return self.problems[index]

    def __len__(self) -> int:
        return len(self.problems)

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.problems)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dataset) and self.problems == other.problems

    def __hash__(self) -> int:
        return hash(self.problems)

    def __repr__(self) -> str:
        label = f" {self.name!r}" if self.name else ""
        return f"<Dataset{label}: {len(self)} problems, {len(self.twins)} twins>"

    @cached_property
    def _row_by_id(self) -> dict[str, int]:
        return {problem.id: row for row, problem in enumerate(self.problems)}

    def row(self, problem_id: str) -> int:
        """Return the row of the problem with the given id.

        Raises:
            DataError: no problem has this id.
        """
        try:
            return self._row_by_id[problem_id]
        except KeyError:
            raise DataError(f"there is no problem with the id {problem_id!r}") from None

    def __contains__(self, item: object) -> bool:
        if isinstance(item, Problem):
            row = self._row_by_id.get(item.id)
            return row is not None and self.problems[row] == item
        return item in self._row_by_id

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of the problems, in order."""
        return tuple(problem.id for problem in self.problems)

    @cached_property
    def answers(self) -> tuple[int | None, ...]:
        """The answers of the problems, in order, with None for withheld answers."""
        return tuple(problem.answer for problem in self.problems)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of all fields of all problems, in order, as 64 hexadecimal digits."""
        state = hashlib.sha256()
        for problem in self.problems:
            state.update(dump_json(make_problem_record(problem)).encode("utf-8", "surrogatepass"))
            state.update(b"\n")
        return state.hexdigest()

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The groups of rows with the same `twin_id`, in order of first occurrence.

        A problem without a `twin_id` is a group of its own.
        """
        keys = (row if p.twin_id is None else p.twin_id for row, p in enumerate(self.problems))
        return tuple(map(tuple, group_rows(keys).values()))

    @cached_property
    def twins(self) -> tuple[tuple[int, int], ...]:
        """The pairs of rows that form twins: exactly two problems that share a `twin_id`."""
        return tuple((rows[0], rows[1]) for rows in self.groups if len(rows) == 2)

    @cached_property
    def singles(self) -> tuple[int, ...]:
        """The rows of the problems that are not in a twin, in order."""
        return tuple(sorted(row for rows in self.groups if len(rows) != 2 for row in rows))

    @cached_property
    def families(self) -> dict[str, tuple[int, ...]]:
        """The rows of each family, by the id of its root. A problem without a lineage is a root."""
        families = group_rows(problem.root for problem in self.problems)
        return {root: tuple(rows) for root, rows in families.items()}

    def select(self, rows: Iterable[int], name: str | None = None) -> Dataset:
        """Return a data set with the problems in the given rows, in the given order."""
        return self.with_problems((self.problems[row] for row in rows), name)

    def with_problems(self, problems: Iterable[Problem], name: str | None = None) -> Dataset:
        """Return these problems as a data set with this one's name, roles and kind of ids."""
        name = self.name if name is None else name
        return Dataset(problems, name, self.roles, is_numbered=self.is_numbered)

    def blind(self) -> Dataset:
        """Return a copy for solvers, without answers or `extra`."""
        return self.with_problems(problem.blind() for problem in self.problems)

    def drop(self, reasons: dict[int, str], stage: str) -> Filtered:
        """Drop rows, and return the kept and the dropped problems.

        Args:
            reasons: the reason for dropping each row, by 0-based row.
            stage: the step that drops the rows, such as "votes".

        Raises:
            DataError: a row is out of range.
        """
        reasons = {int(row): reason for row, reason in reasons.items()}
        missing = [row for row in reasons if not 0 <= row < len(self)]
        if missing:
            raise DataError(f"there is no row {missing[0]} to drop; there are {len(self)} rows")
        return Filtered(
            self.select(row for row in range(len(self)) if row not in reasons),
            tuple(Dropped(self.problems[row], stage, reasons[row], row) for row in sorted(reasons)),
        )


@dataclass(frozen=True, slots=True)
class Dropped:
    """A problem that a filter dropped, with the stage and the reason.

    Attributes:
        problem: the unchanged problem.
        stage: the step that dropped it ("votes", "aflite").
        reason: the reason for dropping it.
        row: its 0-based row in the filter's input.
    """

    problem: Problem
    stage: str
    reason: str
    row: int

    def record(self) -> dict[str, Any]:
        """Return the problem's JSON object with two more keys, `stage` and `reason`."""
        return make_problem_record(self.problem) | {"stage": self.stage, "reason": self.reason}

    def to_json_line(self) -> str:
        """Return the record as a line of `dropped.jsonl`."""
        return dump_json(self.record()) + "\n"


@dataclass(frozen=True, slots=True)
class Filtered:
    """The result of a filter: the problems that it kept and those that it dropped.

    >>> data = Dataset([Problem(str(i), "A _ b.", ("x", "y")) for i in range(3)])
    >>> result = data.drop({1: "too short"}, stage="structure")
    >>> result.kept.ids, [(d.problem.id, d.reason) for d in result.dropped]
    (('0', '2'), [('1', 'too short')])
    >>> result.input() == data
    True
    """

    kept: Dataset
    dropped: tuple[Dropped, ...] = field(repr=False)

    def input(self) -> Dataset:
        """Return the filter's input, with the problems in their original order."""
        taken = {entry.row: entry.problem for entry in self.dropped}
        kept = iter(self.kept)
        rows = range(len(self.kept) + len(taken))
        return self.kept.with_problems(taken[row] if row in taken else next(kept) for row in rows)
