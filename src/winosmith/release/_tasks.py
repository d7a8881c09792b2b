"""Tasks of lm-evaluation-harness and inspect_ai: folders that need nothing of winosmith.

Each has the problems as JSON Lines, and the files that the harness reads, from templates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal

from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.escape import one_line
from winosmith.models import sentence_parts
from winosmith.outputs import OutputFolder
from winosmith.problem import Problem
from winosmith.release._templates import render

Score = Literal["partial", "full"]

_FIELDS = {
    "partial": {"text": "label", "choice": "contexts", "target": "rest"},
    "option": {"text": "before", "choice": "options", "target": "label"},
    "full": {"text": "prompt", "choice": "sentences", "target": "label"},
}
"""The fields that lm-evaluation-harness reads; a label as text means that contexts differ."""


def inspect_task(
    dataset: Dataset, folder: str | Path, *, name: str | None = None, canary: str = ""
) -> str:
    """Write a task of inspect_ai: the problems as multiple choice, the error clustered by twin.

        inspect eval FOLDER/NAME.py --model ...

    Args:
        dataset: with an answer to each problem.
        folder: new, empty, or one that holds the same export.
        name: of the task; that of the data set when None.
        canary: a string that every file and every record contains.

    Returns:
        The name of the task.

    Raises:
        DataError: there is no problem, or one without an answer.
        OutputError: the folder holds something else.
    """
    _check(dataset)
    name = name or dataset.name
    recipe = {"task": "inspect-ai", "name": task_name(name)}
    _write(dataset, folder, recipe, inspect_files(dataset, name, canary))
    return task_name(name)


def inspect_files(dataset: Dataset, name: str, canary: str) -> dict[str, str]:
    """Return the files of a task of inspect_ai, by name."""
    title = one_line(name or task_name(name)).replace("\\", "\\\\").replace('"', '\\"')
    texts = {"note": _note(canary), "title": title, "name": task_name(name)}
    return {
        "problems.jsonl": _lines(_sample(problem, _mark(canary)) for problem in dataset),
        f"{task_name(name)}.py": render("inspect_ai.py.j2", **texts),
    }


def lm_eval_task(
    dataset: Dataset,
    folder: str | Path,
    *,
    name: str | None = None,
    prompt: str = "",
    score: Score = "partial",
    canary: str = "",
) -> tuple[str, ...]:
    """Write a folder of tasks for lm-evaluation-harness (0.4.9 or later).

        lm_eval --include_path FOLDER --tasks NAME_partial --model hf --model_args pretrained=gpt2

    `NAME_partial` compares the text after the blank, given each option, as the harness's own
    winogrande task does, and gives the scores of `solve.Causal(kind="partial")`. Problems without
    text after the blank (COPA) are in `NAME_option`, which compares the options, given the text
    before them. `NAME_full` compares the whole sentences, after the token that begins texts if
    there is no prompt: `solve.Causal(kind="full", bos=True)`.

    A folder has one kind of score, and so should one run of the harness. Its `logits_cache` treats
    two requests with the same text as one, whatever they ask for, and gives the shorter one the
    scores of wrong tokens (0.4.13).

    Args:
        dataset: with an answer to each problem.
        folder: new, empty, or one that holds the same export.
        name: of the tasks; that of the data set when None.
        prompt: a text before each sentence, with the white space that separates them.
        score: the texts that are compared.
        canary: a string that every file and every record contains.

    Returns:
        The names of the tasks.

    Raises:
        DataError: there is no problem, or one without an answer.
        OutputError: the folder holds something else.
    """
    _check(dataset)
    name = name or dataset.name
    files = lm_eval_files(dataset, name, canary, prompt, score)
    recipe = {"task": "lm-eval", "name": task_name(name), "prompt": prompt, "score": score}
    _write(dataset, folder, recipe, files)
    return tuple(Path(file).stem for file in files if file.endswith(".yaml"))


def lm_eval_files(
    dataset: Dataset, name: str, canary: str, prompt: str = "", score: Score = "partial"
) -> dict[str, str]:
    """Return the files of tasks for lm-evaluation-harness, by name."""
    records = [{**_record(problem), **_mark(canary)} for problem in dataset]
    kinds = {"full": records}
    if score == "partial":
        kinds = {
            "partial": [record for record in records if record["rest"]],
            "option": [record for record in records if not record["rest"]],
        }
    files = {}
    for kind, held in kinds.items():
        if held:
            task = f"{task_name(name)}_{kind}"
            texts = {"note": _note(canary), "task": task, "kind": kind, **_FIELDS[kind]}
            files[f"{kind}.jsonl"] = _lines(held)
            files[f"{task}.yaml"] = render("lm_eval.yaml.j2", **texts)
    files["utils.py"] = render("lm_eval_utils.py.j2", note=_note(canary))
    return files | ({"prompt.txt": prompt} if prompt else {})


def task_name(name: str) -> str:
    """Return a name that both harnesses and Python accept.

    >>> task_name("WSC-273 (v2)"), task_name("")
    ('wsc_273_v2', 'problems')
    """
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "problems"
    return f"t{plain}" if plain[0].isdigit() else plain


def _check(dataset: Dataset) -> None:
    if not len(dataset):
        raise DataError("there is no problem to export")
    embargoed = sum(problem.embargo for problem in dataset)
    if embargoed:
        raise DataError(
            f"{embargoed} of {len(dataset)} problems are under embargo, and a task for a harness "
            "shows them to its readers; remove them first"
        )
    missing = [problem.id for problem in dataset if problem.answer is None]
    if missing:
        named = ", ".join(map(repr, missing[:3])) + (", …" if len(missing) > 3 else "")
        raise DataError(
            f"{len(missing)} of {len(dataset)} problems have no answer ({named}); a harness needs "
            "one to count correct answers"
        )


def _write(
    dataset: Dataset, folder: str | Path, recipe: Mapping[str, str], files: Mapping[str, str]
) -> None:
    out = OutputFolder.open(folder, {**recipe, "data": dataset.digest})
    for name, text in files.items():
        with out.write(name) as file:
            file.write(text)


def _lines(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _mark(canary: str) -> dict[str, str]:
    return {"canary": canary} if canary else {}


def _note(canary: str) -> str:
    """Return the canary as the first line of a Python or YAML file."""
    return f"# {canary}\n" if canary else ""


def _sample(problem: Problem, mark: Mapping[str, str]) -> dict[str, Any]:
    shown = problem.sentence
    if problem.blank is not None:
        text = problem.sentence if problem.blank_is_plain else problem.put("[_]")
        shown = f"Which option fills the blank (_) in this sentence?\n\n{text}"
    return {
        "id": problem.id,
        "input": shown,
        "choices": problem.options,
        "target": ascii_uppercase[problem.answer or 0],
        "metadata": {"twin": problem.twin_id or problem.id, **mark},
    }


def _record(problem: Problem) -> dict[str, Any]:
    before, options, rest = sentence_parts(problem)
    return {
        "id": problem.id,
        "twin": problem.twin_id or problem.id,
        "before": before,
        "options": options,
        "rest": rest,
        "contexts": [before + option for option in options],
        "sentences": [before + option + rest for option in options],
        "label": problem.answer,
    }
