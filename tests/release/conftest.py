"""A small release, and functions that change or verify releases."""

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import installed, run_alone
from winosmith import Dataset, Origin, Problem, formats, practice
from winosmith.blocks import find_blocks
from winosmith.build import build, parse_recipe
from winosmith.lineage import make_child
from winosmith.outputs import sha256
from winosmith.release import About, Content, ReleaseResult, parse_about, release, verify
from winosmith.release._content import compute_digest, format_checksums, make_folder_name
from winosmith.release._write import write_files

ABOUT: dict[str, Any] = {
    "name": "small",
    "version": "1.0.0",
    "date": "2026-11-21",
    "title": "Small",
    "description": "Twins to try releases on.",
    "licence": "Apache-2.0",
    "language": ["en"],
    "authors": ["The testers"],
    "source": [
        {"name": "practice", "licence": "Apache-2.0", "attribution": "winosmith's own"},
        {"name": "person", "licence": "CC0-1.0"},
    ],
}
"""The statements about the small release."""


def about(**changes: Any) -> About:
    """Return the statements about the small release, with changes."""
    return parse_about({**ABOUT, **changes})


def sets() -> dict[str, Dataset]:
    """Return the problems of the small release, whose splits share no contributor."""
    made = practice.generate_corpus(60, seed=3).dataset
    alone = [block for block in find_blocks(made) if len(block) == 2]
    halves = [made[row] for block in alone for row in block][:80]
    authors = {"train_xl": "t", "dev": "d", "test": "e"}
    rows = {"train_xl": halves[:40], "dev": halves[40:56], "test": halves[56:]}
    parts = {
        part: Dataset(
            (
                replace(p, origin=replace(p.origin or Origin(), author=f"{authors[part]}{at % 3}"))
                for at, p in enumerate(held)
            ),
            part,
        )
        for part, held in rows.items()
    }
    root = parts["train_xl"][0]
    child = make_child(
        root,
        root.sentence.replace(" the ", " that ", 1),
        root.options,
        root.answer,
        source="person",
    )
    child = replace(child, origin=Origin("person", "t1", licence="CC0-1.0"))
    xl = Dataset([*parts["train_xl"], child], "train_xl")
    return {"train_xs": xl[:12], "train_xl": xl, "dev": parts["dev"], "test": parts["test"]}


