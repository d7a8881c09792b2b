"""The Winograd Schema Challenge, and the PDPs with counts of human answers, as Davis's XML.

The pronoun becomes the blank and is stored as `pronoun`. A possessive pronoun becomes a bare blank
("_ drawing"), as in every published recast of these files. The snippet (`quote`) and the source go
to `extra`, as do the human counts of the Pronoun Disambiguation Problems: `pdp.agree` of
`pdp.subjects` people gave the answer, and `pdp.same_text` marks a problem about the previous
problem's text.

A PDP has 2 to 5 options. The files have no ids. A schema's id is its 0-based position in WSC (as in
wsc273.json and most annotations) and its 1-based position in PDP (as in pdp60.json). WSC273 is the
first 273 of the 285 schemas: `read(path)[:273]`. Twins are detected by their order; PDPs have no
twins.

The reader accepts twelve spellings of the correct answer ("A.  "), stray spaces and newlines, "Â"
from a wrongly decoded no-break space (schemas 283 and 284), a declaration of ISO-8859-1 in a UTF-8
file, and an answer that is not in the text word for word (90 schemas). `wsc-csv` is the challenge
as a table of its parts (cglez/winograd); the table lacks the spaces around the pronoun, which the
reader adds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element

from winosmith.data import Rows
from winosmith.errors import ProblemError
from winosmith.formats import _base
from winosmith.formats._base import Entry, Format, Row
from winosmith.formats._twins import pair_neighbours
from winosmith.problem import Extra, Problem, Scalar

_LETTERS = "ABCDE"
_DECLARES_LATIN = re.compile(r"<\?xml[^>]*ISO-8859-1", re.IGNORECASE)
_MISTAKEN_SPACE = re.compile(r"Â(?=\s)")
_COUNTS = re.compile(r"\s*(\d+) out of (\d+) subjects? got this answer\.?\s*")


def parse_letter_index(letter: str, options: int) -> int | None:
    stripped = letter.strip(" \n\t.")
    if not stripped:
        return None
    if len(stripped) != 1 or stripped not in _LETTERS[:options]:
        raise ProblemError(
            f"the answer is {letter.strip()!r}; with {options} options it must be a letter from A "
            f"to {_LETTERS[options - 1]}"
        )
    return _LETTERS.index(stripped)


def _parse_schema(schema: Element, problem_id: str, has_mistaken_spaces: bool) -> Problem:
    before, pronoun, after = (
        _MISTAKEN_SPACE.sub("", text) if has_mistaken_spaces else text
        for text in (_base.get_child_text(schema, f"text/{p}") for p in ("txt1", "pron", "txt2"))
    )
    sentence, pronoun_or_none = _base.replace_pronoun(before, pronoun, after)
    options = tuple(_base.tidy("".join(answer.itertext())) for answer in schema.iter("answer"))
    answer = parse_letter_index(schema.findtext("correctAnswer") or "", len(options))
    paths = {"source": "source", "quote1": "quote/quote1", "quote2": "quote/quote2"}
    extra = _make_text_items({key: schema.findtext(path) for key, path in paths.items()})
    if schema.find("sameText") is not None:
        extra["pdp.same_text"] = True
    if (people := schema.findtext("humanSubjects")) is not None:
        counts = _COUNTS.fullmatch(people)
        if not counts:
            raise ProblemError(
                f"{people.strip()!r} must read 'N out of M subjects got this answer'"
            )
        extra["pdp.agree"], extra["pdp.subjects"] = int(counts[1]), int(counts[2])
    return Problem(
        id=problem_id,
        sentence=sentence,
        options=options,
        answer=answer,
        pronoun=pronoun_or_none,
        extra=Extra(extra),
    )


def _make_text_items(texts: Mapping[str, str | None]) -> dict[str, Scalar]:
    return {f"wsc.{key}": _base.tidy(text) for key, text in texts.items() if text and text.strip()}


def _read_schemas(rows: Rows, first_id: int) -> Iterator[Entry]:
    # In a file that does not declare Latin-1, an "Â" is intended.
    mistaken = bool(_DECLARES_LATIN.match(rows.start))
    return _base.build_entries(
        rows.iterate_elements("schema"),
        lambda schema, position: _parse_schema(schema, str(first_id + position), mistaken),
    )


def _is_collection(rows: Rows, *, has_human_counts: bool) -> bool:
    if "<collection" not in rows.start or "<schema" not in rows.start:
        return False
    return has_human_counts == any("<humanSubjects" in source.text for source in rows.sources)


WSC_XML = Format(
    name="wsc-xml",
    title="the Winograd Schema Challenge, 285 schemas as XML",
    read=lambda rows: pair_neighbours(_read_schemas(rows, 0)),
    sign=lambda rows: _is_collection(rows, has_human_counts=False),
)

PDP_XML = Format(
    name="pdp-xml",
    title="Pronoun Disambiguation Problems, with human counts",
    read=lambda rows: _read_schemas(rows, 1),
    sign=lambda rows: _is_collection(rows, has_human_counts=True),
)


_COLUMNS = ("txt1", "pron", "txt2", "answer_0", "answer_1", "label", "source")


def _parse_row(row: Row, position: int) -> Problem:
    if row["label"] not in ("0", "1"):
        raise ProblemError(f"the label is {row['label']!r}; it must be 0 or 1")
    # The table has no spaces around the pronoun: add them, except next to most punctuation marks.
    before = row["txt1"] if row["txt1"][-1:] in "'’-([“" else f"{row['txt1']} "
    after = row["txt2"] if row["txt2"][:1] in ".,;:!?)]”" else f" {row['txt2']}"
    sentence, pronoun = _base.replace_pronoun(before, row["pron"], after)
    texts = {"source": row["source"], "quote1": row.get("quote_1"), "quote2": row.get("quote_2")}
    return Problem(
        id=str(position),
        sentence=sentence,
        options=(_base.tidy(row["answer_0"]), _base.tidy(row["answer_1"])),
        answer=int(row["label"]),
        pronoun=pronoun,
        extra=Extra(_make_text_items(texts)),
    )


WSC_CSV = Format(
    name="wsc-csv",
    title="the Winograd Schema Challenge as a table",
    read=lambda rows: pair_neighbours(
        _base.build_entries(_base.read_cells(rows, _COLUMNS), _parse_row)
    ),
    needs=frozenset(_COLUMNS),
)
