"""KnowRef (Emami et al. 2019): a JSON array, with the target pronoun in brackets.

Candidates, answer and original sentence are lists of one text. The answer is `correct_candidate`.
`correct_candidate_idx` contradicts it in 299 of the 1,269 test records; the sentences show that the
text is correct. The other fields go to `extra`.

Two of the 1,269 test records can't be read: one has the same name twice, the other has two pronouns
in brackets. The 23 duplicates, and three records with a candidate that is not in the sentence, are
kept. `oiginal_id` (the file's spelling) is not unique, so a problem's id is its 0-based position.
"""

from __future__ import annotations

import re

from winosmith.data import Record
from winosmith.errors import ProblemError
from winosmith.formats import _base
from winosmith.formats._base import Format
from winosmith.problem import BLANK, Problem

_KEY = "knowref"
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_CORE_KEYS = ("sentence_with_pronoun", "candidate0", "candidate1", "correct_candidate")


def _parse_problem(record: Record, position: int) -> Problem:
    sentence = _base.get_text_field(record, "sentence_with_pronoun")
    pronouns = _BRACKETS.findall(sentence)
    if len(pronouns) != 1:
        raise ProblemError(
            f"the sentence has {len(pronouns) or 'no'} pronoun{'s' * (len(pronouns) != 1)} in "
            "brackets; 1 is required"
        )
    if BLANK in sentence.replace(f"[{BLANK}]", ""):
        raise ProblemError("the sentence contains a blank ('_')")
    options = (_get_only_text(record, "candidate0"), _get_only_text(record, "candidate1"))
    answer = _get_only_text(record, "correct_candidate")
    others = {key: _unwrap_list(value) for key, value in record.items() if key not in _CORE_KEYS}
    return Problem(
        id=str(position),
        sentence=_BRACKETS.sub(BLANK, sentence),
        options=options,
        answer=_base.find_option(options, answer) if answer else None,
        pronoun=None if pronouns[0] == BLANK else pronouns[0],
        extra=_base.make_extra(others, _KEY),
    )


def _get_only_text(record: Record, key: str) -> str:
    value = _unwrap_list(record.get(key, ""))
    if not isinstance(value, str):
        raise ProblemError(f"{key!r} must be a single string, not {value!r}")
    return _base.tidy(value)


def _unwrap_list(value: object) -> object:
    if isinstance(value, list) and len(value) < 2:
        return value[0] if value else ""
    return value


KNOWREF = Format(
    name="knowref",
    title="KnowRef: a JSON array with the pronoun in brackets",
    read=lambda rows: _base.build_entries(
        _base.read_records(rows, {*rows.names} - {"sentence_with_pronoun"}), _parse_problem
    ),
    needs=frozenset(_CORE_KEYS),
    sign=lambda rows: "sentence_with_pronoun" in rows.names,
)
