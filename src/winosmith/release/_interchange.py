"""The forms in which programs read: tables and Croissant of a release, tasks of harnesses.

A table has typed columns, and the same bytes for the same problems. croissant.json describes the
files, as Croissant 1.0 has it (Akhtar et al. 2024). A task of inspect_ai or of
lm-evaluation-harness is a folder that needs nothing of winosmith: the problems as JSON Lines, and
what the harness reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import ascii_uppercase
from typing import IO, Any, Literal

from winosmith.dataset import Dataset
from winosmith.errors import DataError, require
from winosmith.escape import one_line
from winosmith.models import sentence_parts
from winosmith.outputs import OutputFolder
from winosmith.problem import Problem, Scalar
from winosmith.release._content import Content
from winosmith.release._source import JUDGED_BY, JUDGES, PHASE, REMOVED_BY

COLUMNS: Mapping[str, tuple[str, str]] = {
    "id": ("text", "stays with the problem from release to release"),
    "sentence": ("text", "holds the blank `_` once"),
    "options": ("texts", "what may fill the blank, 2 to 5"),
    "answer": ("number", "the right option, from 0; null where it is withheld"),
    "twin_id": ("text", "shared by the halves of a twin; kept when one half is gone"),
    "pronoun": ("text", "what the blank replaced"),
    "source": ("text", "where it comes from"),
    "author": ("text", "the contributor's pseudonym"),
    "created": ("text", "the day on which it was written, ISO 8601"),
    "domain": ("text", "such as social or physical"),
    "anchor": ("text", "the words of the topic that both halves hold"),
    "licence": ("text", "of this problem"),
    "root": ("text", "the family's root, of a perturbed problem"),
    "parent": ("text", "what was perturbed"),
    "declared": ("number", "the depth that the contributor states"),
    "edits": ("edits", "from the parent: op, at (the token, from 0), old, new"),
    "judges": ("number", "how many people judged it"),
    "judged_by": ("texts", "their pseudonyms"),
    "removed_by": ("text", "the stage that took it out of the debiased set; null when kept"),
    "phase": ("number", "the phase of the filter in which that was"),
    "extra": ("text", "what only the source's format knew, as JSON, and the canary"),
}
"""Each column with its kind and what it says."""

_ASKED = {
    "sentence": ("text", "holds the blank once, or is a question, which has none"),
    "options": ("texts", "what may fill the blank or answer the question, 2 to 26"),
    "extra": ("text", "what only the source's format knew, as JSON; `blank`, where it is not the "
              "only `_` (null: a question); and the canary"),
}  # fmt: skip
"""The same of problems that are not all sentences with one `_` and five options at most."""

_OUT_OF_EXTRA = (JUDGES, JUDGED_BY, REMOVED_BY, PHASE)
_ORIGIN = ("source", "author", "created", "domain", "anchor", "licence")
_ROWS = 10_000
"""Rows a group: small enough for viewers that load one."""


def columns_of(content: Content) -> Mapping[str, tuple[str, str]]:
    """Return each column with its kind, and what it says of the problems of a release."""
    plain = all(p.blank_is_plain and len(p.options) <= 5 for p in content.problems)
    return COLUMNS if plain else {**COLUMNS, **_ASKED}


def _schema() -> Any:
    arrow = require("pyarrow", "release")
    text, number = arrow.string(), arrow.int32()
    edit = arrow.struct([("op", text), ("at", number), ("old", text), ("new", text)])
    kinds = {"text": text, "number": number, "texts": arrow.list_(text), "edits": arrow.list_(edit)}
    return arrow.schema([(name, kinds[kind]) for name, (kind, _) in COLUMNS.items()])


def table_of(problems: Iterable[Problem]) -> Any:
    """Return the problems as a pyarrow table, one row each, in order.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for problem in problems:
        for name, value in _row(problem).items():
            columns[name].append(value)
    return require("pyarrow", "release").Table.from_pydict(columns, schema=_schema())


def _row(problem: Problem) -> dict[str, Any]:
    lineage = problem.lineage
    names = problem.extra.get(JUDGED_BY)
    return {
        "id": problem.id,
        "sentence": problem.sentence,
        "options": list(problem.options),
        "answer": problem.answer,
        "twin_id": problem.twin_id,
        "pronoun": problem.pronoun,
        **{name: getattr(problem.origin, name, None) for name in _ORIGIN},
        "root": lineage and lineage.root,
        "parent": lineage and lineage.parent,
        "declared": lineage and lineage.declared,
        "edits": lineage
        and [{"op": e.op, "at": e.at, "old": e.old, "new": e.new} for e in lineage.edits],
        "judges": problem.extra.get(JUDGES),
        "judged_by": str(names).split(" ") if names is not None else None,
        "removed_by": problem.extra.get(REMOVED_BY),
        "phase": problem.extra.get(PHASE),
        "extra": _rest(problem),
    }


def _rest(problem: Problem) -> str | None:
    """Return what has no column: of `extra`, and where the blank is if the texts don't tell it."""
    rest: dict[str, Scalar] = {k: v for k, v in problem.extra.items() if k not in _OUT_OF_EXTRA}
    if not problem.blank_is_plain:
        rest["blank"] = problem.blank
    return json.dumps(rest, ensure_ascii=False, separators=(",", ":")) if rest else None


