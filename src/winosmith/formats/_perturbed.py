"""The perturbed WSC (Abdou et al. 2020) in one table: a row per schema, a column per change.

Each text other than "-" is a problem, 2,898 in all: first the 285 originals, then the changed
problems by kind, with the original as their root. `extra` has the fields of the table
(`perturbed_wsc.kind`, `.pair_number`, `.associative`, `.switchable`). The ids are those of the
authors' JSON Lines ("q110" is schema 10 in the other voice); ids of the three kinds that only the
table has start with the kind ("scrambled-10").

A column states the pronoun's index, which is off by a few words in 294 texts; the pronoun nearest
to the stated index is used, with a note. Some texts have unbalanced quotation marks. Twins are
detected by their order, as in the WSC; a group of three contains one twin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from winosmith.data import Rows
from winosmith.errors import ProblemError
from winosmith.formats import _base
from winosmith.formats._base import Entry, Format, Row
from winosmith.formats._twins import pair_neighbours
from winosmith.formats._wsc import parse_letter_index
from winosmith.problem import BLANK, Lineage, Problem

_ABSENT = "-"


class _ChangeKind(NamedTuple):
    """A kind of change, with the prefix of its ids and the names of its columns."""

    id: str
    text: str
    place: str
    pronoun: str = "pron"
    options: str = ""


_KINDS = {
    "original": _ChangeKind("q0", "text_original", "pron_index"),
    "voice": _ChangeKind("q1", "text_voice", "pron_index_voice"),
    "tense": _ChangeKind("q2", "text_tense", "pron_index_tense"),
    "number": _ChangeKind("q3", "text_number", "pron_index_number", "pron_number", "_number"),
    "gender": _ChangeKind("q4", "text_gender", "pron_index_gender", "pron_gender", "_gender"),
    "relative": _ChangeKind("q5", "text_rel_clause", "pron_index_rel"),
    "synonym": _ChangeKind("q6", "text_syn", "pron_index_syn", options="_syn"),
    "adverb": _ChangeKind("q7", "text_adverb", "pron_index_adverb"),
    "context": _ChangeKind("context-", "text_random_context", "pron_index_context"),
    "scrambled": _ChangeKind("scrambled-", "text_scrambled", "pron_index_scrambled"),
    "freqnoun": _ChangeKind("freqnoun-", "text_freqnoun", "pron_index_freqnoun"),
}


def _parse_problem(row: Row, position: int, name: str) -> Problem:
    kind = _KINDS[name]
    pieces = row[kind.text].split()
    pronoun, index = row[kind.pronoun], row[kind.place]
    found = [at for at, piece in enumerate(pieces) if piece.casefold() == pronoun.casefold()]
    if not found or not index.isdecimal():
        raise ProblemError(f"the text has no pronoun {pronoun!r} with the index {index!r}")
    at = min(found, key=lambda at: abs(at - int(index)))
    root = f"{_KINDS['original'].id}{position}"
    others: dict[str, object] = {"kind": name}
    for key in ("pair_number", "associative", "switchable"):
        if text := row[key]:
            others[key] = int(text) if text.isdecimal() else text
    return Problem(
        id=f"{kind.id}{position}",
        sentence=" ".join([*pieces[:at], BLANK, *pieces[at + 1 :]]),
        options=tuple(_base.tidy(row[f"answer_{one}{kind.options}"]) for one in "ab"),
        answer=parse_letter_index(row["correct_answer"], 2),
        pronoun=pieces[at],
        lineage=None if name == "original" else Lineage(root, root),
        extra=_base.make_extra(others, "perturbed_wsc"),
    )


def _read(rows: Rows) -> Iterator[Entry]:
    table = list(_base.read_cells(rows, [kind.text for kind in _KINDS.values()]))
    for place, raw, row, reason in table:
        if row is None:
            yield Entry(place, raw, reason=reason)
    for name, kind in _KINDS.items():
        found = list[Entry]()
        for position, (place, raw, row, _) in enumerate(table):
            if row is not None and row[kind.text].strip() not in ("", _ABSENT):
                one = _base.build_entry(place, raw, _parse_problem, row, position, name)
                note = _describe_wrong_index(row, kind) if one.item else None
                found.append(replace(one, note=note))
        yield from pair_neighbours(found)


def _describe_wrong_index(row: Row, kind: _ChangeKind) -> str | None:
    pieces, at = row[kind.text].split(), int(row[kind.place])
    word = pieces[at] if at < len(pieces) else None
    if (word or "").casefold() == row[kind.pronoun].casefold():
        return None
    has = repr(word) if word else "no word"
    return f"{kind.place!r} is {at}, which is {has}; the nearest {row[kind.pronoun]!r} is used"


PERTURBED_WSC = Format(
    name="perturbed-wsc",
    title="perturbed WSC as one table",
    read=_read,
    needs=frozenset({"text_original", "pron_index"}),
)
