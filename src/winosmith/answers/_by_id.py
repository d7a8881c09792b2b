"""A JSON object of one model's answers by the ids of items: `{"q1": "A", "q2": 2}`.

An answer is a letter, a number from 1, or the option's text; null means that the model was not
asked.
"""

from __future__ import annotations

from winosmith.answers._answers import Answers
from winosmith.answers._file import AnswerFile
from winosmith.answers._rules import NO_LETTER, SOURCES, check_known, read_choices
from winosmith.prediction import Prediction


def recognise(file: AnswerFile) -> bool:
    """Return whether a file is one JSON object."""
    return file.rows.kind == "object"


def read(file: AnswerFile) -> list[Answers]:
    """Return the answers of an object; the model has the file's name.

    Raises:
        FormatError: fewer than half of the keys are ids of items, or no value is an answer.
    """
    labels = file.rows.first
    check_known(labels, file, "keys of this object", SOURCES)
    choices = read_choices(labels, file, {})
    if all(choice is None for choice in choices.values()):
        raise file.error(NO_LETTER)
    found = tuple(Prediction(name, choice) for name, choice in choices.items())
    return [Answers(found, file.rows.name)]