def write_table(table: Any, file: IO[bytes], metadata: Mapping[str, str]) -> None:
    """Write a table as Parquet, with texts beside it; no date and no host gets into the bytes."""
    encoded = {key.encode(): value.encode() for key, value in sorted(metadata.items())}
    parquet = require("pyarrow.parquet", "release")
    parquet.write_table(
        table.replace_schema_metadata(encoded),
        file,
        compression="zstd",
        row_group_size=_ROWS,
        version="2.6",
    )


def read_table(path: str | Path) -> Any:
    """Return the table of a Parquet file, without its metadata.

    Raises:
        MissingExtraError: pyarrow is not installed.
        OSError: it is not a Parquet file (pyarrow's own error is one, or a ValueError).
    """
    table = require("pyarrow.parquet", "release").read_table(path)
    return table.replace_schema_metadata(None)


CONFORMS = "http://mlcommons.org/croissant/1.0"

_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The context that the specification prescribes."""

_TYPES = {"text": "sc:Text", "texts": "sc:Text", "number": "sc:Integer"}
_EDIT = {"op": "sc:Text", "at": "sc:Integer", "old": "sc:Text", "new": "sc:Text"}
_ENCODINGS = {
    "parquet": "application/x-parquet",
    "jsonl": "application/jsonlines",
    "lst": "text/plain",
}


def croissant(content: Content, files: Mapping[str, Mapping[str, Any]]) -> str:
    """Return croissant.json.

    `files` has, by the path of each file in the release, its `sha256` and its size in `bytes`.
    """
    about = content.about
    description: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS,
        "name": about.name,
        "alternateName": about.title,
        "description": about.description,
        "version": _semantic(about.version),
        "datePublished": about.date,
        "license": about.licence,
        "inLanguage": list(about.language),
        "creator": [{"@type": "sc:Organization", "name": name} for name in about.authors],
        "citeAs": about.citation or f"{', '.join(about.authors)}: {about.title}, {about.version}",
        "url": about.homepage or f"urn:winosmith:{about.name}",
        "isLiveDataset": False,
        "keywords": ["commonsense", "Winograd schema", content.canary],
        "isAccessibleForFree": True,
        "distribution": [
            _file(path, files[path]) for path in sorted(files) if path.startswith("data/")
        ],
        "recordSet": [
            _records(part, content.counts[part]["problems"], columns_of(content))
            for part in content.parts
        ],
    }
    return json.dumps(description, indent=1, ensure_ascii=False) + "\n"


def _semantic(version: str) -> str:
    """Return MAJOR.MINOR.PATCH, as the specification recommends, of 1.0 too."""
    return f"{version}.0" if version.count(".") == 1 else version


def _file(path: str, held: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path.removeprefix("data/"),
        "description": "The same problems as the Parquet file."
        if path.endswith(".jsonl")
        else "The answers alone, 1 for the first option."
        if path.endswith(".lst")
        else "Problems, one a row.",
        "contentUrl": path,
        "contentSize": f"{held['bytes']} B",
        "encodingFormat": _ENCODINGS[path.rpartition(".")[2]],
        "sha256": held["sha256"],
    }


def _records(part: str, problems: int, columns: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": part,
        "name": part,
        "description": f"{problems} problems.",
        "key": {"@id": f"{part}/id"},
        "field": [_field(part, name, kind, text) for name, (kind, text) in columns.items()],
    }


def _field(part: str, name: str, kind: str, description: str) -> dict[str, Any]:
    source = {"fileObject": {"@id": f"data/{part}.parquet"}, "extract": {"column": name}}
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{part}/{name}",
        "name": name,
        "description": description,
    }
    if kind == "edits":
        field["repeated"] = True
        field["source"] = source
        field["subField"] = [
            {
                "@type": "cr:Field",
                "@id": f"{part}/{name}/{key}",
                "name": key,
                "dataType": of,
                "source": {**source, "transform": {"jsonPath": key}},
            }
            for key, of in _EDIT.items()
        ]
        return field
    field |= {"dataType": _TYPES[kind], "source": source}
    return {**field, "repeated": True} if kind == "texts" else field


def task_records(problem: Problem, canary: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the records of a problem in the tasks of lm-evaluation-harness and inspect_ai."""
    return {**_record(problem), **marked(canary)}, _sample(problem, canary)


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
    write(
        out,
        f"{name}.py",
        [noted(canary), _INSPECT % {"title": _in_docstring(title or name), "name": name}],
    )
    return name


def _in_docstring(text: str) -> str:
    r"""Return a name, which may be that of a file, so that it can't end a docstring of Python.

    >>> _in_docstring('a"b\\c')
    'a\\"b\\\\c'
    """
    return one_line(text).replace("\\", "\\\\").replace('"', '\\"')


def _sample(problem: Problem, canary: str) -> dict[str, Any]:
    answer = -1 if problem.answer is None else problem.answer  # `check` saw to it
    return {
        "id": problem.id,
        "input": _asked(problem),
        "choices": list(problem.options),
        "target": ascii_uppercase[answer],
        "metadata": {"twin": problem.twin_id or problem.id, **marked(canary)},
    }


def _asked(problem: Problem) -> str:
    if problem.blank is None:
        return problem.sentence
    shown = problem.sentence if problem.blank_is_plain else problem.put("[_]")
    return f"{_QUESTION}\n\n{shown}"


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
