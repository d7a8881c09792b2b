"""A result's record, repr and tables follow from its fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from winosmith import audit, metrics
from winosmith.metrics import compare, grade, proportion, score, statistics
from winosmith.prediction import Prediction
from winosmith.results import HIDDEN, IF_ANY, REPR, Result, computed, shown, table
from winosmith.testing import made_twins

DATA = made_twins(60)


@dataclass(frozen=True)
class Part(Result):
    """A result in another one."""

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


def test_a_record_has_what_the_fields_state() -> None:
    """Computed properties come first; hidden and empty fields are omitted; parts are nested."""
    assert WHOLE.record() == {"size": 1, "part": {"kappa": 0.5}, "name": "a", "ends": [0.1, 0.7]}
    assert Whole(None, "ab", None, 3).record()["ties"] == 3


def test_a_table_has_the_columns_asked_for() -> None:
    """Each row has a name; a nested attribute is named with a dot, and empty if it is missing."""
    made = table("T", {"x": Whole(None, "b", 0), "y": WHOLE}, ["name", "part.kappa"], head="which")
    assert [head.title for head in made.heads] == ["which", "called", "kappa", "squared"]
    assert made.rows == [["x", "B", None, None], ["y", "A", 0.5, 0.25]]
    assert [head.title for head in table("T", [WHOLE]).heads] == ["length", "called"]
    assert table("T", {}).rows == []


def _results() -> Iterator[object]:
    rng = np.random.default_rng(0)
    said = {
        name: grade(DATA, [Prediction(p.id, 0, (float(rng.random()) + 1, 1.0)) for p in DATA])
        for name in ("first", "second")
    }
    yield score(said["first"])
    yield compare(said)
    yield statistics(DATA)
    yield proportion([True] * 9 + [False])
    yield metrics.learning_curve({160: [0.5], 640: [0.6], 2558: [0.7], 10234: [0.75]})
    yield audit.audit(DATA, draws=19, probe_draws=0)
    yield WHOLE


def test_the_repr_of_a_result_is_one_short_line_and_its_html_a_table() -> None:
    """A notebook prints at most 200 characters, or tables in which every text is escaped."""
    for found in _results():
        line = repr(found)
        assert len(line) <= REPR
        assert line.isprintable()
        shown_as = found._repr_html_()  # type: ignore[attr-defined]
        assert "<table>" in shown_as
        assert len(re.findall("<table>", shown_as)) < 40
    assert "&lt;B&gt;" in Whole(None, "<b>", 0)._repr_html_()
