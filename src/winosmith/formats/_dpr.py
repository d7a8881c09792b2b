"""DPR (Rahman and Ng 2012): four lines with the sentence, the pronoun, the options and the answer.

If the pronoun occurs more than once, the first occurrence is the target, as the authors state; 51
sentences need this rule. Files with "[MASK]" in place of the pronoun (bert-commonsense: WSC273,
PDP, Winogender) have the same four lines and are read in the same way. In the WSC273 file the
correct option comes first in every list, so **the order reveals the answer**. In the Winogender
file, templates alternate, so 15 pairs of neighbours falsely look like twins; the `winogender`
format finds the real twins. Options that contain commas can't be separated. The files have no ids:
a problem's id is its 0-based position. Twins are detected by their order.

The KnowRef-60k benchmark has DPR and WSC273 as tables with two rows per problem: index,
sentence1 (up to and including the option), sentence2 (the rest), label, candidate0, candidate1. The
index is the id. The file omits the pronoun. Twins are detected by their order.

If a pronoun occurred twice, the table's authors filled in the option twice, so the ends of the two
rows differ (48 problems of DPR). In these problems, the sentence ends like the first row, **which
contains its option**, and the end of the second row is stored in `extra`; prefer the `dpr` files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from winosmith.data import Rows
from winosmith.errors import ProblemError
from winosmith.formats import _base
from winosmith.formats._base import Entry, Format, Row
from winosmith.formats._twins import pair_neighbours
from winosmith.problem import BLANK, Extra, Problem
from winosmith.text import detect_script, find_occurrences

_MASK = "[MASK]"


def _parse_problem(lines: Sequence[str], position: int) -> Problem:
    if len(lines) != 4:
        raise ProblemError(
            f"the block has {len(lines)} lines; 4 are required: sentence, pronoun, options, answer"
        )
    sentence, pronoun, listed, answer = lines
    pronoun = _base.tidy(pronoun)
    found = find_occurrences(pronoun, sentence)
    if not found:
        raise ProblemError(f"the sentence does not contain the pronoun {pronoun!r}")
    if BLANK in sentence:
        raise ProblemError("the sentence contains a blank ('_')")
    at = found[0]
    options = _split_options(listed)
    return Problem(
        id=str(position),
        sentence=_base.tidy(sentence[:at] + BLANK + sentence[at + len(pronoun) :]),
        options=options,
        answer=_base.find_option(options, answer),
        pronoun=None if pronoun == _MASK else sentence[at : at + len(pronoun)],
    )


def _split_options(listed: str) -> tuple[str, ...]:
    comma = next((sign for sign in ",，、،" if sign in listed), ",")
    return tuple(map(_base.tidy, listed.split(comma)))


def _is_dpr(rows: Rows) -> bool:
    first = [*takewhile(str.strip, rows.start.split("\n"))]
    if len(first) != 4:
        return False
    sentence = first[0]
    pronoun, listed, answer = map(_base.tidy, first[1:])
    return bool(find_occurrences(pronoun, sentence)) and answer in _split_options(listed)


def _add_repetition_note(entry: Entry) -> Entry:
    problem = entry.item
    if not isinstance(problem, Problem) or detect_script(problem.sentence) != "unspaced":
        return entry
    if not find_occurrences(problem.pronoun or "", problem.sentence):
        return entry
    fact = "the pronoun occurs several times, and the file has no index"
    return replace(entry, note=f"{fact}: the first occurrence is used")


DPR = Format(
    name="dpr",
    title="DPR and [MASK] files: four lines per problem",
    read=lambda rows: pair_neighbours(
        map(_add_repetition_note, _base.build_entries(rows.iterate_blocks(), _parse_problem))
    ),
    sign=_is_dpr,
)


_OTHER_END = "dpr_tsv.other_end"
_ANSWERS = {("1", "0"): 0, ("0", "1"): 1, ("", ""): None}
_COLUMNS = ("index", "sentence1", "sentence2", "label", "candidate0", "candidate1")


def _parse_rows(rows: Sequence[Row], position: int) -> Problem:
    if len(rows) != 2:
        raise ProblemError(f"the index has {len(rows)} rows; 2 are required, one per option")
    one, other = rows
    options = (one["candidate0"], one["candidate1"])
    for row, option in zip(rows, options, strict=True):
        if not row["sentence1"].endswith(option):
            raise ProblemError(f"sentence1 does not end with the candidate {option!r}")
    before, end = one["sentence1"].removesuffix(options[0]), other["sentence2"]
    if before != other["sentence1"].removesuffix(options[1]):
        raise ProblemError("the two rows have different text before their options")
    labels = (one["label"], other["label"])
    if labels not in _ANSWERS:
        raise ProblemError(f"the labels are {[*labels]}; one must be 1 and the other 0")
    return Problem(
        id=one["index"],
        sentence=before + BLANK + one["sentence2"],
        options=options,
        answer=_ANSWERS[labels],
        extra=Extra({_OTHER_END: end} if end != one["sentence2"] else {}),
    )


def _read_table(rows: Rows) -> list[Entry]:
    pairs = _base.combine_rows(_base.read_cells(rows, _COLUMNS), lambda row: row["index"], "\n")
    return pair_neighbours(_base.build_entries(pairs, _parse_rows))


DPR_TSV = Format(
    name="dpr-tsv",
    title="DPR and WSC273 of KnowRef-60k: two rows per problem",
    read=_read_table,
    needs=frozenset(_COLUMNS),
)
