"""Data sets as tasks of inspect_ai and lm-evaluation-harness.

An export is a folder that needs nothing of winosmith: the problems as JSON Lines, and what the
harness reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.models import sentence_parts
from winosmith.outputs import OutputFolder
from winosmith.problem import Problem


def task_name(name: str) -> str:
    """Return a name that both harnesses and Python take.

    >>> task_name("WSC-273 (v2)"), task_name("")
    ('wsc_273_v2', 'problems')
    """
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "problems"
    return f"t{plain}" if plain[0].isdigit() else plain


def check(dataset: Dataset) -> None:
    """Refuse a data set that a harness can count nothing of, or must not see, with DataError."""
    if not len(dataset):
        raise DataError("there is no problem to export")
    embargoed = sum(problem.embargo for problem in dataset)
    if embargoed:
        raise DataError(
            f"{embargoed} of {len(dataset)} problems are under embargo; a task for a harness would "
            "show them to whoever reads it, so take them out first"
        )
    missing = [problem.id for problem in dataset if problem.answer is None]
    if missing:
        named = ", ".join(map(repr, missing[:3])) + (", …" if len(missing) > 3 else "")
        raise DataError(
            f"{len(missing)} of {len(dataset)} problems have no answer ({named}); a harness needs "
            "one to count what is right"
        )


def opened(dataset: Dataset, folder: str | Path, recipe: dict[str, str]) -> OutputFolder:
    """Take the folder of an export, by the rules of `winosmith.outputs`."""
    return OutputFolder.open(folder, {**recipe, "data": dataset.digest})


def write(out: OutputFolder, name: str, pieces: Iterable[str]) -> None:
    """Write the pieces of a text as one file of the folder."""
    with out.write(name) as file:
        file.writelines(pieces)


def line(record: Mapping[str, Any]) -> str:
    """Return a record as a line of JSON."""
    return json.dumps(record, ensure_ascii=False) + "\n"


def marked(canary: str) -> dict[str, str]:
    """Return what a record carries of a canary: nothing where there is none."""
    return {"canary": canary} if canary else {}


def noted(canary: str) -> str:
    """Return a canary as the first line of a Python or YAML file: nothing where there is none."""
    return f"# {canary}\n" if canary else ""


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


_UTILS = '''"""Loads the problems that lie beside this file, after the prompt where there is one."""

import json
from pathlib import Path

import datasets

HERE = Path(__file__).parent


def _loaded(name):
    prompt = (HERE / "prompt.txt").read_bytes().decode() if (HERE / "prompt.txt").exists() else ""
    problems = [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]
    for problem in problems:
        problem["prompt"] = prompt
        problem["before"] = prompt + problem["before"]
        problem["contexts"] = [prompt + context for context in problem["contexts"]]
    return {"test": datasets.Dataset.from_list(problems)}


def partial(**_):
    return _loaded("partial.jsonl")


def option(**_):
    return _loaded("option.jsonl")


def full(**_):
    return _loaded("full.jsonl")
'''


def lm_eval_task(
    dataset: Dataset,
    folder: str | Path,
    *,
    name: str | None = None,
    prompt: str = "",
    score: Literal["partial", "full"] = "partial",
    canary: str = "",
) -> tuple[str, ...]:
    """Write a folder of tasks for lm-evaluation-harness (0.4.9 or later).

        lm_eval --include_path FOLDER --tasks NAME_partial --model hf --model_args pretrained=gpt2

    `NAME_partial` compares what follows the blank after each option, as the harness's own
    winogrande task does, and gives the scores of `solve.Causal(kind="partial")`. Problems in which
    nothing follows the blank (COPA) are in `NAME_option`, which compares the options after what
    precedes them. `NAME_full` compares the whole sentences, after the token that begins texts
    where there is no prompt: `solve.Causal(kind="full", bos=True)`.

    A folder holds one kind of score, and one run of the harness should too. Its `logits_cache`
    takes two requests with the same text for one, whatever they ask of it, and gives the shorter
    the wrong tokens' scores (0.4.13).

    Args:
        dataset: with an answer to each problem.
        folder: new, empty, or one that holds the same export.
        name: of the tasks; that of the data set when None.
        prompt: a text before each sentence, with the white space that parts them.
        score: what is compared.
        canary: a string that every file and every record carries.

    Returns:
        The names of the tasks.

    Raises:
        DataError: no problem, or one without an answer.
        OutputError: the folder holds something else.
    """
    check(dataset)
    name = task_name(name or dataset.name)
    records = [{**_record(problem), **marked(canary)} for problem in dataset]
    files = {
        "partial": [record for record in records if record["rest"]],
        "option": [record for record in records if not record["rest"]],
    }
    if score == "full":
        files = {"full": records}
    out = opened(
        dataset, folder, {"task": "lm-eval", "name": name, "prompt": prompt, "score": score}
    )
    tasks = []
    for kind, held in files.items():
        if held:
            tasks.append(f"{name}_{kind}")
            write(out, f"{kind}.jsonl", (line(record) for record in held))
            write(out, f"{tasks[-1]}.yaml", [noted(canary), *_yaml(tasks[-1], kind)])
    write(out, "utils.py", [noted(canary), _UTILS])
    if prompt:
        write(out, "prompt.txt", [prompt])
    return tuple(tasks)


def _record(problem: Problem) -> dict[str, Any]:
    before, options, rest = sentence_parts(problem)
    return {
        "id": problem.id,
        "twin": problem.twin_id or problem.id,
        "before": before,
        "options": list(options),
        "rest": rest,
        "contexts": [before + option for option in options],
        "sentences": [before + option + rest for option in options],
        "label": problem.answer,
    }


def _yaml(task: str, kind: str) -> Iterable[str]:
    """Return a task's lines; an option's number as text says that the contexts differ."""
    text, choice, target = {
        "partial": ("label", "contexts", "rest"),
        "option": ("before", "options", "label"),
        "full": ("prompt", "sentences", "label"),
    }[kind]
    yield f"task: {task}\n"
    yield f"custom_dataset: !function utils.{kind}\n"
    yield "output_type: multiple_choice\ntest_split: test\nnum_fewshot: 0\n"
    yield f"doc_to_text: {text}\ndoc_to_choice: {choice}\ndoc_to_target: {target}\n"
    yield 'target_delimiter: ""\n'
    yield "metric_list:\n  - metric: acc\n    aggregation: mean\n    higher_is_better: true\n"
    yield "metadata:\n  version: 1.0\n"
