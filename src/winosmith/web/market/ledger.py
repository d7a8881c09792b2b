"""The ledger of a study: each worker's work, time and pay, and the hourly pay.

Rewards come from the market's export; each bonus is a `Payment` with an id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from functools import cached_property
from pathlib import Path
from statistics import median

from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge.trust import Pace, measure_pace
from winosmith.web.market import models, workers
from winosmith.web.market.exports import parse_amount
from winosmith.web.market.models import Identity, Participation, Payment, Study
from winosmith.web.market.studies import read_table
from winosmith.web.market.workers import find_participation_by_id
from winosmith.web.people.models import decrypt, get_pseudonym, make_digest

CENT, ZERO = Decimal("0.01"), Decimal("0.00")

PAYMENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}")

COLUMNS = (
    "worker", "state", "verdict", "done", "asked", "seconds", "market_seconds", "owed", "paid",
    "bonus", "currency", "wage_per_hour", "pace", "notes",
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A worker's line in the ledger.

    Attributes:
        done: The number of stored answers or twins.
        seconds: The seconds of work, as measured by the site.
        pace: The pace of the worker's last answers; empty for writers.
        on_hold: Whether the worker's votes and pay are on hold until a moderator decides.
    """

    part: Participation
    done: int
    seconds: int
    pace: Pace
    on_hold: bool

    @property
    def name(self) -> str:
        return get_pseudonym(self.part.person)

    @property
    def owed(self) -> Decimal:
        """Return the reward, or a proportional part for incomplete work.

        The amount is zero if the market rejected the worker, or the worker left the study.
        """
        study, turned_away = self.part.study, self.part.verdict in models.UNUSED_VERDICTS
        if self.part.state == models.COMPLETE and not turned_away:
            return study.reward
        if self.part.state == models.SHORT and not turned_away:
            share = study.reward * min(self.done, study.amount) / study.amount
            return max(share.quantize(CENT, ROUND_UP), study.short_reward or ZERO)
        return ZERO

    @property
    def paid(self) -> Decimal:
        return self.part.paid + self.part.total_bonus

    @property
    def wage(self) -> Decimal | None:
        if not self.paid or not self.seconds:
            return None
        return (self.paid * 3600 / self.seconds).quantize(CENT)

    @property
    def minutes(self) -> str:
        return f"{self.seconds / 60:.1f}"

    @property
    def pace_text(self) -> str:
        return "" if self.pace.seconds is None else f"{self.pace.seconds:.1f}"

    @property
    def due(self) -> Decimal:
        """Return the unpaid amount; zero while a decision is pending.

        The decision is the market's, or a moderator's if the worker's votes are on hold.
        """
        if self.on_hold:
            return ZERO
        is_pending = self.part.verdict == models.WAITING
        waits = is_pending and (self.part.state == models.COMPLETE or self.part.study.short_reward)
        return ZERO if waits else max(ZERO, self.owed - self.paid)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        return tuple(_iter_notes(self))

    def make_cells(self) -> list[str]:
        part = self.part
        market = "" if part.market_seconds is None else str(part.market_seconds)
        return [
            self.name, part.state, part.verdict, str(self.done), str(part.study.amount),
            str(self.seconds), market, f"{self.owed:.2f}", f"{part.paid:.2f}",
            f"{part.total_bonus:.2f}", part.study.currency,
            "" if self.wage is None else f"{self.wage:.2f}", self.pace_text,
            "; ".join(self.notes),
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ledger:
    """A study's ledger.

    Attributes:
        entries: The workers' lines, in the order in which the workers started.
        total: The sum of all payments, including those to people who never started on this site.
        median_wage: The median hourly pay of paid workers; None if nobody was paid.
    """

    study: Study
    entries: list[Entry]
    total: Decimal
    due: Decimal
    median_wage: Decimal | None
    warnings: list[str]


def compute_ledger(study: Study) -> Ledger:
    parts = study.participations.select_related("person", "study").prefetch_related("payments")
    entries = [
        Entry(
            part,
            workers.count_finished_work(part),
            workers.count_work_seconds(part) if part.seconds is None else part.seconds,
            measure_pace(part.person_id),
            workers.is_on_hold(part),
        )
        for part in parts.order_by("began", "pk")
    ]
    wages = [entry.wage for entry in entries if entry.wage is not None]
    median_wage = median(wages).quantize(CENT) if wages else None
    planned = _(
        "At the study’s expected time, the hourly pay is %(wage)s; the minimum is %(least)s."
    )
    actual = _("The median hourly pay is %(wage)s; the minimum is %(least)s.")
    least = study.least_wage
    warnings = []
    for wage, text in ((compute_planned_wage(study), planned), (median_wage, actual)):
        if least is not None and wage is not None and wage < least:
            sums = {"wage": wage, "least": least}
            warnings.append(text % {key: f"{n:.2f} {study.currency}" for key, n in sums.items()})
    return Ledger(
        study,
        entries,
        sum((entry.paid for entry in entries), study.unmatched),
        sum((entry.due for entry in entries), ZERO),
        median_wage,
        warnings,
    )


def compute_planned_wage(study: Study) -> Decimal:
    """Return the hourly pay if the work takes the study's expected time."""
    return (study.reward * 60 / study.minutes).quantize(CENT)


def _iter_notes(entry: Entry) -> Iterator[str]:
    part, least = entry.part, entry.part.study.least_wage
    if entry.on_hold:
        yield _("on hold: votes and pay wait for a moderator’s check")
    if note := workers.describe_training(part):
        yield note
    if entry.paid and not entry.done:
        yield _("paid although no work was done")
    elif entry.paid and entry.done < part.study.amount and part.state != models.SHORT:
        yield _("paid in full for part of the work")
    elif part.verdict not in models.UNUSED_VERDICTS and (
        note := workers.describe_missing_work(part, entry.done)
    ):
        yield note
    if entry.done and not entry.paid and part.verdict in models.UNUSED_VERDICTS:
        yield _("worked, but was not paid")
    elif entry.done and not entry.paid and part.state == models.LEFT:
        yield _("left the study, without pay")
    if entry.due:
        gone = _("pay is due, but the id on the market was deleted")
        yield _("pay is due") if _find_identity(part) else gone
    if least is not None and entry.wage is not None and entry.wage < least:
        yield _("below the minimum hourly pay")


def iter_payments(ledger: Ledger) -> Iterator[tuple[str, str, str, str]]:
    """Yield each due payment: the worker's id on the market, amount, currency, and payment id.

    Apart from a worker's own data export, only this function exports market ids. A payment keeps
    its id until it is recorded.
    """
    for entry in ledger.entries:
        identity = _find_identity(entry.part)
        if entry.due and identity is not None:
            key = _make_payment_id(entry.part, entry.part.payments.count() + 1)
            worker = decrypt(models.ID_PURPOSE, identity.sealed)
            yield worker, f"{entry.due:.2f}", ledger.study.currency, key


def _find_identity(part: Participation) -> Identity | None:
    return part.identities.filter(kind=models.WORKER).exclude(sealed="").first()


def _make_payment_id(part: Participation, number: int) -> str:
    return f"pay-{make_digest('payment', f'{part.pk} {number}')[:16]}"


def read_bonuses(study: Study, path: Path) -> dict[str, tuple[str, Payment]]:
    """Read the payments in a file made from `iter_payments`.

    Returns a dict from each payment's id to its location in the file and the unsaved payment.
    """
    found: dict[str, tuple[str, Payment]] = {}
    for row in read_table(path).rows(("worker", "amount", "currency", "payment")):
        where = str(row.place)
        if row.values is None:
            fault = _(
                "a line must have a market id, an amount, a currency and a payment id; use the "
                "file that you downloaded from the ledger"
            )
            raise InputError(f"{where}: {fault}")
        try:
            payment = _parse_payment(study, [cell.strip() for cell in row.values.values()])
            if payment.key in found:
                raise InputError(_("the file contains the payment %s twice") % payment.key)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        found[payment.key] = where, payment
    return found


def record_bonuses(study: Study, found: dict[str, tuple[str, Payment]]) -> int:
    """Record the payments from `read_bonuses`; return the number of new payments.

    A payment whose id is already in the ledger is not counted twice. If any line is wrong, nothing
    is written.
    """
    with writing():
        Study.objects.select_for_update().get(pk=study.pk)  # one file at a time
        for known in study.payments.filter(key__in=list(found)):
            where, payment = found.pop(known.key)
            if (known.participation_id, known.amount) != (payment.participation_id, payment.amount):
                fault = _(
                    "the ledger already has the payment %(key)s of %(amount)s %(currency)s, but "
                    "this line has another amount or worker; download the due bonuses again"
                )
                row = {"key": known.key, "amount": known.amount, "currency": study.currency}
                raise InputError(f"{where}: {fault % row}")
        return len(Payment.objects.bulk_create(payment for _where, payment in found.values()))


def _parse_payment(study: Study, cells: list[str]) -> Payment:
    worker, amount, currency, key = cells
    if not PAYMENT_ID.fullmatch(key):
        raise InputError(_("%r is not a payment id") % key)
    if currency != study.currency:
        currencies = {"found": currency, "right": study.currency}
        raise InputError(
            _("the currency is %(found)r, but the study pays in %(right)s") % currencies
        )
    paid = parse_amount(amount, study.currency)
    if not paid:
        raise InputError(_("the amount is 0; remove the line"))
    part = find_participation_by_id(study, models.WORKER, worker)
    if part is None:
        for erased in study.participations.filter(identities=None).prefetch_related("payments"):
            numbers = range(1, len(erased.payments.all()) + 2)
            if key in (_make_payment_id(erased, number) for number in numbers):
                part = erased
                break
    if part is None:
        raise InputError(_("nobody with this id took part in the study"))
    return Payment(study=study, participation=part, key=key, amount=paid)
