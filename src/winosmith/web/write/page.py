"""What the page of a draft shows: the form, the checklist, the preview, the meter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from django.conf import settings
from django.utils.translation import gettext as _

from winosmith.lineage import Change, differing
from winosmith.problem import BLANK
from winosmith.web.problems.association import association
from winosmith.web.problems.checks import LONGEST_OPTION, LONGEST_SENTENCE, Check, text_hints
from winosmith.web.problems.lookalikes import lookalikes_of
from winosmith.web.write.checking import DOMAINS, Typed, examine

if TYPE_CHECKING:
    from winosmith.web.people.models import Person
    from winosmith.web.write.models import Draft


class Piece(NamedTuple):
    """A stretch of a sentence: plain, the filled blank, or where the halves differ."""

    text: str
    kind: Literal["", "filled", "differs"]


@dataclass(frozen=True, slots=True)
class Filled:
    """One half with one option in its blank.

    Attributes:
        right: whether the contributor says that this is how it must be read.
        pieces: in order; together they are the sentence.
    """

    option: str
    right: bool
    pieces: tuple[Piece, ...]


def preview(typed: Typed) -> list[tuple[Filled, ...]]:
    """Return for each half its readings, one for each option; none for a half without a blank."""
    first, second = typed.sentences
    return [
        tuple(
            Filled(option, answer == number, _filled(differing(half, other or half), option))
            for number, option in enumerate(typed.options)
            if option and half.count(BLANK) == 1
        )
        for half, other, answer in zip((first, second), (second, first), typed.answers, strict=True)
    ]


def _filled(half: Iterable[Change], option: str) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    for text, kind in half:
        before, blank, after = text.partition(BLANK)
        plain: Literal["", "differs"] = "differs" if kind else ""
        pieces += (
            Piece(before, plain),
            Piece(option if blank else "", "filled"),
            Piece(after, plain),
        )
    return tuple(piece for piece in pieces if piece.text)


MOST_NEAR = 3
"""Near-duplicates that are shown."""


def page(
    draft: Draft,
    typed: Typed,
    person: Person,
    *,
    faults: dict[str, list[str]] | None = None,
    stored: Draft | None = None,
    error: str = "",
) -> dict[str, Any]:
    """Return the context of the whole page.

    Args:
        draft: as this window last read it.
        typed: what the form holds.
        person: the contributor.
        faults: why it was refused, by field.
        stored: what another window saved meanwhile.
        error: why nothing came of what was asked for.
    """
    form, faults = typed.as_form(), faults or {}
    options: list[dict[str, Any]] = [
        {"number": n, "name": f"option_{n}", "value": form[f"option_{n}"]} for n in (1, 2)
    ]
    for option in options:
        option["faults"] = faults.get(option["name"], [])
    halves = [
        {
            "number": number,
            "title": title,
            "sentence": form[f"sentence_{number}"],
            "answer": form[f"answer_{number}"],
            "faults": faults.get(f"sentence_{number}", []),
            "answer_faults": faults.get(f"answer_{number}", []),
            "error": f"sentence-{number}-error",
            "answer_error": f"answer-{number}-error",
        }
        for number, title in ((1, _("First half")), (2, _("Second half")))
    ]
    return {
        "draft": draft,
        "typed": typed,
        "version": stored.version if stored else draft.version,
        "domains": list(zip(DOMAINS, _domain_labels(), strict=True)),
        "domain_faults": faults.get("domain", []),
        "options": options,
        "halves": halves,
        "fault_count": sum(map(len, faults.values())),
        "first_fault": next(iter(faults), ""),
        "stored": stored,
        "stored_typed": Typed.of(stored.typed) if stored else None,
        "error": error,
        "longest_sentence": LONGEST_SENTENCE,
        "longest_option": LONGEST_OPTION,
        **checked(draft, typed, person),
    }


def checked(draft: Draft, typed: Typed, person: Person) -> dict[str, Any]:
    """Return the context of what changes as somebody types."""
    checks = examine(typed, draft.anchors)
    halves = typed.halves()
    meter = association(halves)
    return {
        "draft": draft,
        "groups": _groups(checks),
        "passed": sum(check.verdict == "pass" for check in checks),
        "failed": sum(check.verdict == "fail" for check in checks),
        "all": sum(check.verdict != "unchecked" for check in checks),
        "next": _next(checks),
        "ready": all(check.verdict in ("pass", "unchecked") for check in checks),
        "previews": preview(typed),
        "near": _near(draft, typed, person),
        "hints": text_hints(halves, settings.RULES.words_to_flag),
        "meter": meter,
        "readings": [
            {
                "number": number,
                "percent": round(reading.share * 100),
                "words": ", ".join(reading.words),
                "strong": reading.share >= 0.65,
            }
            for number, reading in enumerate(meter.readings, 1)
            if reading.share is not None and typed.sentences[number - 1]
        ],
    }


def _domain_labels() -> tuple[str, str]:
    return _("Social: two people of the same gender"), _("Physical: two things")


def _groups(checks: list[Check]) -> list[tuple[str, list[Check]]]:
    names = ((0, _("First half")), (1, _("Second half")), (None, _("Both together")))
    return [(name, [check for check in checks if check.half == half]) for half, name in names]


def _next(checks: list[Check]) -> str:
    """Return what to do first: of what fails, else of what is not there yet."""
    titles = {0: _("First half"), 1: _("Second half")}
    for verdict in ("fail", "todo"):
        for check in checks:
            if check.verdict == verdict:
                where = f"{titles[check.half]}: " if check.half is not None else ""
                return where + check.advice
    return ""


def _near(draft: Draft, typed: Typed, person: Person) -> list[dict[str, Any]]:
    """Return the near-duplicates of both halves; fewer than five words are no sentence yet."""
    begun = [half for half in typed.halves() if len(half.sentence.split()) >= 5]
    if not begun:
        return []
    near = lookalikes_of(begun, without=draft.revises_id, reader=person, most=MOST_NEAR)
    return [{"one": one, "percent": round(one.share * 100)} for one in near]
