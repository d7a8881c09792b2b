"""A result's record, repr and tables follow from its fields."""

import importlib
import json
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winosmith
from tests.conftest import needed
from winosmith import answers, audit, debias, formats, metrics, validate
from winosmith.answers import Answers
from winosmith.errors import InputError
from winosmith.metrics import compare, compute_statistics, grade, proportion, score
from winosmith.prediction import Prediction
from winosmith.results import (
    CITATION,
    HIDDEN,
    IF_ANY,
    MAX_REPR,
    Result,
    computed,
    list_members,
    make_table,
    shown,
)
from winosmith.testing import make_twins

DATA = make_twins(60)


@dataclass(frozen=True)
class Part(Result):
    """A nested result."""

    kappa: float = field(metadata=shown("kappa", ".2f", ("squared", lambda value: value**2)))


@dataclass(frozen=True)
class Whole(Result):
    """A result with a field of each kind."""

    part: Part | None
    name: str = field(metadata=shown("called", str.upper))
    draws: object = field(metadata=HIDDEN)
    ties: int = field(default=0, metadata=IF_ANY)
    ends: tuple[float, ...] = field(default=(0.1, 0.7), metadata={"json": list})

    @property
    @computed(**shown("length"))
    def size(self) -> int:
        """A property that belongs to the result."""
        return len(self.name)


WHOLE = Whole(Part(0.5), "a", np.zeros(3))


def test_record_follows_the_declared_fields():
    """Computed properties come first; hidden and empty fields are omitted; parts are nested."""
    assert WHOLE.record() == {"size": 1, "part": {"kappa": 0.5}, "name": "a", "ends": [0.1, 0.7]}
    assert Whole(None, "ab", None, 3).record()["ties"] == 3


def test_table_has_the_requested_columns():
    made = make_table(
        "T", {"x": Whole(None, "b", 0), "y": WHOLE}, ["name", "part.kappa"], head="which"
    )
    assert [head.title for head in made.headings] == ["which", "called", "kappa", "squared"]
    assert made.rows == [["x", "B", None, None], ["y", "A", 0.5, 0.25]]
    assert [head.title for head in make_table("T", [WHOLE]).headings] == ["length", "called"]
    assert make_table("T", {}).rows == []


def _results() -> Iterator[Result]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 4)).astype(np.float32), rng.integers(0, 2, 120)
    said = {
        name: [Prediction(p.id, 0, (float(rng.random()) + 1, 1.0)) for p in DATA]
        for name in ("first", "second")
    }
    graded = {name: grade(DATA, own) for name, own in said.items()}
    yield score(graded["first"])
    yield compare(graded)
    yield graded["first"]
    yield Answers(tuple(said["first"]), "<first>")
    yield compute_statistics(DATA)
    yield proportion([True] * 9 + [False])
    yield metrics.fit_learning_curve({160: [0.5], 640: [0.6], 2558: [0.7], 10234: [0.75]})
    yield (found := audit.audit(DATA, draws=19, probe_draws=0))
    yield found.parts[0].items
    yield debias.aflite(X, y, train_size=40, cutoff=10, ensemble_size=4)
    yield debias.assess(X, y, {"all": range(120)}, settings=debias.AssessmentSettings(draws=20))
    yield debias.pmi(DATA, size=40)
    yield WHOLE


@pytest.fixture(scope="module")
def results() -> list[Result]:
    """Return a result of each kind."""
    return [*_results()]


def test_repr_is_one_short_line_and_html_is_a_table(results):
    for found in results:
        line = repr(found)
        assert len(line) <= MAX_REPR
        assert line.isprintable()
        shown_as = found._repr_html_()
        assert "<table>" in shown_as
        assert len(re.findall("<table>", shown_as)) < 40
        assert len(shown_as) < 100_000
        assert shown_as.startswith("<p>") == (type(found).sentences is not Result.sentences)
    assert "&lt;B&gt;" in Whole(None, "<b>", 0)._repr_html_()
    assert "&lt;first&gt;" in Answers((), "<first>")._repr_html_()


def test_repr_of_other_classes_is_short():
    """Data sets, filtered ones, files and checks print neither problems nor arrays."""
    many = make_twins(500)
    contents = formats.scan([{"question": f"Q {n}?", "choices": ["a", "b"]} for n in range(500)])
    for made in (many, many.drop({3: "short"}, stage="x"), contents, validate.check(many)):
        assert len(repr(made)) < 2_000, type(made)


