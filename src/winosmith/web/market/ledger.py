"""The ledger of a study: each worker's work, time and pay, and the hourly pay.

The reward is what the market's export names. Bonuses are entries with ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_UP, Decimal
from pathlib import Path
from statistics import median

from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge.trust import Pace, pace
from winosmith.web.market import models, workers
from winosmith.web.market.exports import read_sum
from winosmith.web.market.models import Identity, Participation, Payment, Study
from winosmith.web.market.providers import digest_of, read_table
from winosmith.web.people.models import decrypt, keyed, pseudonym

CENT = Decimal("0.01")

NOTHING = Decimal("0.00")
"""Shown like other sums."""

KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}")
"""The form of a payment's id."""

COLUMNS = (
    "worker", "state", "verdict", "done", "asked", "seconds", "market_seconds", "owed", "paid",
    "bonus", "currency", "wage_per_hour", "pace", "notes",
)  # fmt: skip
"""The columns of the CSV file."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A worker's line.

    Attributes:
        name: the pseudonym, not an id of the market.
        seconds: of work, by the site; `market_seconds` by the market's clock.
        owed: the reward for complete work, in proportion for a part; nothing if the market rejected
            them or they gave up.
        paid: reward and bonus together.
        pace: of their last answers; empty for writers.
        held: their votes, and so their pay, wait for a moderator.
        notes: what deserves a look, in words.
    """

    part: Participation
    name: str
    done: int
    seconds: int
    owed: Decimal
    paid: Decimal
    pace: Pace
    held: bool
    notes: tuple[str, ...]

    @property
    def wage(self) -> Decimal | None:
        """The hourly pay; None if nothing was paid or no time was measured."""
        if not self.paid or not self.seconds:
            return None
        return (self.paid * 3600 / self.seconds).quantize(CENT)

    @property
    def minutes(self) -> str:
        """The minutes of work, as text."""
        return f"{self.seconds / 60:.1f}"

    @property
    def pace_told(self) -> str:
        """The seconds for a problem, as text; "" without answers."""
        return "" if self.pace.seconds is None else f"{self.pace.seconds:.1f}"

    @property
    def due(self) -> Decimal:
        """What is owed beyond what was paid; nothing while a decision is awaited.

        The market decides, or a moderator if the worker's votes are on hold.
        """
        if self.held:
            return NOTHING
        waits = self.part.verdict == models.WAITING and self.part.state == models.COMPLETE
        return NOTHING if waits else max(NOTHING, self.owed - self.paid)

    def row(self) -> list[str]:
        """Return the line as texts, in the order of COLUMNS."""
        part = self.part
        market = "" if part.market_seconds is None else str(part.market_seconds)
        return [
            self.name, part.state, part.verdict, str(self.done), str(part.study.amount),
            str(self.seconds), market, f"{self.owed:.2f}", f"{part.paid:.2f}", f"{part.bonus:.2f}",
            part.study.currency, "" if self.wage is None else f"{self.wage:.2f}",
            self.pace_told,
            "; ".join(self.notes),
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ledger:
    """A study's ledger.

    Attributes:
        entries: in the order in which people started.
        total: all payments, including those to people who never started here.
        due: what remains to be paid.
        median_wage: the median hourly pay of those who were paid; None without any.
        warnings: about the study as a whole.
    """

    study: Study
    entries: list[Entry]
    total: Decimal
    due: Decimal
    median_wage: Decimal | None
    warnings: tuple[str, ...]


def ledger(study: Study) -> Ledger:
    """Return the ledger of a study."""
    entries = list(_entries(study))
    wages = [entry.wage for entry in entries if entry.wage is not None]
    middle = median(wages).quantize(CENT) if wages else None
    return Ledger(
        study,
        entries,
        sum((entry.paid for entry in entries), study.unmatched),
        sum((entry.due for entry in entries), NOTHING),
        middle,
        tuple(_warnings(study, middle)),
    )


def planned_wage(study: Study) -> Decimal:
    """Return the hourly pay if the work takes as long as the study says."""
    return (study.reward * 60 / study.minutes).quantize(CENT)


def _entries(study: Study) -> Iterator[Entry]:
    parts = study.participations.select_related("person", "study").prefetch_related("payments")
    for part in parts.order_by("began", "pk"):
        done = workers.count_done(part)
        seconds = workers.seconds_of(part) if part.seconds is None else part.seconds
        entry = Entry(
            part, pseudonym(part.person), done, seconds, _owed(part, done),
            part.paid + part.bonus, pace(part.person_id), workers.is_held(part), (),
        )  # fmt: skip
        yield replace(entry, notes=tuple(_notes(entry)))


def _owed(part: Participation, done: int) -> Decimal:
    study = part.study
    turned_away = part.verdict in models.TURNED_AWAY
    if part.state == models.COMPLETE and not turned_away:
        return study.reward
    if part.state == models.SHORT and not turned_away:
        share = (study.reward * min(done, study.amount) / study.amount).quantize(CENT, ROUND_UP)
        return max(share, study.short_reward or NOTHING)
    return NOTHING


def _notes(entry: Entry) -> Iterator[str]:
    part, least = entry.part, entry.part.study.least_wage
    if entry.held:
        yield _("on hold: a moderator must check before votes count or pay is due")
    if note := workers.describe_training(part):
        yield note
    if entry.paid and not entry.done:
        yield _("paid without work")
    elif entry.paid and entry.done < part.study.amount and part.state != models.SHORT:
        yield _("paid in full for part of the work")
    elif part.verdict not in models.TURNED_AWAY and (
        note := workers.describe_missing_work(part, entry.done)
    ):
        yield note
    if entry.done and not entry.paid and part.verdict in models.TURNED_AWAY:
        yield _("worked without pay")
    elif entry.done and not entry.paid and part.state == models.LEFT:
        yield _("gave up, without pay")
    if entry.due:
        yield _("pay is due")
    if least is not None and entry.wage is not None and entry.wage < least:
        yield _("below the minimum hourly pay")


def _warnings(study: Study, middle: Decimal | None) -> Iterator[str]:
    least = study.least_wage
    if least is None:
        return
    values = {"least": f"{least:.2f} {study.currency}"}
    if planned_wage(study) < least:
        values["wage"] = f"{planned_wage(study):.2f} {study.currency}"
        text = _("With the study’s minutes, the hourly pay is %(wage)s, less than %(least)s.")
        yield text % values
    if middle is not None and middle < least:
        values["wage"] = f"{middle:.2f} {study.currency}"
        text = _("Half of the workers got %(wage)s an hour or less; the minimum is %(least)s.")
        yield text % values


def bonus_lines(book: Ledger) -> Iterator[tuple[str, str, str, str]]:
    """Yield each due payment: the worker's id on the market, the amount, its currency, and its id.

    Ids leave the site only here, for the person who pays. A payment keeps its id until it is
    entered.
    """
    for entry in book.entries:
        identity = entry.part.identities.filter(kind=models.WORKER).exclude(sealed="").first()
        if entry.due and identity is not None:
            key = _key(entry.part, entry.part.payments.count() + 1)
            yield decrypt(models.IDS, identity.sealed), f"{entry.due:.2f}", book.study.currency, key


def _key(part: Participation, number: int) -> str:
    """Return the id of a person's payment by its number; it names nobody outside the site."""
    return f"pay-{keyed('payment', f'{part.pk} {number}')[:16]}"


def record_bonuses(study: Study, path: Path) -> int:
    """Enter the payments of a file with the lines of `bonus_lines`; return how many are new.

    A payment whose id is in the ledger already counts once.

    Raises:
        InputError: a line is not a payment, its worker took no part, its currency is not the
            study's, or the ledger has the payment with another amount or worker. Nothing is written
            then.
    """
    found: dict[str, tuple[str, Payment]] = {}
    for row in read_table(path).rows(("worker", "amount", "currency", "payment")):
        where = str(row.place)
        if row.values is None:
            raise InputError(
                f"{where}: a line has an id of the market, an amount, a currency and an id of the "
                "payment; give the file of bonuses as it was written here"
            )
        payment = _payment(study, [cell.strip() for cell in row.values.values()], where)
        if payment.key in found:
            raise InputError(f"{where}: the payment {payment.key} is in the file twice")
        found[payment.key] = where, payment
    with writing():
        Study.objects.select_for_update().get(pk=study.pk)  # one file at a time
        for known in study.payments.filter(key__in=found):
            where, payment = found.pop(known.key)
            if (known.participation_id, known.amount) != (payment.participation_id, payment.amount):
                raise InputError(
                    f"{where}: the payment {known.key} is in the ledger with {known.amount} "
                    f"{study.currency}, and another amount or worker is another payment; write "
                    "what is due now to a new file"
                )
        return len(Payment.objects.bulk_create(payment for _where, payment in found.values()))


def _payment(study: Study, cells: list[str], where: str) -> Payment:
    worker, amount, currency, key = cells
    if not KEY.fullmatch(key):
        raise InputError(f"{where}: {key!r} is no id of a payment")
    if currency != study.currency:
        raise InputError(
            f"{where}: the currency is {currency!r}, and the study pays in {study.currency}"
        )
    try:
        paid = read_sum(amount, study.currency)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    if not paid:
        raise InputError(f"{where}: the amount is 0; leave the line out")
    part = _find_participation(study, worker, key)
    if part is None:
        raise InputError(f"{where}: nobody with this id took part in the study")
    return Payment(study=study, participation_id=part, key=key, amount=paid)


def _find_participation(study: Study, worker: str, key: str) -> int | None:
    """Return whose payment it is: by the market's id, or by ours if they were erased meanwhile."""
    digest = digest_of(study.provider, models.WORKER, worker)
    identity = Identity.objects.filter(study=study, kind=models.WORKER, digest=digest).first()
    if identity is not None:
        return identity.participation_id
    for part in study.participations.filter(identities=None).prefetch_related("payments"):
        if key in (_key(part, number + 1) for number in range(len(part.payments.all()) + 1)):
            return part.pk
    return None
