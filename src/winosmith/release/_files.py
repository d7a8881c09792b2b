"""The files of a release (`FILES`) and the Responsible AI fields of croissant.json (`FIELDS`).

The names and meanings of the fields are those of the Croissant RAI specification 1.0 (MLCommons,
2024). The required fields are those that NeurIPS requests, and those about collection, annotators
and maintenance.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from io import StringIO
from typing import Any

from winosmith import answers, formats
from winosmith.dataset import Dataset
from winosmith.escape import escape_csv
from winosmith.release import _content, _interchange
from winosmith.release._about import SECTIONS, About
from winosmith.release._content import PARTS, TEST, Content
from winosmith.text import format_count

Sums = Mapping[str, Mapping[str, Any]]
"""The `sha256` and `bytes` of each written file, by path."""

Write = Callable[[str, Content, Sums], Mapping[str, Callable[[], bytes]]]


@dataclass(frozen=True)
class Field:
    """A field of the Responsible AI vocabulary, with the texts that it contains.

    Attributes:
        keys: keys of release.toml whose texts the field contains; if the field is missing, the
            first key is requested.
        facts: returns additional sentences from the build and the data.
        is_required: whether the makers should give one of the keys.
    """

    name: str
    keys: tuple[str, ...]
    facts: Callable[[Content], Iterable[str]] = lambda content: ()
    is_required: bool = True


def _describe_collection(content: Content) -> Iterator[str]:
    counts = content.counts["all"]
    if counts["contributors"]:
        authors = format_count(counts["contributors"], "contributor")
        yield f"{format_count(counts['problems'], 'problem')} by {authors}."
    if names := [source.name for source in content.about.source if source.name != "*"]:
        yield f"Sources: {'; '.join(names)}."


def iter_filter_steps(content: Content) -> Iterator[tuple[str, str]]:
    for step in content.build.get("funnel", {}).get("steps", ()):
        dropped = ", ".join(f"{reason} {count:,}" for reason, count in step["dropped"].items())
        kept = format_count(step["kept"]["problems"], "problem")
        yield step["stage"], f"{kept} kept; dropped: {dropped or 'none'}."


def _describe_preprocessing(content: Content) -> Iterator[str]:
    yield from (f"{stage}: {text}" for stage, text in iter_filter_steps(content))
    if content.keyed:
        yield (
            "Secret coins chose one of two equivalent presentations of "
            f"{content.keyed.block_count:,} blocks; {content.keyed.without:,} have only one. "
            f"Commitment to the coins (SHA-256): {content.keyed.commitment}."
        )


def _describe_annotation(content: Content) -> Iterator[str]:
    yield content.judging_summary
    yield from (f"Votes: {text}" for stage, text in iter_filter_steps(content) if stage == "votes")


FIELDS = (
    Field("dataCollection", ("datasheet.acquired", "datasheet.mechanisms"), _describe_collection),
    Field(
        "dataCollectionMissingData",
        ("datasheet.missing",),
        lambda content: ["The answers of test are withheld."] if TEST in content.parts else [],
        is_required=False,
    ),
    Field("dataCollectionRawData", ("datasheet.raw",), is_required=False),
    Field(
        "dataPreprocessingProtocol",
        ("datasheet.preprocessing",),
        _describe_preprocessing,
        is_required=False,
    ),
    Field("dataAnnotationProtocol", ("datasheet.annotation",), _describe_annotation),
    Field("annotationsPerItem", (), lambda content: [content.judging_summary], is_required=False),
    Field("annotatorDemographics", ("datasheet.annotators",)),
    Field(
        "personalSensitiveInformation",
        ("datasheet.sensitive",),
        lambda content: (
            ["Contributors appear only by pseudonym."]
            if content.counts["all"]["contributors"]
            else []
        ),
    ),
    Field(
        "dataUseCases",
        ("intended_use", "datasheet.other_uses"),
        lambda content: (f"{part}: {PARTS[part]}." for part in content.parts),
    ),
    Field(
        "dataLimitations",
        ("known_limits", "datasheet.unsuitable"),
        lambda content: content.warnings,
    ),
    Field(
        "dataBiases",
        ("datasheet.biases",),
        lambda content: (verdict for verdict, *_ in content.audit_summaries),
    ),
    Field("dataSocialImpact", ("datasheet.social_impact",)),
    Field(
        "dataReleaseMaintenancePlan",
        ("datasheet.updates", "datasheet.maintainers", "datasheet.old_versions"),
        lambda content: ["CHANGELOG.md and tombstones.jsonl list the changes between versions."],
    ),
)


def _get_statement(about: About, key: str) -> str:
    table, _, question = key.rpartition(".")
    return about.datasheet.get(question, "") if table else getattr(about, question)


def collect_responsible_fields(content: Content) -> dict[str, str | bool]:
    found: dict[str, str | bool] = {}
    for one in FIELDS:
        texts = [_get_statement(content.about, key) for key in one.keys]
        if text := "\n\n".join(text for text in (*texts, *one.facts(content)) if text):
            found[f"rai:{one.name}"] = text
    if content.is_synthetic is not None:
        found["rai:hasSyntheticData"] = content.is_synthetic
    return found


def find_missing_fields(content: Content) -> dict[str, str]:
    """Map each required field without a statement by the makers to the key that they can add.

    The keys are those of release.toml; "datasheet.biases" is the key `biases` of `[datasheet]`.
    """
    found = {
        f"rai:{one.name}": one.keys[0]
        for one in FIELDS
        if one.is_required and not any(_get_statement(content.about, key) for key in one.keys)
    }
    return found | ({"rai:hasSyntheticData": "synthetic"} if content.is_synthetic is None else {})


@dataclass(frozen=True)
class File:
    """A file of a release, or one file for each part.

    Attributes:
        path: path in the release; PART stands for each part, and a folder ends in "/".
        write: returns, for each path, a function that returns the bytes of the file; None for files
            that are written last.
    """

    path: str
    purpose: str
    write: Write | None


def _write_parts(render: Callable[[Content, Dataset], bytes], *omitted: str) -> Write:
    return lambda path, content, sums: {
        path.replace("PART", part): partial(render, content, dataset)
        for part, dataset in content.parts.items()
        if part not in omitted
    }


def _write_task(make_files: Callable[[Dataset, str, str], Mapping[str, str]]) -> Write:
    def write(path: str, content: Content, sums: Sums) -> Mapping[str, Callable[[], bytes]]:
        if content.task_part is None:
            return {}
        files = make_files(content.parts[content.task_part], content.about.name, content.canary)
        return {path + name: text.encode for name, text in files.items()}

    return write


def _write_text(render: Callable[[Content], str]) -> Write:
    return lambda path, content, sums: {path: lambda: render(content).encode()}


def _render_page(path: str, content: Content, sums: Sums) -> Mapping[str, Callable[[], bytes]]:
    def render() -> bytes:
        text = _interchange.render(
            f"{path}.j2",
            content=content,
            about=content.about,
            made_with=_content.MADE_WITH,
            sums=sums,
            descriptions=PARTS,
            sections=SECTIONS,
            responsible=collect_responsible_fields,
            filter_steps=iter_filter_steps,
            files=lambda: [f for f in FILES if not f.write or f.write(f.path, content, {})],
        )
        return f"{text.rstrip()}\n".encode()

    return {path: render}


def _render_eval(path: str, content: Content, sums: Sums) -> Mapping[str, Callable[[], bytes]]:
    return _render_page(path, content, sums) if content.task_part else {}


def format_labels(dataset: Dataset) -> str:
    """Format the answers of a part: one per line, with 1 for the first option."""
    file = StringIO()
    answers.write_labels([p.answer for p in dataset if p.answer is not None], file)
    return file.getvalue()


def _format_parquet(content: Content, dataset: Dataset) -> bytes:
    about = {name: getattr(content.about, name) for name in ("licence", "name", "version")}
    return _interchange.format_parquet(
        _interchange.make_table(dataset, content.columns), {"canary": content.canary, **about}
    )


def _format_authors(content: Content) -> str:
    sides = sorted({_content.get_side(part) for part in content.parts})
    counts: dict[str, Counter[str]] = {}
    seen: set[str] = set()
    for part, dataset in content.parts.items():
        for problem in dataset:
            author = problem.origin.author if problem.origin else None
            if author and problem.id not in seen:
                counts.setdefault(author, Counter())[_content.get_side(part)] += 1
            seen.add(problem.id)
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["contributor", "problems", *sides])
    for author in sorted(counts, key=lambda name: (-counts[name].total(), name)):
        by = counts[author]
        writer.writerow([escape_csv(author), by.total(), *(by[one] for one in sides)])
    return text.getvalue()


FILES = (
    File(
        "data/PART.jsonl",
        "the problems of a part, for winosmith and people",
        _write_parts(lambda _, dataset: "".join(formats.to_lines(dataset)).encode()),
    ),
    File(
        "data/PART.parquet",
        "the same problems, for the hub and the library datasets",
        _write_parts(_format_parquet),
    ),
    File(
        "data/PART-labels.lst",
        "the answers of each part except test, for scorers; 1 is the first option",
        _write_parts(lambda _, dataset: format_labels(dataset).encode(), TEST),
    ),
    File(
        "harness/lm_eval/",
        "tasks for lm-evaluation-harness",
        _write_task(_interchange.make_lm_eval_files),
    ),
    File(
        "harness/inspect_ai/",
        "a task for inspect_ai",
        _write_task(_interchange.make_inspect_ai_files),
    ),
    File("README.md", "the card of the data set, which the Hugging Face hub shows", _render_page),
    File("DATASHEET.md", "answers to the questions of a datasheet", _render_page),
    File("LICENCES.md", "licence and attribution of every source", _render_page),
    File("CONTRIBUTORS.csv", "credit for contributors, by pseudonym", _write_text(_format_authors)),
    File("CHANGELOG.md", "the changes from version to version", _render_page),
    File(
        _content.TOMBSTONES,
        "the ids of withdrawn problems, for users of earlier versions",
        _write_text(lambda content: "".join(one.format_line() for one in content.tombstones)),
    ),
    File("CANARY", "the string in every problem, for filters of training data", _render_page),
    File("eval.yaml", "the task of the hub's leaderboard, which inspect_ai runs", _render_eval),
    File("PUSH.md", "the commands that publish the folder on the hub", _render_page),
    File("croissant.json", "a description of the files, for programs", _render_page),
    File(_content.RECORD, "counts, digests and settings, for winosmith", None),
    File(_content.CHECKSUMS, "the SHA-256 of every file, for sha256sum", None),
)
"""Every file of a release, in the order in which they are written."""


def list_files(content: Content, sums: Sums) -> dict[str, Callable[[], bytes]]:
    return {
        path: write
        for file in FILES
        if file.write is not None
        for path, write in file.write(file.path, content, sums).items()
    }
