"""Make files for other programs: rendered templates, Parquet tables and tasks for harnesses.

Markdown templates escape each value, unless a filter has returned it as Markdown. Tables have typed
columns, and the same bytes for the same problems. A task is a folder with the problems as JSON
Lines and the files that the harness reads. It does not need winosmith.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cache
from io import BytesIO
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Literal

from winosmith.dataset import Dataset
from winosmith.errors import DataError, join_ids, require
from winosmith.escape import (
    escape_json,
    escape_line,
    escape_markdown,
    escape_markdown_block,
    escape_markdown_code,
)
from winosmith.models import split_sentence
from winosmith.outputs import OutputFolder
from winosmith.problem import Origin, Problem
from winosmith.release._about import get_hub_licence
from winosmith.report import format_value
from winosmith.text import format_count

if TYPE_CHECKING:
    from jinja2 import Environment


class _Escaped(str):
    """Text that is already escaped."""


def render(name: str, /, **values: Any) -> str:
    return _make_environment(".md." in name).get_template(name).render(**values)


@cache
def _make_environment(markdown: bool) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(  # noqa: S701 - no HTML; values are escaped for each output
        loader=PackageLoader("winosmith.release"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_escape if markdown else None,
    )
    environment.filters |= {
        "block": lambda text: _format_paragraphs([text]),
        "blocks": _format_paragraphs,
        "code": lambda text: _Escaped(escape_markdown_code(text)),
        "digits": lambda number: f"{number:,}",
        "hub_licence": get_hub_licence,
        "hub_size": _get_hub_size,
        "json": lambda value: _Escaped(escape_json(json.dumps(value, ensure_ascii=False))),
        "number_of": format_count,
        "ready": _Escaped,
        "shown": format_value,
        "stated": lambda text: text or "not stated",
    }
    return environment


def _escape(value: object) -> str:
    if isinstance(value, _Escaped):
        return value
    return f"{value:,}" if isinstance(value, int) else escape_markdown(value)


def _format_paragraphs(texts: Iterable[str | None]) -> _Escaped:
    found = [block for text in texts if (block := escape_markdown_block(text or "").strip())]
    return _Escaped("\n\n".join(found) or "not stated")


def _get_hub_size(problems: int) -> str:
    names = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M")
    return next((name for at, name in enumerate(names) if problems < 10 ** (at + 3)), "n>1M")


JUDGES, JUDGED_BY = "release.judges", "release.judged_by"
REMOVED_BY, PHASE = "release.removed_by", "release.phase"
RELEASE_KEYS = (JUDGES, JUDGED_BY, REMOVED_BY, PHASE)
"""The keys of `extra` that a release adds; each has its own column."""

COLUMNS: Mapping[str, tuple[str, str]] = {
    "id": ("text", "stays the same from release to release"),
    "sentence": ("text", "contains the blank `_` once"),
    "question": ("text", "the question"),
    "options": ("texts", "2 to 5 texts for the blank"),
    "answer": ("number", "the correct option, from 0; null if it is withheld"),
    "twin_id": ("text", "shared by the halves of a twin; kept if one half is removed"),
    "pronoun": ("text", "the pronoun that the blank replaces"),
    "source": ("text", "the source"),
    "author": ("text", "the contributor's pseudonym"),
    "created": ("text", "the day of writing, ISO 8601"),
    "domain": ("text", "the domain, such as social or physical"),
    "anchor": ("text", "the words of the topic that both halves contain"),
    "licence": ("text", "the licence of this problem"),
    "root": ("text", "the root of the family, if the problem is perturbed"),
    "parent": ("text", "the problem that was perturbed"),
    "declared": ("number", "the depth that the contributor states"),
    "edits": ("edits", "edits of the parent: op, at (index of the token, from 0), old, new"),
    "judges": ("number", "the number of people who judged the problem"),
    "judged_by": ("texts", "the judges' pseudonyms"),
    "removed_by": ("text", "the stage that removed the problem from the debiased set, or null"),
    "phase": ("number", "the phase of the filter that removed the problem"),
    "extra": ("text", "other fields of the source's format, as JSON, and the canary"),
}
"""The kind and description of each column."""

QUESTION_COLUMNS: Mapping[str, tuple[str, str]] = {
    "sentence": ("text", "a sentence that contains the blank once, or a question without a blank"),
    "options": ("texts", "2 to 26 texts for the blank, or answers to the question"),
    "extra": (
        "text",
        "other fields of the source's format, as JSON; `blank`, if it is not the only `_` (null: "
        "a question); and the canary",
    ),
}
"""Descriptions that replace those in `COLUMNS` if `Content.has_questions`."""

_ROW_GROUP_SIZE = 10_000
"""Number of rows in a row group of a Parquet file; some viewers load whole groups."""


def find_used_columns(problems: Iterable[Problem]) -> dict[str, tuple[str, str]]:
    """Return the columns in which at least one problem has a value.

    The text is in the column "question" if no problem has a blank, otherwise in "sentence".
    """
    rows = [_make_row(problem) for problem in problems]
    used = {name for row in rows for name, value in row.items() if value is not None}
    used -= {"sentence" if all(row["question"] for row in rows) else "question"}
    return {name: of for name, of in COLUMNS.items() if name in used}


def make_table(problems: Iterable[Problem], columns: Iterable[str]) -> Any:
    """Return a pyarrow table with a row for each problem, in order."""
    arrow = require("pyarrow", "release")
    text, number = arrow.string(), arrow.int32()
    edit = arrow.struct([("op", text), ("at", number), ("old", text), ("new", text)])
    kinds = {"text": text, "number": number, "texts": arrow.list_(text), "edits": arrow.list_(edit)}
    schema = arrow.schema([(name, kinds[COLUMNS[name][0]]) for name in columns])
    return arrow.Table.from_pylist([_make_row(problem) for problem in problems], schema=schema)


def _make_row(problem: Problem) -> dict[str, Any]:
    extra: dict[str, Any] = dict(problem.extra)
    row = {name.removeprefix("release."): extra.pop(name, None) for name in RELEASE_KEYS}
    if row["judged_by"] is not None:
        row["judged_by"] = str(row["judged_by"]).split(" ")
    if not problem.blank_is_unique:
        extra["blank"] = problem.blank
    return {
        "id": problem.id,
        "sentence": problem.sentence,
        "question": problem.sentence if problem.blank is None else None,
        "options": problem.options,
        "answer": problem.answer,
        "twin_id": problem.twin_id,
        "pronoun": problem.pronoun,
        **asdict(problem.origin or Origin()),
        **(asdict(problem.lineage) if problem.lineage else {}),
        **row,
        "extra": json.dumps(extra, ensure_ascii=False, separators=(",", ":")) if extra else None,
    }


def format_parquet(table: Any, metadata: Mapping[str, str]) -> bytes:
    """Write no other metadata, so that the file contains no date or host name."""
    encoded = {key.encode(): value.encode() for key, value in sorted(metadata.items())}
    file = BytesIO()
    require("pyarrow.parquet", "release").write_table(
        table.replace_schema_metadata(encoded),
        file,
        compression="zstd",
        row_group_size=_ROW_GROUP_SIZE,
        version="2.6",
    )
    return file.getvalue()


def read_table(path: str | Path) -> Any:
    """Return a pyarrow table without its metadata.

    If the file is not a Parquet file, pyarrow raises OSError or ValueError.
    """
    table = require("pyarrow.parquet", "release").read_table(path)
    return table.replace_schema_metadata(None)


Score = Literal["partial", "full"]

_FIELDS = {
    "partial": {"text": "label", "choice": "contexts", "target": "rest"},
    "option": {"text": "before", "choice": "options", "target": "label"},
    "full": {"text": "prompt", "choice": "sentences", "target": "label"},
}
"""The fields of lm-evaluation-harness's tasks, by kind. If "label" is a string, the contexts
differ."""


def write_inspect_task(dataset: Dataset, folder: str | Path) -> str:
    """Write a multiple-choice task for inspect_ai, with standard errors clustered by twin.

        inspect eval FOLDER/NAME.py --model ...

    Args:
        dataset: problems with answers.
        folder: a new or empty folder, or one with the same export.

    Returns:
        The name of the task, from the name of the data set.

    Raises:
        DataError: there are no problems, or a problem has no answer or is under embargo.
        OutputError: the folder has other content.
    """
    name = make_task_name(dataset.name)
    files = make_inspect_ai_files(dataset, dataset.name, "")
    _write_task(dataset, folder, {"task": "inspect-ai", "name": name}, files)
    return name


def make_inspect_ai_files(dataset: Dataset, name: str, canary: str) -> dict[str, str]:
    task, more = make_task_name(name), _make_canary_field(canary)
    title = escape_line(name or task).replace("\\", "\\\\").replace('"', '\\"')
    texts = {"note": _format_canary_comment(canary), "title": title, "name": task}
    return {
        "problems.jsonl": _format_json_lines(_make_sample(problem, more) for problem in dataset),
        f"{task}.py": render("inspect_ai.py.j2", **texts),
    }


def write_lm_eval_task(
    dataset: Dataset,
    folder: str | Path,
    *,
    prompt: str = "",
    score: Score = "partial",
) -> tuple[str, ...]:
    """Write a folder of tasks for lm-evaluation-harness (0.4.9 or later).

        lm_eval --include_path FOLDER --tasks NAME_partial --model hf --model_args pretrained=gpt2

    `NAME_partial` compares the text after the blank, given each option, like the harness's own
    winogrande task. Its scores are those of `solve.Causal(kind="partial")`. Problems without text
    after the blank (COPA) are in `NAME_option`, which compares the options, given the text before
    them. `NAME_full` compares whole sentences. If there is no prompt, each sentence follows the
    token that begins texts, as in `solve.Causal(kind="full", bos=True)`.

    A folder has one kind of score. Use only one kind in a run of the harness, too. In version
    0.4.13, the harness's `logits_cache` confuses requests with the same text for different kinds,
    and gives the shorter request the scores of wrong tokens.

    Args:
        dataset: problems with answers.
        folder: a new or empty folder, or one with the same export.
        prompt: a text before each sentence, including the white space that separates them.
        score: whether to compare the texts after the blank ("partial") or whole sentences ("full").

    Returns:
        The names of the tasks, from the name of the data set.

    Raises:
        DataError: there are no problems, or a problem has no answer or is under embargo.
        OutputError: the folder has other content.
    """
    name = make_task_name(dataset.name)
    files = make_lm_eval_files(dataset, dataset.name, "", prompt, score)
    recipe = {"task": "lm-eval", "name": name, "prompt": prompt, "score": score}
    _write_task(dataset, folder, recipe, files)
    return tuple(Path(file).stem for file in files if file.endswith(".yaml"))


def make_lm_eval_files(
    dataset: Dataset, name: str, canary: str, prompt: str = "", score: Score = "partial"
) -> dict[str, str]:
    records = [{**_make_record(problem), **_make_canary_field(canary)} for problem in dataset]
    kinds = {"full": records}
    if score == "partial":
        kinds = {
            "partial": [record for record in records if record["rest"]],
            "option": [record for record in records if not record["rest"]],
        }
    note = _format_canary_comment(canary)
    files = {}
    for kind, selected in kinds.items():
        if selected:
            task = f"{make_task_name(name)}_{kind}"
            files[f"{kind}.jsonl"] = _format_json_lines(selected)
            files[f"{task}.yaml"] = render(
                "lm_eval.yaml.j2", note=note, task=task, kind=kind, **_FIELDS[kind]
            )
    files["utils.py"] = render("lm_eval_utils.py.j2", note=note)
    return files | ({"prompt.txt": prompt} if prompt else {})


def make_task_name(name: str) -> str:
    """Make a task name that both harnesses and Python accept.

    >>> make_task_name("WSC-273 (v2)"), make_task_name("")
    ('wsc_273_v2', 'problems')
    """
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "problems"
    return f"t{plain}" if plain[0].isdigit() else plain


def _write_task(
    dataset: Dataset, folder: str | Path, recipe: Mapping[str, str], files: Mapping[str, str]
) -> None:
    if not len(dataset):
        raise DataError("there are no problems to export")
    embargoed = sum(problem.embargo for problem in dataset)
    if embargoed:
        raise DataError(
            f"{embargoed} of {len(dataset)} problems are under embargo, and a task for a harness "
            "would reveal them; remove them first"
        )
    missing = [problem.id for problem in dataset if problem.answer is None]
    if missing:
        raise DataError(
            f"{len(missing)} of {len(dataset)} problems have no answer "
            f"({join_ids(missing)}); a harness needs answers to compute the accuracy"
        )
    out = OutputFolder.open(folder, {**recipe, "data": dataset.digest})
    for name, text in files.items():
        out.write_lines(name, [text])


def _format_json_lines(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _make_canary_field(canary: str) -> dict[str, str]:
    return {"canary": canary} if canary else {}


def _format_canary_comment(canary: str) -> str:
    return f"# {escape_line(canary)}\n" if canary else ""


def _make_sample(problem: Problem, metadata: Mapping[str, str]) -> dict[str, Any]:
    shown = problem.sentence
    if problem.blank is not None:
        text = problem.sentence if problem.blank_is_unique else problem.replace_blank("[_]")
        shown = f"Which option fills the blank (_) in this sentence?\n\n{text}"
    return {
        "id": problem.id,
        "input": shown,
        "choices": problem.options,
        "target": ascii_uppercase[problem.answer or 0],
        "metadata": {"twin": problem.twin_id or problem.id, **metadata},
    }


def _make_record(problem: Problem) -> dict[str, Any]:
    before, options, rest = split_sentence(problem)
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
