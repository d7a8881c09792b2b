"""Winogender schemas (Rudinger et al. 2018): the 720 sentences, or their 120 templates.

The id is `sentid`: occupation.participant.answer.gender.txt, where the answer is 0 for the
occupation and 1 for the participant. Therefore **the published id reveals the answer**. The options
are "the technician" and "the customer" (or "someone"), the pronoun is the blank, and `extra` has
`winogender.occupation`, `.participant` and `.gender` (male, female, neutral), from which the gender
gap is computed. One sentence has "a student" instead of "the student". In the sentences of a
template, "The someone" becomes "Someone", and "they was" becomes "they were". The answers of an
occupation's two templates differ; sentences with the same participant and gender are twins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from winosmith import data
from winosmith.errors import ProblemError
from winosmith.formats import _base
from winosmith.formats._base import Format, Row
from winosmith.problem import BLANK, Extra, Problem

_COLUMNS = ("sentid", "sentence")
_TEMPLATE_COLUMNS = ("occupation(0)", "other-participant(1)", "answer", "sentence")
_SENTID = re.compile(
    r"(?P<occupation>[^.]+)\.(?P<participant>[^.]+)\.([01])\.(?P<gender>male|female|neutral)\.txt"
)

_PRONOUNS = {
    "male": {"NOM": "he", "ACC": "him", "POSS": "his"},
    "female": {"NOM": "she", "ACC": "her", "POSS": "her"},
    "neutral": {"NOM": "they", "ACC": "them", "POSS": "their"},
}


def _parse_problem(row: Row, position: int) -> Problem:
    sentid, sentence = row["sentid"], row["sentence"]
    parts = _SENTID.fullmatch(sentid)
    if not parts:
        raise ProblemError(
            f"the sentid {sentid!r} does not have the form occupation.participant.answer.gender.txt"
        )
    occupation, participant, answer, gender = parts.groups()
    pronouns = "|".join(sorted(set(_PRONOUNS[gender].values())))
    found = re.findall(rf"\b(?:{pronouns})\b", sentence, re.IGNORECASE)
    if len(found) != 1:
        raise ProblemError(
            f"the sentence contains {len(found)} {gender} pronouns; exactly 1 is required"
        )
    other = participant if participant == "someone" else f"the {participant}"
    return Problem(
        id=sentid,
        sentence=re.sub(rf"\b{found[0]}\b", BLANK, sentence),
        options=(f"the {occupation}", other),
        answer=int(answer),
        twin_id=f"{occupation}.{participant}.{gender}",
        pronoun=found[0],
        extra=Extra({f"winogender.{key}": part for key, part in parts.groupdict().items()}),
    )


def _expand_template(template: data.Row[Row]) -> Iterator[data.Row[Row]]:
    """Yield the six sentences of a template in the authors' order, with their sentids."""
    row = template.values
    if row is None:
        yield template
        return
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
            sentid = f"{occupation}.{other}.{row['answer']}.{gender}.txt"
            yield template._replace(values={"sentid": sentid, "sentence": sentence})


WINOGENDER = Format(
    name="winogender",
    title="Winogender: sentid and sentence, tab-separated",
    read=lambda rows: _base.build_entries(_base.read_cells(rows, _COLUMNS), _parse_problem),
    needs=frozenset(_COLUMNS),
)

WINOGENDER_TEMPLATES = Format(
    name="winogender-templates",
    title="Winogender's templates, expanded",
    read=lambda rows: _base.build_entries(
        chain.from_iterable(map(_expand_template, _base.read_cells(rows, _TEMPLATE_COLUMNS))),
        _parse_problem,
    ),
    needs=frozenset(_TEMPLATE_COLUMNS),
)
