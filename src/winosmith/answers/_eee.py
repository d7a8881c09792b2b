"""Instance records of Every Eval Ever, schema 0.3: JSON Lines with a record per item and model.

The format is that of the EvalEval Coalition (evaleval/every_eval_ever on GitHub). Options that a
solver could not decide between are listed in `metadata.tied`; each gets a score of 1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from winosmith.answers._answers import Answers, Log
from winosmith.answers._file import AnswerFile
from winosmith.answers._items import Items, Row, look_up
from winosmith.answers._rules import choose_filters, read_rows
from winosmith.data import Place, Record
from winosmith.dataset import Dataset
from winosmith.outputs import atomic_write
from winosmith.prediction import Prediction
from winosmith.problem import Problem
from winosmith.records import dump_json

_KEYS = {"evaluation_id", "model_id", "sample_id", "interaction_type"}


def can_read(file: AnswerFile) -> bool:
    return file.rows.first.keys() >= _KEYS


def read(file: AnswerFile) -> list[Answers]:
    """Return the answers of each model.

    If a model has several records for an item, only the records of one result are read: the first
    result, or the one whose `evaluation_result_id` or `evaluation_name` is among the filters.
    """
    models: dict[str, list[tuple[Place, Record]]] = {}
    for place, record in file.read_records():
        models.setdefault(str(record.get("model_id")), []).append((place, record))
    items = Items(file.dataset)
    answers = []
    for model, records in models.items():
        log = Log()
        if len({record.get("sample_id") for _, record in records}) < len(records):
            results = [*dict.fromkeys(_get_result(record) for _, record in records)]
            (used,), log = choose_filters(file, results)
            records = [(place, record) for place, record in records if _get_result(record) == used]
        rows = [_parse_row(place, record, items) for place, record in records]
        answers.append(read_rows(rows, file, model, log))
    return answers


def _get_result(record: Record) -> str:
    return str(record.get("evaluation_result_id") or record.get("evaluation_name"))


def _parse_row(place: Place, record: Record, items: Items) -> Row:
    prompt = str(look_up(record, "input", "raw") or "")
    choices, reference = (look_up(record, "input", key) for key in ("choices", "reference"))
    options = tuple(map(str, choices)) if isinstance(choices, list) else ()
    question, options = (prompt, options) if options else items.find_in_prompt(prompt)
    outputs = look_up(record, "output", "raw")
    reply = str(outputs[-1]) if isinstance(outputs, list) and outputs else ""
    for attribution in record.get("answer_attribution") or ():
        if look_up(attribution, "is_terminal"):
            reply = str(look_up(attribution, "extracted_value"))
    tied = str(look_up(record, "metadata", "tied") or "")
    ties = {int(at) for at in tied.split(",") if at.strip().isdecimal()}
    correct = look_up(record, "evaluation", "is_correct")
    return Row(
        place,
        str(record.get("sample_id")),
        question,
        options,
        prompt,
        None if record.get("error") else reply,
        tuple(float(at in ties) for at in range(len(options))) if ties else (),
        target=str(reference[0]) if isinstance(reference, list) and len(reference) == 1 else None,
        correct=correct if isinstance(correct, bool) and not ties else None,
    )


def write_instance_records(
    path: str | Path, dataset: Dataset, answers: Mapping[str, Answers]
) -> None:
    """Write models' graded answers as instance records of Every Eval Ever.

    The score of a tie is 1 / (number of tied options), and a tie is not correct. Items without an
    answer are omitted.

    Args:
        path: the file to write, usually `.jsonl`; the file appears only when it is complete.
        dataset: the items.
        answers: the answers by model name.

    Raises:
        OutputError: the file can't be written.

    >>> import tempfile
    >>> from winosmith import Dataset, Problem, answers
    >>> data = Dataset([Problem("1", "The _ fell.", ("cup", "jug"), 0)])
    >>> file = Path(tempfile.mkdtemp()) / "records.jsonl"
    >>> answers.write_instance_records(file, data, answers.from_choices({"gpt": {"1": 1}}))
    >>> answers.read(file, data)["gpt"].predictions
    (Prediction(problem_id='1', choice=1, scores=(), tied=()),)
    """
    with atomic_write(path) as file:
        for model, model_answers in answers.items():
            run_fields = {
                "schema_version": "0.3.0",
                "evaluation_id": f"{dataset.name}/{model}/{dataset.digest}",
                "model_id": model,
                "evaluation_name": dataset.name,
            }
            for problem in dataset:
                if (prediction := model_answers.by_id.get(problem.id)) is not None:
                    file.write(dump_json(run_fields | _make_record(problem, prediction)) + "\n")


def _make_record(problem: Problem, prediction: Prediction) -> dict[str, Any]:
    choices = prediction.chosen
    option = problem.options[choices[0]] if choices else ""
    reference = [] if problem.answer is None else [problem.options[problem.answer]]
    digest = hashlib.sha256("".join((problem.sentence, *reference)).encode()).hexdigest()
    attribution = {
        "turn_idx": 0,
        "source": "output.raw",
        "extracted_value": option,
        "extraction_method": "custom",
        "is_terminal": True,
    }
    return {
        "sample_id": problem.id,
        "sample_hash": digest,
        "interaction_type": "single_turn",
        "input": {"raw": problem.sentence, "reference": reference, "choices": [*problem.options]},
        "output": {"raw": [option]},
        "answer_attribution": [attribution],
        "evaluation": {
            "score": prediction.credit(problem.answer),
            "is_correct": choices == (problem.answer,),
        },
        **({"metadata": {"tied": ",".join(map(str, choices))}} if len(choices) > 1 else {}),
    }
