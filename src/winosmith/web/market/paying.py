"""Pay beside a market's reward: the lines that the market's form takes, and what was paid by it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.market.keys import digest_of, unseal
from winosmith.web.market.ledger import Ledger
from winosmith.web.market.models import WORKER, Identity, Participation, Study

__all__ = ["bonus_lines", "record_bonuses"]


def bonus_lines(book: Ledger) -> Iterator[tuple[str, str]]:
    """Yield the market's id and the amount of everyone to whom something is due.

    The one way in which ids leave the site: to whoever pays, and into no other file.
    """
    for entry in book.entries:
        identity = entry.part.identities.filter(kind=WORKER).exclude(sealed="").first()
        if entry.due and identity is not None:
            yield unseal(identity.sealed), f"{entry.due:.2f}"


def record_bonuses(study: Study, path: Path) -> int:
    """Note the bonuses of a file as paid: lines of an id and an amount; return how many are new.

    The amount is what the worker got as a bonus in all: the same file again changes nothing.

    Raises:
        InputError: a line is none, or its worker took no part; nothing is written then.
    """
    found: dict[int, Decimal] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        for at, cells in enumerate(csv.reader(file), start=1):
            if not any(cells):
                continue
            part, amount = _line(study, cells, f"{path}:{at}")
            if part in found:
                raise InputError(f"{path}:{at}: this worker stands in the file twice")
            found[part] = amount
    with writing():
        rows = Participation.objects.filter(study=study)
        return sum(
            rows.filter(pk=part).exclude(bonus=amount).update(bonus=amount)
            for part, amount in found.items()
        )


def _line(study: Study, cells: list[str], where: str) -> tuple[int, Decimal]:
    try:
        worker, amount = cells[0].strip(), Decimal(cells[1].strip())
    except (IndexError, InvalidOperation):
        raise InputError(f"{where}: this is no line of an id and an amount") from None
    if len(cells) != 2 or not (amount.is_finite() and 0 <= amount < 10**5):
        raise InputError(f"{where}: this is no line of an id and an amount")
    digest = digest_of(study.provider, WORKER, worker)
    identity = Identity.objects.filter(study=study, kind=WORKER, digest=digest).first()
    if identity is None:
        raise InputError(f"{where}: nobody with this id took part in the study")
    return identity.participation_id, round(amount, 2)
