"""A JSON object of one model's answers by the ids of items: `{"q1": "A", "q2": 2}`.

An answer is a letter, a number from 1, or the option's text; null means that the model was not
asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from winosmith.answers._answers import Answers
from winosmith.answers._rules import NO_LETTER, check_known, read_choices
from winosmith.dataset import Dataset
from winosmith.errors import FormatError
from winosmith.prediction import Prediction


def read_by_id(record: Mapping[str, Any], path: Path, dataset: Dataset, hint: str) -> Answers:
    """Return the answers of an object.

    Args:
        record: the object.
        path: its file, whose name is the model's.
        dataset: the items.
        hint: the sources that can be read, for the error.

    Raises:
        FormatError: fewer than half of the keys are ids of items, or no value is an answer.
    """
    check_known(record, dataset, path, "keys of this object", hint)
    labels = {
        name: "-" if isinstance(value, bool | dict | list) else value
        for name, value in record.items()
    }
    choices = read_choices(labels, dataset, path, {})
    if all(choice is None for choice in choices.values()):
        raise FormatError(NO_LETTER, path)
    return Answers(tuple(Prediction(name, one) for name, one in choices.items()), path.stem)
