"""Releases load offline in the programs that they target, with equal contents."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples, installed
from tests.release.conftest import about, run_inspect, run_script
from winosmith import Edit, Extra, Lineage, Origin, Problem, answers, formats
from winosmith.release import find_missing_fields, release
from winosmith.release._files import FIELDS
from winosmith.release._interchange import find_used_columns, format_parquet, make_table, read_table

LOAD = """
import json, sys
import datasets
found = {}
for name in datasets.get_dataset_config_names(sys.argv[1]):
    for split, rows in datasets.load_dataset(sys.argv[1], name).items():
        found[f"{name}/{split}"] = [
            {k: rows.features[k].dtype for k in ("id", "answer")}, rows.to_list()]
default = datasets.load_dataset(sys.argv[1], split="train")
print("RESULT" + json.dumps([found, len(default)]))
"""


def test_datasets_loads_every_configuration(small, tmp_path):
    installed("datasets")
    found, default = run_script(LOAD, str(small.folder), where=tmp_path)
    parts = {"xl/train": "train_xl", "xs/train": "train_xs"}
    for name in ("xl", "xs"):
        parts |= {f"{name}/validation": "dev", f"{name}/test": "test"}
    assert found.keys() == parts.keys()
    assert default == len(small.content.parts["train_xl"])
    every = [row for _, rows in found.values() for row in rows]
    assert [name for name in every[0] if all(row[name] is None for row in every)] == []
    assert "question" not in every[0]
    for name, (kinds, rows) in found.items():
        assert kinds == {"id": "string", "answer": "int32"}
        held = small.content.parts[parts[name]]
        assert [row["id"] for row in rows] == list(held.ids)
        for row, problem in zip(rows, held, strict=True):
            assert (row["sentence"], row["options"]) == (problem.sentence, list(problem.options))
            assert row["answer"] == problem.answer
            assert row["author"] == (problem.origin.author if problem.origin else None)
            edits = problem.lineage.edits if problem.lineage else ()
            assert [e["new"] for e in row["edits"] or []] == [e.new for e in edits]


CROISSANT = """
import json, sys
import mlcroissant
data = mlcroissant.Dataset(jsonld=sys.argv[1] + "/croissant.json")
issues = data.metadata.issues
stated = data.metadata.to_json()
stated = {k: v for k, v in stated.items() if k.startswith("rai:") or k in ("creator", "conformsTo",
          "keywords", "license")}
found = {}
for records in data.metadata.record_sets:
    found[records.id] = [
        {key.split("/")[1]: value.decode() if isinstance(value, bytes) else None
         for key, value in record.items() if key.endswith(("/id", "/sentence"))}
        for record in data.records(records.id)]
print("RESULT" + json.dumps([sorted(issues.errors), sorted(issues.warnings), found, stated]))
"""


def _by_mlcroissant(folder: Path, where: Path) -> list[Any]:
    installed("mlcroissant")
    return run_script(CROISSANT, str(folder), where=where)


def test_mlcroissant_finds_no_fault_and_reads_all(small, tmp_path):
    errors, warnings, found, stated = _by_mlcroissant(small.folder, tmp_path)
    assert (errors, warnings) == ([], [])
    assert found == {
        part: [{"id": p.id, "sentence": p.sentence} for p in dataset]
        for part, dataset in small.content.parts.items()
    }
    assert stated["conformsTo"] == [
        "http://mlcommons.org/croissant/1.1",
        "http://mlcommons.org/croissant/RAI/1.0",
    ]
    assert "Generated and not validated by judges: 1 of train_xl." in stated["rai:dataLimitations"]
    assert "No cue of dev is flagged." in stated["rai:dataBiases"]


def test_mlcroissant_reads_the_statements_of_the_authors(tmp_path):
    asked = [
        Problem(f"q{n}", f"Which is number {n}?", tuple(f"item {n} {k}" for k in range(4)), n % 4,
                blank=None)
        for n in range(12)
    ]  # fmt: skip
    formats.write(asked, tmp_path / "quiz.jsonl")
    questions = dict.fromkeys(
        "acquired annotation annotators biases sensitive social_impact updates".split(), "We say."
    )
    told = about(
        source=[{"name": "*", "licence": "CC0-1.0", "url": "https://example.org"}],
        authors=["Ada Lovelace", "The Lab"],
        organisations=["The Lab"],
        synthetic=False,
        known_limits="We say.",
        intended_use="We say.",
        datasheet=questions,
    )
    made = release(tmp_path / "quiz.jsonl", told, tmp_path / "out")
    assert find_missing_fields(made.content) == {}
    errors, warnings, _, stated = _by_mlcroissant(made.folder, tmp_path)
    assert (errors, warnings) == ([], [])
    assert [(one["@type"], one["name"]) for one in stated["creator"]] == [
        ("sc:Person", "Ada Lovelace"),
        ("sc:Organization", "The Lab"),
    ]
    assert stated["keywords"][:-1] == ["multiple choice", "question answering"]
    assert stated["license"] == "https://spdx.org/licenses/Apache-2.0.html"
    required = {f"rai:{field.name}" for field in FIELDS if field.is_required}
    assert {name for name in required if str(stated[name]).startswith("We say.")} == required
    raw = json.loads((made.folder / "croissant.json").read_text("utf-8"))
    assert raw["rai:hasSyntheticData"] is False
    assert raw["prov:wasDerivedFrom"] == [{"@id": "https://example.org"}]


BOARD = """
import json, sys, yaml
from datasets import load_dataset
from inspect_ai._eval.task.hf import HFTask, _record_to_sample_hf
board = yaml.safe_load(open(sys.argv[1] + "/eval.yaml"))
(task,) = [HFTask.model_validate(one) for one in board["tasks"]]
rows = load_dataset(sys.argv[1], task.config, split=task.split)
samples = [_record_to_sample_hf(row, task.field_spec) for row in rows]
print("RESULT" + json.dumps([board["name"], board["evaluation_framework"],
      [[one.input, one.choices, one.target] for one in samples]]))
