"""Who may come to a study, from a file of ids or of qualifications; only digests are kept."""

from __future__ import annotations

import csv
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from winosmith.cells import unguarded
from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.market.keys import digest_of
from winosmith.web.market.models import WORKER, Screen, Study
from winosmith.web.market.providers import PROVIDERS

__all__ = ["Requirement", "may_come", "read_ids", "screen"]

HEADERS = ("worker", "worker id", "workerid", "participant id", "prolific_pid", "id")
"""What the column of ids may be called, whatever its capitals."""

_SIGNS: dict[str, Callable[[Decimal, Decimal], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "=": operator.eq,
}


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a column must hold, as in "approval rate>=99".

    Attributes:
        column: as the file calls it, whatever its capitals.
    """

    column: str
    sign: str
    value: Decimal

    @classmethod
    def of(cls, text: str) -> Requirement:
        """Return the requirement that a text states.

        Raises:
            InputError: it states none.
        """
        found = re.fullmatch(r"\s*(.+?)\s*(>=|<=|=)\s*(-?[0-9]+(?:\.[0-9]+)?)\s*", text)
        if not found:
            raise InputError(f'{text!r} is no requirement; write it like "approval rate>=99"')
        return cls(found[1].lower(), found[2], Decimal(found[3]))

    def holds(self, cell: str) -> bool:
        """Tell whether a cell meets it; "98.5 %" and "5,000" are numbers.

        Raises:
            InputError: the cell is no number.
        """
        try:
            value = Decimal(cell.strip().removesuffix("%").strip().replace(",", ""))
        except InvalidOperation:
            raise InputError(f"{cell!r} in {self.column!r} is no number") from None
        return _SIGNS[self.sign](value, self.value)


def read_ids(path: Path, provider: str, require: Sequence[Requirement] = ()) -> list[str]:
    """Return the ids of a file: one a line; or a table of CSV with one column of ids.

    Args:
        path: of the file.
        provider: whose ids they are.
        require: what other columns must hold; rows that don't are left out.

    Raises:
        InputError: an id looks like none, or a column or a number is missing; with file and line.
    """
    form, ids = PROVIDERS[provider].form, []
    for line, text in _candidates(path, require):
        if not form.fullmatch(text):
            raise InputError(f"{path}:{line}: this is no id of {PROVIDERS[provider].title}")
        ids.append(text)
    if not ids:
        raise InputError(f"{path}: no id is left; check the file and what is required")
    return list(dict.fromkeys(ids))


def _candidates(path: Path, require: Sequence[Requirement]) -> Iterator[tuple[int, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file)
        header = [cell.strip().lower() for cell in next(rows, [])]
        at = next((header.index(name) for name in HEADERS if name in header), None)
        if at is None:
            if len(header) > 1 or require:
                raise InputError(f"{path}:1: no column is called {', '.join(HEADERS)}")
            file.seek(0)
            yield from ((n, line.strip()) for n, line in enumerate(file, 1) if line.strip())
            return
        for one in require:
            if one.column not in header:
                raise InputError(f"{path}:1: there is no column {one.column!r}")
        for row in rows:
            if not any(row):
                continue
            if len(row) != len(header):
                raise InputError(f"{path}:{rows.line_num}: {len(row)} cells under {len(header)}")
            try:
                meets = all(one.holds(row[header.index(one.column)]) for one in require)
            except InputError as error:
                raise InputError(f"{path}:{rows.line_num}: {error}") from None
            if meets:
                yield rows.line_num, unguarded(row[at].strip())


def screen(study: Study, ids: Sequence[str], *, allowed: bool) -> int:
    """Let those alone come who are listed, or all but them; return how many are listed now."""
    digests = (digest_of(study.provider, WORKER, one) for one in ids)
    with writing():
        Screen.objects.bulk_create(
            (Screen(study=study, digest=digest, allowed=allowed) for digest in digests),
            ignore_conflicts=True,
        )
        if allowed:
            Study.objects.filter(pk=study.pk).update(invited_only=True)
            study.invited_only = True
    return study.screens.filter(allowed=allowed).count()


def may_come(study: Study, digest: str) -> bool:
    """Tell whether the worker of a digest may come to a study."""
    said = set(Screen.objects.filter(study=study, digest=digest).values_list("allowed", flat=True))
    return False not in said and (True in said or not study.invited_only)
