"""Sheets: which shows somebody nothing that they know, and how it is given out with its code.

What a person knows of a round's problems is what they read, judged, wrote or were asked before.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from winosmith import humans
from winosmith.errors import DataError, InputError
from winosmith.web._lock import writing
from winosmith.web.judge.models import Seen
from winosmith.web.judge.seen import lock_reader, note_all
from winosmith.web.judge.turns import current
from winosmith.web.judge.votes import give_back
from winosmith.web.problems.models import Problem, Twin
from winosmith.web.take.models import Material, Round, Sheet, Sitting, Subject

if TYPE_CHECKING:
    from winosmith.web.people.models import Person


SECONDS_A_QUESTION = 18.3
"""What a question took on average (Davis, Morgenstern & Ortiz 2016, section 4)."""


def minutes(questions: int) -> int:
    """Return about how many minutes so many questions take, 1 or more.

    >>> minutes(89)
    27
    """
    return max(1, round(questions * SECONDS_A_QUESTION / 60))


def sheet_of(row: Sheet) -> humans.Sheet:
    """Return a row's sheet."""
    return humans.sheet_of(row.record)


def refs(sheets: Iterable[Sheet]) -> set[str]:
    """Return the ids of the problems that sheets ask."""
    return {item["problem"] for sheet in sheets for item in sheet.record["items"]}


def instructions_of(sheet: humans.Sheet) -> dict[str, Any]:
    """Return what those who take a sheet are told, as on paper; nobody is there to be asked."""
    return humans.instructions(humans.has_blanks(sheet), (), paper=False, alone=True)


def _by_family(rows: QuerySet[Problem]) -> QuerySet[Problem]:
    """Add `kin`: the twin from whose half a problem was perturbed; its own where from none."""
    return rows.annotate(kin=Coalesce(F("version__root__twin"), F("twin")))


def known(person: Person, round_: Round) -> set[str]:
    """Return the ids of a round's problems that give away, or are, what a person has read.

    That is a problem of a twin, or of a family of perturbations, of which they have read any
    (`judge.models.Seen`), be it the local context alone, or of which they wrote any.
    """
    asked = Problem.objects.filter(pk__in=Material.objects.filter(round=round_).values("problem"))
    family_of = dict(_by_family(asked).values_list("ref", "kin"))
    read = Seen.objects.filter(person=person).values("twin")
    own = Twin.objects.filter(contributor=person).values("pk")
    met = _by_family(Problem.objects.filter(Q(twin__in=read) | Q(twin__in=own)))
    families = set(met.values_list("kin", flat=True))
    return {ref for ref, family in family_of.items() if family in families}


def note_sheet(person: Person, sheet: Sheet) -> None:
    """Write down that a person reads all of a sheet: they judge none of its twins from now on.

    Where the site lets one person judge both halves of a twin, the other halves count as read,
    too: what a test asks gives more away than one judgement does.
    """
    asked = refs([sheet])
    twins = set(Problem.objects.filter(ref__in=asked).values_list("twin", flat=True))
    halves = sorted(Problem.objects.filter(twin__in=twins), key=lambda row: row.ref not in asked)
    note_all(person, halves)


SIGNS = "23456789BCDFGHJKLMNPQRSTVWXZ"
"""Of a code: no sign is taken for another, and no word comes out."""

LONGEST = 200
"""Characters of what somebody tells of themselves, or notes."""


def may_take(person: Person | None) -> bool:
    """Tell whether somebody may take tests: with an account, for what they have seen must last."""
    return person is not None and not person.anonymous and person.is_active and not person.erased


def unfinished(person: Person) -> Sitting | None:
    """Return the sheet that a person has out, in whatever round; None where there is none.

    Until it is handed in or given up, they get no other sheet and no problem to judge.
    """
    rows = Sitting.objects.filter(subject__person=person, state=Sitting.State.GIVEN)
    return rows.select_related("subject__round", "sheet").first()


