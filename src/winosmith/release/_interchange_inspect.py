"""Data sets as tasks of inspect_ai."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from winosmith.dataset import Dataset
from winosmith.problem import Problem
from winosmith.release._interchange import (
    check,
    line,
    marked,
    noted,
    opened,
    task_name,
    write,
)

__all__ = ["inspect_task"]

_LETTERS = "ABCDE"

_QUESTION = "Which option fills the blank (_) in this sentence?"

_INSPECT = '''"""%(title)s as a task of inspect_ai.

    inspect eval %(name)s.py --model openai/gpt-4o-mini
"""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.scorer import accuracy, choice, stderr
from inspect_ai.solver import multiple_choice


@task
def %(name)s(shuffle: int | None = None) -> Task:
    """Ask which option fills the blank; with `-T shuffle=1` the options come in another order."""
    problems = Path(__file__).parent / "problems.jsonl"
    return Task(
        dataset=json_dataset(str(problems), shuffle_choices=shuffle),
        solver=multiple_choice(),
        scorer=choice(),
        metrics=[accuracy(), stderr(cluster="twin")],
    )
'''


def inspect_task(
    dataset: Dataset, folder: str | Path, *, name: str | None = None, canary: str = ""
) -> str:
    """Write a task of inspect_ai: the problems as multiple choice, the error clustered by twin.

        inspect eval FOLDER/NAME.py --model ...

    Args:
        dataset: with an answer to each problem.
        folder: new, empty, or one that holds the same export.
        name: of the task; that of the data set when None.
        canary: a string that every file and every record carries.

    Returns:
        The name of the task.

    Raises:
        DataError: no problem, or one without an answer.
        OutputError: the folder holds something else.
    """
    check(dataset)
    title, name = name or dataset.name, task_name(name or dataset.name)
    out = opened(dataset, folder, {"task": "inspect-ai", "name": name})
    write(out, "problems.jsonl", (line(_sample(problem, canary)) for problem in dataset))
    write(out, f"{name}.py", [noted(canary), _INSPECT % {"title": title or name, "name": name}])
    return name


def _sample(problem: Problem, canary: str) -> dict[str, Any]:
    answer = -1 if problem.answer is None else problem.answer  # `check` saw to it
    return {
        "id": problem.id,
        "input": f"{_QUESTION}\n\n{problem.sentence}",
        "choices": list(problem.options),
        "target": _LETTERS[answer],
        "metadata": {"twin": problem.twin_id or problem.id, **marked(canary)},
    }
