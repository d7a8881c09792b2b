"""The Winograd Schema Challenge as a table of its parts (cglez/winograd); only read."""

from __future__ import annotations

from winosmith.errors import ProblemError
from winosmith.formats._base import Entry, Format, Row, Source, blanked, has_columns, table, tidy
from winosmith.formats._twins import paired
from winosmith.problem import Extra, Problem

_COLUMNS = ("txt1", "pron", "txt2", "answer_0", "answer_1", "label", "source")


def _problem(row: Row, position: int) -> Problem:
    if row["label"] not in ("0", "1"):
        raise ProblemError(f"the label is {row['label']!r}; it must be 0 or 1")
    # The table has lost the spaces around the pronoun: a mark goes on at once, a word does not.
    after = row["txt2"] if row["txt2"][:1] in ".,;:!?" else f" {row['txt2']}"
    sentence, pronoun = blanked(row["txt1"] + " ", row["pron"], after)
    texts = {
        "wsc.source": row["source"],
        "wsc.quote1": row.get("quote_1", ""),
        "wsc.quote2": row.get("quote_2", ""),
    }
    return Problem(
        id=str(position),
        sentence=sentence,
        options=(tidy(row["answer_0"]), tidy(row["answer_1"])),
        answer=int(row["label"]),
        pronoun=pronoun,
        extra=Extra({key: tidy(text) for key, text in texts.items() if tidy(text)}),
    )


def _read(source: Source) -> list[Entry]:
    return paired(table(source, _problem, _COLUMNS))


WSC_CSV = Format(
    name="wsc-csv",
    title="the Winograd Schema Challenge as a table (read only)",
    recognises=lambda source: has_columns(source, _COLUMNS),
    needs=frozenset(_COLUMNS),
    read=_read,
    suffix=".csv",
)