def write_sets(folder: Path, parts: dict[str, Dataset]) -> Path:
    """Write each part to a file in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, dataset in parts.items():
        formats.write(dataset.problems, folder / f"{part}.jsonl")
    return folder


def by(data: Dataset, **changes: str | None) -> Dataset:
    """Return the problems with changes in their origin."""
    changed = (replace(p, origin=replace(p.origin or Origin(), **changes)) for p in data)
    return Dataset(changed, data.name)


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def build_pool(folder: Path, problems: Iterable[Problem], **tables: Any) -> Path:
    """Build a benchmark of problems without a filter, and return its folder."""
    formats.write([*problems], folder / "twins.jsonl")
    table: dict[str, Any] = {
        "name": "pool",
        "data": "twins.jsonl",
        "embed": {"dimensions": 8},
        "split": {"dev": 0.2, "test": 0.3},
        "filter": {"method": "none"},
        "measure": {"splits": 0},
        **tables,
    }
    return build(parse_recipe(table, folder=folder), folder / "built").folder


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> ReleaseResult:
    """Return a small release: nested training sets with one family, dev and test."""
    installed("pyarrow")
    folder = tmp_path_factory.mktemp("small")
    source = write_sets(folder / "source", sets())
    return release(source, about(), folder / "out", new_ids=True)


@pytest.fixture
def copied(small: ReleaseResult, tmp_path: Path) -> Path:
    """Return a copy of the small release that a test can change."""
    return Path(shutil.copytree(small.folder, tmp_path / "copy" / small.folder.name))


def seal(folder: Path, **changes: Any) -> Path:
    """Update checksums, digest and folder name to match the files, as a careful forger would."""
    record = json.loads((folder / "release.json").read_text("utf-8")) | changes
    outside = ("release.json", "checksums.txt")
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    names = [path.relative_to(folder).as_posix() for path in paths]
    record["files"] = {
        name: {"sha256": sha256(folder / name), "bytes": (folder / name).stat().st_size}
        for name in names
        if name not in outside
    }
    record["digest"] = compute_digest(record)
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    (folder / "release.json").write_text(text, "utf-8")
    sums = {name: sha256(folder / name) for name in names if name != "checksums.txt"}
    (folder / "checksums.txt").write_text(format_checksums(sums), "utf-8")
    return folder.rename(folder.with_name(make_folder_name(record)))


def rewritten(content: Content, where: Path) -> Path:
    """Write a release without checking it."""
    where.mkdir(parents=True)
    return where.rename(
        where.with_name(make_folder_name(write_files(content, where, lambda done, note: None)))
    )


def with_parts(content: Content, **parts: Iterable[Problem]) -> Content:
    """Return the content with other problems in some parts."""
    changed = {part: Dataset(problems, part) for part, problems in parts.items()}
    return replace(content, parts={**content.parts, **changed})


def with_problem(
    content: Content, part: str, row: int, change: Callable[[Problem], Problem]
) -> Content:
    """Return the content with one problem of a part changed."""
    problems = list(content.parts[part])
    problems[row] = change(problems[row])
    return with_parts(content, **{part: problems})


def found(folder: Path, **arguments: Any) -> list[str]:
    """Return the faults of a release as sentences."""
    return [str(fault) for fault in verify(folder, **arguments).faults]


def run_script(script: str, *arguments: str, where: Path) -> Any:
    """Return the JSON that a script prints after RESULT in a separate, offline process."""
    return json.loads(run_alone(script, *arguments, where=where).split("RESULT", 1)[1])


_INSPECT = """
import json, sys
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model
answers = [ModelOutput.from_content("mockllm/model", f"ANSWER: {a}") for a in sys.argv[2]]
for answer in answers:
    answer.usage = ModelUsage()  # else it downloads a tokeniser to count
(log,) = eval(sys.argv[1], model=get_model("mockllm/model", custom_outputs=answers),
              max_connections=1, max_samples=1, display="none", log_dir=sys.argv[3])
assert log.status == "success"
metrics = {m.name: m.value for m in log.results.scores[0].metrics.values()}
print("RESULT" + json.dumps([metrics, {s.id: s.choices for s in log.samples}]))
"""


def run_inspect(
    task: Path, answers: str, logs: Path
) -> tuple[dict[str, float], dict[str, list[str]]]:
    """Return the metrics of a model that gives these answers to a task, and the options by id."""
    installed("inspect_ai")
    metrics, options = run_script(_INSPECT, task.name, answers, str(logs), where=task.parent)
    return metrics, options


@pytest.fixture
def no_leftovers(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder, and check that it contains no hidden folder after the test."""
    yield tmp_path / "out"
    assert not list((tmp_path / "out").glob(".*"))


Plant = Callable[[Path], None]
"""A function that changes a release in a folder."""


def in_line(path: str, number: int, change: Callable[[str], str]) -> Plant:
    """Return a plant that changes one line of a file; line numbers start at 1."""

    def plant(folder: Path) -> None:
        lines = (folder / path).read_text("utf-8").split("\n")
        lines[number - 1] = change(lines[number - 1])
        (folder / path).write_text("\n".join(lines), "utf-8")

    return plant


def in_text(path: str, old: str, new: str) -> Plant:
    """Return a plant that replaces the first match of a pattern, which must exist."""

    def plant(folder: Path) -> None:
        text = (folder / path).read_text("utf-8")
        assert re.search(old, text), f"{old} is not in {path}"
        (folder / path).write_text(re.sub(old, new, text, count=1), "utf-8")

    return plant


def placed(path: str, text: str) -> Plant:
    """Return a plant that writes a file with this text."""

    def plant(folder: Path) -> None:
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text, "utf-8")

    return plant


def in_record(change: Callable[[dict], object]) -> Plant:
    """Return a plant that changes the record in release.json."""

    def plant(folder: Path) -> None:
        record = json.loads((folder / "release.json").read_text("utf-8"))
        change(record)
        (folder / "release.json").write_text(json.dumps(record), "utf-8")

    return plant
