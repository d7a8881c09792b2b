"""Data sets as tasks of lm-evaluation-harness."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from winosmith.dataset import Dataset
from winosmith.models import sentence_parts
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

__all__ = ["lm_eval_task"]

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