def test_result_has_a_frame_a_summary_and_charts(results, tmp_path):
    pandas = needed("pandas")
    drawn = set()
    for found in results:
        frame = found.to_frame()
        assert isinstance(frame, pandas.DataFrame)
        assert len(frame)
        assert found.summary().endswith(CITATION)
        assert "\n" not in found.summary()
        if not found.charts():
            with pytest.raises(InputError, match="has no chart"):
                found.save_charts(tmp_path / "none.svg")
            continue
        drawn.add(type(found).__name__)
        for kind, start in (("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
            files = found.save_charts(tmp_path / f"chart.{kind}")
            assert len(files) == len(found.charts())
            once = [file.read_bytes() for file in files]
            assert all(made.startswith(start) for made in once)
            found.save_charts(tmp_path / f"chart.{kind}")
            assert [file.read_bytes() for file in files] == once
    assert drawn == {"Score", "Comparison", "LearningCurve", "Audit", "AfliteResult", "Assessment"}


def test_frame_has_a_row_for_each_measurement(results):
    """An audit has a row for each cue, with its split; a comparison has one for each pair."""
    by_kind = {type(found).__name__: found for found in results}
    cues = by_kind["Audit"].to_frame()
    assert {*cues["split"]} == {"made"}
    assert {"the longest, in characters", "the first"} < {*cues["cue"]}
    assert by_kind["Comparison"].to_frame()["first"].tolist() == ["first"]
    assert by_kind["Answers"].to_frame()["problem_id"].tolist() == [*DATA.ids]
    assert by_kind["Score"].to_frame()["accuracy.n"].tolist() == [len(DATA)]


def test_unknown_chart_format_is_refused(results):
    with pytest.raises(InputError, match=r"use \.svg, \.png or \.pdf"):
        results[0].save_charts("x.gif")


def _list_subclasses(of: type) -> Iterator[type]:
    for kind in of.__subclasses__():
        yield kind
        yield from _list_subclasses(kind)


def test_every_public_result_can_be_displayed():
    """Each has the repr of `Result`, readable metadata, and at most one field of rows."""
    for module in pkgutil.iter_modules(winosmith.__path__):
        if module.name != "__main__":
            importlib.import_module(f"winosmith.{module.name}")
    kinds = [kind for kind in _list_subclasses(Result) if kind.__module__.startswith("winosmith.")]
    assert len(kinds) > 90
    for kind in kinds:
        assert kind.__repr__ is Result.__repr__, kind
        assert kind._repr_html_ is Result._repr_html_, kind  # type: ignore[attr-defined]
        assert kind.summary is Result.summary, kind  # type: ignore[attr-defined]
        assert sum(one.rows for one in list_members(kind)) <= 1, kind


ROWS = [
    {
        "id": f"q{at}",
        "question": f"What is number {at} of this list?",
        "choices": [f"a{at}", f"b{at} and more words", f"c{at} x"],
        "answer": "AB"[at % 2],
    }
    for at in range(60)
]
SAID = [{"id": row["id"], "first": "A", "second": "B"} for row in ROWS]


@pytest.mark.parametrize("form", ["list", "columns", "splits", "files", "pandas", "arrow", "hub"])
def test_all_forms_of_data_give_the_same_results(form, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for at in range(2):
        Path(f"unit{at}").mkdir()
        Path(f"unit{at}/quiz.json").write_text(json.dumps(ROWS[30 * at : 30 * at + 30]))
    given: Any = {
        "list": lambda: ROWS,
        "columns": lambda: {name: [row[name] for row in ROWS] for name in ROWS[0]},
        "splits": lambda: ROWS,
        "files": lambda: "unit*/quiz.json",
        "pandas": lambda: needed("pandas").DataFrame(ROWS),
        "arrow": lambda: needed("pyarrow").Table.from_pylist(ROWS),
        "hub": lambda: needed("datasets").Dataset.from_list(ROWS),
    }[form]()
    items = {"mine": given} if form == "splits" else given
    (part,) = audit.audit(items, draws=19, probe_draws=0).parts
    whole = audit.audit(formats.read(ROWS), draws=19, probe_draws=0).parts[0]
    assert part.battery == whole.battery
    said = answers.read(SAID, given)
    assert compare(said, given).accuracies["first"].right == 30
    assert score(said["first"], given).accuracy.right == 30
    with pytest.raises(InputError, match=r"answers of 2 models \('first', 'second'\)"):
        score(SAID, given)
    with pytest.raises(InputError, match="the problems are missing"):
        score(said["first"])