def enrol(person: Person, round_: Round, declared: Mapping[str, str]) -> Sitting:
    """Give a person a sheet of a round, or the one of it that they have out.

    They agree to the round's text by this; the time stands with it. A problem that they hold as a
    judge goes back to the others.

    Args:
        person: who takes the test.
        round_: one that is open.
        declared: what they tell of themselves, by name; what the round does not ask is left out.

    Raises:
        InputError: they have no account, have a sheet of another round out, or know a part of
            every test; the round is closed; what they told is none of the choices.
    """
    if not may_take(person):
        raise InputError(_("Tests are taken with an account; log in first."))
    with writing():
        lock_reader(person)
        out = unfinished(person)
        if out is not None and out.subject.round_id == round_.pk:
            return out
        if out is not None:
            raise InputError(_("You have a sheet of another test; finish it or give it up first."))
        round_ = Round.objects.select_for_update(no_key=True).get(pk=round_.pk)
        sheet = next_sheet(person, round_)
        told = _told(round_, declared)
        slot = current(person)
        if slot is not None:
            give_back(slot)
        subject = _subject(person, round_)
        subject.declared = {**subject.declared, **told}
        subject.save(update_fields=["declared"])
        note_sheet(person, sheet)
        return Sitting.objects.create(ref=secrets.token_hex(8), subject=subject, sheet=sheet)


def next_sheet(person: Person, round_: Round) -> Sheet:
    """Return the sheet that a person gets next, by `humans.assign` on all that was ever given.

    Raises:
        InputError: the round is closed, or they know a part of each of its tests.
    """
    if round_.state != Round.State.OPEN:
        raise InputError(_("This test is closed."))
    rows = {sheet.code: sheet for sheet in round_.sheets.order_by("pk")}
    met = known(person, round_)
    spoilt = {sheet.test for sheet in rows.values() if refs([sheet]) & met}
    free = [sheet_of(sheet) for sheet in rows.values() if sheet.test not in spoilt]
    ledger, mark = _ledger(person, rows.values()), _mark(person.pk, 0)
    try:
        given = humans.assign(ledger, free, mark, another=True, seed=round_.seed)
    except DataError:
        raise InputError(
            _(
                "You know a part of each of these tests: you took one of them, or you have read or "
                "written some of the texts on this site. Others have to take what is left."
            )
        ) from None
    return rows[given[1].code]


def _ledger(person: Person, sheets: Iterable[Sheet]) -> humans.Ledger:
    """Return who was given what in all rounds, with the sheets that this person's next needs."""
    given = Sitting.objects.order_by("pk").values_list(
        "subject__person", "subject", "sheet__code", "state"
    )
    own = Sheet.objects.filter(sittings__subject__person=person)
    return humans.Ledger(
        tuple(humans.Given(_mark(who, row), code, state) for who, row, code, state in given),
        {sheet.code: sheet_of(sheet) for sheet in (*sheets, *own)},
    )


def _mark(person: int | None, subject: int) -> str:
    """Return what stands for a person in the ledger: the same in all rounds, never shown."""
    return f"x{subject}" if person is None else f"p{person}"


def _subject(person: Person, round_: Round) -> Subject:
    found = Subject.objects.filter(round=round_, person=person).first()
    while found is None:
        code = "S" + "".join(secrets.choice(SIGNS) for _ in range(6))
        if not Subject.objects.filter(code=code).exists():
            found = Subject.objects.create(round=round_, person=person, code=code)
    return found


def _told(round_: Round, declared: Mapping[str, str]) -> dict[str, str]:
    """Return what the round asks and the person told.

    Raises:
        InputError: it is too long, or none of the choices.
    """
    told = {}
    for each in round_.declared:
        value = " ".join(declared.get(each["name"], "").split())
        if each["choices"] and value not in ("", *each["choices"]):
            raise InputError(_("Choose one of what is offered, or nothing."))
        if len(value) > LONGEST or not value.isprintable():
            raise InputError(_("Write %d characters at most.") % LONGEST)
        if value:
            told[each["name"]] = value
    return told
