"""Read models' answers from any source into one type, with the same rules for all sources.

>>> import tempfile, pathlib
>>> from winosmith import Problem, Dataset, answers
>>> data = Dataset([Problem("1", "The _ fell.", ("cup", "jug"), 0)])
>>> path = pathlib.Path(tempfile.mkdtemp()) / "gpt.json"
>>> _ = path.write_text('{"1": "B"}')
>>> answers.read(path, data)["gpt"].predictions
(Prediction(problem_id='1', choice=1, scores=(), tied=()),)
"""

from __future__ import annotations

from winosmith.answers._answers import Answers, Log, from_choices
from winosmith.answers._eee import write_instance_records
from winosmith.answers._labels import read_labels, read_submission, write_labels
from winosmith.answers._predictions import (
    prediction_header,
    prediction_record,
    read_predictions,
    write_predictions,
)
from winosmith.answers._read import check_same_filters, read

__all__ = [
    "Answers",
    "Log",
    "check_same_filters",
    "from_choices",
    "prediction_header",
    "prediction_record",
    "read",
    "read_labels",
    "read_predictions",
    "read_submission",
    "write_instance_records",
    "write_labels",
    "write_predictions",
]
