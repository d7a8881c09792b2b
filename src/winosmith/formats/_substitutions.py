"""wsc273.json and pdp60.json, in which each row is a sentence with an option filled in.

Rows with the same `question_id` are one question: their common text is the sentence, and the parts
that differ are the options. Parts are separated between words, or between letters if the script has
no spaces. So "because The city councilmen feared" and "because The demonstrators feared" give
"because The _ feared" with "city councilmen" and "demonstrators": the filled sentences equal the
file's, letter for letter.

A question with more than two options was published as comparisons with the correct option, each
`(incorrect, correct)` or `(correct, incorrect)` in the order of the options, so the sentence with
the correct option repeats: the 60 PDPs are 80 comparisons (160 rows). They are read as problems
with up to five options; `winosmith.recast.to_pairs` returns the 80 pairs. Ids are numbers in
wsc273.json and text in pdp60.json.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from winosmith.data import Record, Rows, format_cell
from winosmith.errors import ProblemError
from winosmith.formats import _base
from winosmith.formats._base import Entry, Format
from winosmith.formats._twins import pair_neighbours
from winosmith.problem import BLANK, Problem
from winosmith.text import split_whole_words


def _parse_problem(rows: Sequence[Record]) -> Problem:
    if rows[0].get("question_id") is None:
        raise ProblemError("the record has no 'question_id'")
    fillings = [_base.get_text_field(row, "substitution") for row in rows]
    marked = {filling for row, filling in zip(rows, fillings, strict=True) if _is_correct(row)}
    if len(marked) > 1:
        raise ProblemError(f"{len(marked)} options of one question are marked as correct")
    if "correctness" in rows[0] and not marked:
        raise ProblemError("no option is marked as correct")
    correct = next(iter(marked), None)
    pairs = zip(fillings[::2], fillings[1::2], strict=False)
    first = [one for one, other in pairs if other == correct != one]
    ordered = list(dict.fromkeys([*first, *marked, *fillings]))
    before, after = _split_common_words([*map(split_whole_words, ordered)])
    cut = slice(len(before), -len(after) or None)
    return Problem(
        id=format_cell(rows[0]["question_id"]),
        sentence=before + BLANK + after,
        options=tuple(filling[cut] for filling in ordered),
        answer=None if correct is None else ordered.index(correct),
    )


def _is_correct(row: Record) -> bool:
    value = row.get("correctness", False)
    if not isinstance(value, bool):
        raise ProblemError(f"'correctness' must be true or false, not {value!r}")
    return value


def _split_common_words(fillings: Sequence[Sequence[str]]) -> tuple[str, str]:
    """Return the shared text before and after the words in which the fillings differ."""
    if len(fillings) < 2:
        raise ProblemError("the blank can be filled in only one way")
    shortest = min(map(len, fillings))
    before = _base.count_common_prefix(fillings)
    after = _base.count_common_prefix([words[::-1] for words in fillings])
    # No option may be empty: words that could belong to both the start and the end are its words.
    after = min(after, max(0, shortest - before - 1))
    before = min(before, shortest - after - 1)
    # The space before an option belongs to the sentence.
    return "".join(fillings[0][:before]), "".join(fillings[0][len(fillings[0]) - after :])


def _read(rows: Rows) -> Iterator[Entry]:
    records = _base.read_records(rows, ("question_id", "correctness"))
    questions = _base.combine_rows(records, lambda row: row.get("question_id"), ",\n")
    return _base.build_entries(questions, lambda rows, _: _parse_problem(rows))


SUBSTITUTIONS = Format(
    name="substitutions",
    title="wsc273.json, pdp60.json: each option filled in",
    read=lambda rows: pair_neighbours(_read(rows)),
    needs=frozenset({"question_id", "substitution"}),
)
