"""The report of a transfer study: the user's figures beside the printed ones, as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from winosmith._version import __version__
from winosmith.report import Column, Section, Table, Text, page
from winosmith.study._published import GenderLine, Line, beside, beside_gender
from winosmith.study._transfer import TARGETS, Solved

MARKS = (
    "* zero-shot; -ft fine-tuned on the target's train and dev, for RoBERTa-X after X; † evaluated "
    "on other data; ‡ not reproduced with SuperGLUE's leaderboard"
)
"""What the marks of the tables mean."""


def transfer_page(found: Mapping[str, Sequence[Solved]], withheld: Sequence[str] = ()) -> str:
    """Return the page: a table for each data set, table 7, and the printed figures that can't be.

    Args:
        found: the user's systems by name, with what each solved.
        withheld: why other data sets were not solved.
    """
    lines = beside(found)
    sections = [
        Section(
            TARGETS[name],
            [_table(name, own), *_notes(name, found)],
            _lead(own),
        )
        for name, own in lines.items()
    ]
    gender = beside_gender(found)
    if gender:
        sections.append(Section("Gender gap on Winogender (table 7)", [_gender(gender)], GENDER))
    if withheld:
        sections.append(Section("Not solved", [Text([f"{reason}." for reason in withheld])]))
    sections.append(Section("Printed figures that can't be", [_impossible(lines)], IMPOSSIBLE))
    return page(
        "Transfer",
        sections,
        subtitle=f"{', '.join(found)} beside the tables of WinoGrande (AAAI 2020). {MARKS}.",
        footer=f"winosmith {__version__}",
    )


GENDER = (
    "Accuracy in percent without and with a gotcha: the pronoun's gender is the rarer one in the "
    "right answer. The gaps are differences of counts, with their signs; the paper prints those of "
    "rounded cells, without."
)

IMPOSSIBLE = (
    "A share of n questions can only be k/n. These printed ones are none, rounded to the nearest; "
    "where cutting off or rounding up would explain one, its count is given (GRIM, Brown and "
    "Heathers 2017)."
)


def _lead(lines: Sequence[Line]) -> str:
    mine = [line for line in lines if line.own]
    return "; ".join(
        f"{line.system}: {100 * line.accuracy:.1f} % ({line.own.told})" for line in mine if line.own
    )


def _table(name: str, lines: Sequence[Line]) -> Table:
    rows = [
        [
            f"→ {line.system}" if line.own else line.system,
            line.printed or f"{100 * line.accuracy:.1f}",
            ""
            if line.own is None
            else f"{100 * line.own.interval[0]:.1f}–{100 * line.own.interval[1]:.1f}",
            "yours" if line.table is None else f"table {line.table}" if line.table else "section 1",
            line.counts,
        ]
        for line in lines
    ]
    head: list[Column | str] = [
        "system",
        Column("accuracy, %", numeric=True),
        "95 % interval",
        "printed in",
        "of counts",
    ]
    return Table(f"Accuracy on {TARGETS[name]}", head, rows)


def _notes(name: str, found: Mapping[str, Sequence[Solved]]) -> list[Text]:
    """Return what to know of a data set's figures, and their signatures."""
    solved = [(system, one) for system, own in found.items() for one in own if one.data == name]
    notes = dict.fromkeys(note for _, one in solved for note in one.notes)
    told = [f"{note[0].upper()}{note[1:]}." for note in notes]
    signed = [f"{system}: {one.signature}" for system, one in solved]
    return [*([Text(told, "note")] if told else []), Text(signed)]


def _gender(lines: Sequence[GenderLine]) -> Table:
    rows = [
        [
            line.system,
            *(f"{cell:.1f}" for cell in (*line.plain, *line.gotcha)),
            *(f"{gap:+.1f}" for gap in line.gaps),
            ", ".join(line.printed) or "—",
        ]
        for line in lines
    ]
    head = ["system", "F", "M", "F, gotcha", "M, gotcha", "ΔF", "ΔM", "|ΔF|, |ΔM| printed"]
    return Table("Accuracy on Winogender by gender, and the gaps", head, rows)


def _impossible(lines: Mapping[str, Sequence[Line]]) -> Table | Text:
    rows = [
        [TARGETS[name], line.system, line.counts]
        for name, own in lines.items()
        for line in own
        if line.impossible
    ]
    if not rows:
        return Text(["All printed figures on these data sets are possible."])
    return Table("Impossible figures", ["data set", "system", "why"], rows)