"""


def test_inspect_reads_eval_yaml_of_the_leaderboard(small, tmp_path):
    installed("inspect_ai")
    assert run_script(BOARD, str(small.folder), where=tmp_path) == [
        "Small",
        "inspect-ai",
        [[p.sentence, list(p.options), "AB"[p.answer or 0]] for p in small.content.parts["dev"]],
    ]


@pytest.mark.long
def test_inspect_accuracy_matches_a_model_that_answers_b(small, copied, tmp_path):
    dev, task = small.content.parts["dev"], copied / "harness/inspect_ai/small.py"
    metrics, _ = run_inspect(task, "B" * len(dev), tmp_path / "logs")
    assert metrics["accuracy"] == pytest.approx(np.mean([p.answer == 1 for p in dev]))


def test_formats_read_returns_the_released_problems(small):
    for part, dataset in small.content.parts.items():
        assert formats.read(small.folder / f"data/{part}.jsonl") == dataset
        assert formats.read(small.folder / f"data/{part}.parquet") == dataset
    labels = answers.read_labels(small.folder / "data/dev-labels.lst")
    assert labels == small.content.parts["dev"].answers


def test_parquet_round_trip_keeps_the_position_of_the_blank(tmp_path):
    """A text may have no blank, or other underscores."""
    held = [
        Problem("q", "What is __init__?", ("a method", "x_"), 0, blank=None),
        Problem("r", "Which _ is it?", tuple("abcdefg"), blank=None),
        Problem("s", "Say _x_ if _ can.", ("you", "one"), 1, blank=11),
        Problem("t", "The _ fell.", ("cup", "jug"), 1),
    ]
    (tmp_path / "set.parquet").write_bytes(
        format_parquet(make_table(held, find_used_columns(held)), {})
    )
    assert list(formats.read(tmp_path / "set.parquet")) == held


texts = st.text(st.characters(codec="utf-8", exclude_characters="_"), min_size=1).filter(str.strip)
names = st.none() | texts
labels = st.none() | texts.map(str.strip)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw a problem with any combination of fields."""
    options = draw(st.lists(texts, min_size=2, max_size=5, unique_by=str.strip))
    edit = st.builds(Edit, st.just("insert"), st.integers(0, 99), st.just(""), texts)
    lineage = st.builds(
        Lineage, texts, texts, st.lists(edit, max_size=2).map(tuple), st.none() | st.integers(0, 9)
    )
    return Problem(
        draw(texts),
        f"{draw(texts)}_{draw(texts)}",
        tuple(options),
        draw(st.none() | st.integers(0, len(options) - 1)),
        draw(labels),
        origin=draw(st.none() | st.builds(Origin, labels, labels, st.none(), names, names, names)),
        lineage=draw(st.none() | lineage),
        extra=Extra({"a.b": draw(st.none() | texts | st.integers(-9, 9) | st.booleans())}),
    )


@examples(40)
@given(held=st.lists(problems(), min_size=1, max_size=3))
def test_parquet_round_trip_is_exact_and_deterministic(held, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    raw = format_parquet(make_table(held, find_used_columns(held)), {"canary": "x"})
    assert format_parquet(make_table(held, find_used_columns(held)), {"canary": "x"}) == raw
    (folder / "one").write_bytes(raw)
    table = read_table(folder / "one")
    assert table.equals(make_table(held, find_used_columns(held)))
    assert table["options"].to_pylist() == [list(p.options) for p in held]
    assert [json.loads(extra) for extra in table["extra"].to_pylist()] == [
        dict(p.extra) for p in held
    ]
