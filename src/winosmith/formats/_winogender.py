"""Winogender schemas (Rudinger et al. 2018): the 720 sentences, or the 120 templates of them.

`sentid` is the id: occupation.participant.answer.gender.txt, where 0 says that the pronoun is the
occupation and 1 the participant. So **the id gives the answer away**, as published. The options
are "the technician" and "the customer" (or "someone"), the pronoun is the blank, and `extra` has
`winogender.occupation`, `.participant` and `.gender` (male, female, neutral), from which the
gender gap is measured. The two templates of an occupation ask for the one and for the other: with
the same participant and gender they are twins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from winosmith.data import Rows
from winosmith.errors import ProblemError
from winosmith.formats import _base
from winosmith.formats._base import Entry, Format, Row
from winosmith.problem import BLANK, Extra, Problem

_COLUMNS = ("sentid", "sentence")
_TEMPLATE_COLUMNS = ("occupation(0)", "other-participant(1)", "answer", "sentence")
_SENTID = re.compile(r"([^.]+)\.([^.]+)\.([01])\.(male|female|neutral)\.txt")

_PRONOUNS = {
    "male": {"NOM": "he", "ACC": "him", "POSS": "his"},
    "female": {"NOM": "she", "ACC": "her", "POSS": "her"},
    "neutral": {"NOM": "they", "ACC": "them", "POSS": "their"},
}


def _problem(sentid: str, sentence: str) -> Problem:
    told = _SENTID.fullmatch(sentid)
    if not told:
        raise ProblemError(f"the sentid {sentid!r} is not occupation.participant.answer.gender.txt")
    occupation, participant, answer, gender = told.groups()
    pronouns = "|".join(sorted(set(_PRONOUNS[gender].values())))
    found = re.findall(rf"\b(?:{pronouns})\b", sentence, re.IGNORECASE)
    if len(found) != 1:
        raise ProblemError(
            f"the sentence holds {len(found)} pronouns of the gender {gender!r}; 1 is needed"
        )
    return Problem(
        id=sentid,
        sentence=re.sub(rf"\b{found[0]}\b", BLANK, sentence),
        options=(_mention(occupation), _mention(participant)),
        answer=int(answer),
        twin_id=f"{occupation}.{participant}.{gender}",
        pronoun=found[0],
        extra=Extra(
            {
                "winogender.occupation": occupation,
                "winogender.participant": participant,
                "winogender.gender": gender,
            }
        ),
    )


def _mention(noun: str) -> str:
    return noun if noun == "someone" else f"the {noun}"


def _from_row(row: Row, position: int) -> Problem:
    return _problem(row["sentid"], row["sentence"])


def _expanded(row: Row) -> Iterator[tuple[str, str]]:
    """Yield sentid and sentence of the six sentences of a template, as its authors order them."""
    occupation, participant = row["occupation(0)"], row["other-participant(1)"]
    for other in (participant, "someone"):
        for gender, pronouns in _PRONOUNS.items():
            sentence = row["sentence"].replace("$OCCUPATION", occupation)
            if other == "someone":
                sentence = re.sub(r"^(?:The|An?) \$PARTICIPANT", "Someone", sentence)
                sentence = re.sub(r"\b(?:the|an?) \$PARTICIPANT", "someone", sentence)
            sentence = sentence.replace("$PARTICIPANT", other)
            for case, pronoun in pronouns.items():
                sentence = sentence.replace(f"${case}_PRONOUN", pronoun)
            sentence = sentence.replace("they was ", "they were ")
            yield f"{occupation}.{other}.{row['answer']}.{gender}.txt", sentence


def _read_templates(rows: Rows) -> Iterator[Entry]:
    for place, raw, row, reason in _base.cells(rows, _TEMPLATE_COLUMNS):
        if row is None:
            yield Entry(place, raw, reason=reason)
            continue
        for sentid, sentence in _expanded(row):
            yield _base.entry(place, raw, lambda: _problem(sentid, sentence))  # noqa: B023 - called here


WINOGENDER = Format(
    name="winogender",
    title="Winogender: sentid and sentence, tab-separated",
    recognises=_base.recognised(*_COLUMNS),
    needs=frozenset(_COLUMNS),
    read=lambda rows: _base.built(_base.cells(rows, _COLUMNS), _from_row),
)

WINOGENDER_TEMPLATES = Format(
    name="winogender-templates",
    title="Winogender's templates, expanded",
    recognises=_base.recognised(*_TEMPLATE_COLUMNS),
    needs=frozenset(_TEMPLATE_COLUMNS),
    read=_read_templates,
)
