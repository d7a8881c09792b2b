"""Tasks of evaluation harnesses as tables of questions.

`lm-eval:TASK` is a task or group of lm-evaluation-harness, given by name or by the path of its YAML
file (`pip install 'winosmith[lm-eval]'`). A task's own functions convert documents to questions, so
code in the task is run. In Python, a `Task` or `Dataset` of inspect_ai is read, too.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from winosmith.data._bytes import LM_EVAL
from winosmith.data._json import Record
from winosmith.errors import FormatError, require


def load_task_tables(address: str) -> dict[str, list[Record]]:
    """Load a task or group of lm-evaluation-harness, and return each task's questions by address.

    The questions are the documents that the harness scores: the test split, or the validation split
    if there is no test split. Each question's answer is a letter. If the choices are contexts with
    the same continuation, as in WinoGrande, the continuation is the question.
    """
    name = address.removeprefix(LM_EVAL)
    tasks = require("lm_eval.tasks", "lm-eval")
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    path = Path(name)
    is_file = path.suffix in (".yaml", ".yml")
    if is_file and not path.is_file():
        raise FormatError("there is no such file", address)
    try:
        folder = str(path.parent) if is_file else None
        manager = tasks.TaskManager(include_path=folder, include_defaults=not is_file)
        entries = manager.task_index.items()
        if is_file:
            name = next(name for name, entry in entries if path.samefile(entry.yaml_path or "."))
        elif name not in manager.task_index:
            raise FormatError("there is no such task; see: lm_eval ls tasks", address)
        tables = dict[str, list[Record]]()
        for task_name, task in manager.load([name])["tasks"].items():
            docs = task.test_docs() if task.has_test_docs() else task.validation_docs()
            if task.OUTPUT_TYPE != "multiple_choice" or docs is None:
                raise FormatError(
                    f"the task has no choices (output_type: {task.OUTPUT_TYPE}); only "
                    "multiple-choice tasks are supported",
                    address,
                )
            questions = tables[f"{LM_EVAL}{task_name}"] = []
            for number, doc in enumerate(docs):
                text, target = task.doc_to_text(doc), task.doc_to_target(doc)
                choices = task.doc_to_choice(doc)
                if task.multiple_input:
                    text, target = target, text
                if isinstance(target, str) and target in choices:
                    target = choices.index(target)
                questions.append(_make_question(number, text, choices, target))
        return tables
    except FormatError:
        raise
    except StopIteration:
        raise FormatError("this is not an lm-evaluation-harness task", address) from None
    except Exception as error:
        raise FormatError(f"the task can't be loaded: {error}", address) from error


def _make_question(question_id: object, text: str, choices: list[str], target: object) -> Record:
    answer = ascii_uppercase[target] if isinstance(target, int) else target
    return {"id": str(question_id), "question": text, "choices": list(choices), "answer": answer}


def is_inspect_data(data: object) -> bool:
    inspect = sys.modules.get("inspect_ai")  # if it isn't imported, `data` can't be its object
    return inspect is not None and isinstance(data, inspect.Task | inspect.dataset.Dataset)


def convert_samples(data: Any) -> list[Record]:
    samples = getattr(data, "dataset", data)
    rows = []
    for number, sample in enumerate(samples, 1):
        if not sample.choices:
            raise FormatError(
                f"sample {sample.id or number} has no choices; only multiple choice is supported",
                f"<{type(data).__name__}>",
            )
        text = sample.input
        if not isinstance(text, str):
            text = "\n\n".join(message.text for message in text if message.role == "user")
        target = sample.target
        answer = target[0] if isinstance(target, list) and len(target) == 1 else target
        rows.append(_make_question(sample.id or number, text, sample.choices, answer))
    return rows
