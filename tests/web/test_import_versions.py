"""Importing families: the places of versions, embargoes, linear time, and exports."""

import cProfile
import json
import pstats
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from winosmith import Dataset, Extra, Lineage, Problem, formats
from winosmith.lineage import check_lineages, depths, make_child
from winosmith.web import importing as module
from winosmith.web._lock import writing
from winosmith.web.exporting import export
from winosmith.web.importing import import_problems, link_versions
from winosmith.web.predict.models import Model, Prediction, Status
from winosmith.web.problems.family import lift_embargo
from winosmith.web.problems.models import Problem as Row, Version
from winosmith.web.problems.records import as_public
from winosmith.web.problems.states import get_public_problems

WORDS = ("mug", "jug", "pan", "pot", "jar", "urn", "can", "keg")


def _import(data: Any, as_: Any = "valid") -> Any:
    return import_problems(Dataset(data), as_)


def _family(name: str = "r", steps: int = 3) -> list[Problem]:
    """Return a root and a path below it, with a second child of the root."""
    made = [Problem(name, "The cup hit the _ and broke.", ("vase", "tray"), 0)]
    for word in WORDS[:steps]:
        before = made[-1].sentence
        after = before.replace(before.split()[1], word)
        made.append(make_child(made[-1], after, made[0].options, 1, source="wordnet"))
    side = made[0].sentence.replace("broke", "fell")
    return [*made, make_child(made[0], side, made[0].options, 0, source="chat", declared=9)]


def _places() -> dict[str, Any]:
    rows = Version.objects.select_related("problem", "root", "parent")
    return {
        row.problem.ref: (
            row.root.ref,
            row.parent.ref if row.parent else None,
            row.step,
            (row.declared, row.lineage, row.edit),
        )
        for row in rows
    }


@pytest.mark.parametrize("reverse", [False, True])
def test_imported_versions_get_root_parent_step_and_depths(database, reverse):
    family = _family()
    data = Dataset(family[::-1] if reverse else family)
    made = _import(data)
    assert (made.added, made.versions, made.apart) == (5, 4, 0)
    expected = {p.id: tuple(d) for p, d in zip(family, depths(Dataset(family)), strict=True)}
    places = _places()
    assert {name: place[3] for name, place in places.items()} == {
        **expected,
        "r": (None, 0, 0),
    }
    assert [places[problem.id][2] for problem in family] == [0, 1, 2, 3, 1]
    assert [places[problem.id][1] for problem in family[1:]] == [
        p.lineage.parent for p in family[1:]
    ]
    assert {place[0] for place in places.values()} == {"r"}
    assert Dataset(as_public(list(get_public_problems().order_by("pk")))).digest == data.digest


def test_later_imports_extend_a_family(database):
    family = _family()
    _import(family[:2])
    made = _import(family[2:])
    assert (made.added, made.versions, made.apart) == (3, 3, 0)
    places = _places()
    assert len(places) == 5
    again = _import(family)
    assert (again.added, again.versions) == (0, 4)
    assert _places() == places


def test_version_gets_its_place_when_its_parents_are_imported(database):
    family = _family()
    made = _import([family[0], family[3]])
    assert (made.added, made.versions, made.apart) == (2, 0, 1)
    assert _places() == {}
    assert _import(family).apart == 0
    assert len(_places()) == 5


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("above", ["in the file", "on the site"])
def test_versions_below_an_embargo_are_never_public(database, monkeypatch, above, reverse):
    """Not even during an import. When the embargo ends, all of them are public."""
    monkeypatch.setattr(module, "CHUNK", 1)
    root, *below = _family()
    if above == "on the site":
        _import([replace(root, embargo=True)])
        data = below
    else:
        data = [replace(root, embargo=True), *below]
    seen = []
    made = module.import_problems(
        Dataset(data[::-1] if reverse else data),
        "valid",
        on_progress=lambda _: seen.append(get_public_problems().count()),
    )
    assert (made.versions, seen) == (4, [0] * len(data))
    assert not get_public_problems().exists()
    with writing():
        assert lift_embargo(Row.objects.get(ref=root.id)) == 4
    assert get_public_problems().count() == 5


def test_interrupted_import_below_an_embargo_is_not_public(database, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 1)
    root, *below = _family()
    data = Dataset([*below, replace(root, embargo=True)])

    def stop(done: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        module.import_problems(data, "valid", on_progress=stop)
    assert not get_public_problems().exists()
    assert module.import_problems(data, "valid").versions == 4
    assert not get_public_problems().exists()
    assert Version.objects.filter(covered=True).count() == 4


def test_family_of_a_gold_root_has_no_tree(db):
    root, child, *_ = _family()
    told = Extra({"gold.explanation": "It says so."})
    _import([replace(root, extra=told)], "gold")
    assert _import([child]).apart == 1
    assert _places() == {}


def test_circular_lineages_are_imported_without_a_place(db):
    one = Problem("a", "A _ b.", ("x", "y"), 0, lineage=Lineage("a", "b"))
    two = Problem("b", "A _ c.", ("x", "y"), 0, lineage=Lineage("a", "a"))
    assert _import([one, two]).apart == 2


@pytest.mark.long
def test_linking_large_families_takes_linear_time(db):
    def work(count: int, name: str) -> tuple[int, int]:
        root = Problem(name, "The cup hit the _ and broke.", ("vase", "tray"), 0)
        made, last = [root], root
        for n in range(count):
            text = f"The {WORDS[n % 8]}{n} hit the _ and broke."
            last = make_child(last if n % 3 else root, text, root.options, 1, source="wordnet")
            made.append(last)
        if count < 100:
            _import(made, "valid")
        else:  # like an import interrupted before it links families
            for start in range(0, len(made), module.CHUNK):
                module._add_chunk(made[start : start + module.CHUNK], "valid")
        profile = cProfile.Profile()
        with CaptureQueriesContext(connection) as asked:
            profile.runcall(link_versions, made)
        return pstats.Stats(profile).total_calls, len(asked)

    work(50, "warm")
    small, large = work(300, "small"), work(3000, "large")
    assert large[0] < 13 * small[0]
    assert large[1] < 3000 / 30  # each statement is for many rows


def test_evograd_table_is_imported_as_families(db, tmp_path, visit):
    """Downloads keep its declared depths."""
    path = tmp_path / "evograd.csv"
    path.write_text(
        "index,sentence,option1,option2,answer,distance\n"
        "0,The cup hit the _ and broke.,vase,tray,1,0\n"
        "1,The mug hit the _ and broke.,vase,tray,1,1\n"
        "2,The mug hit the _ and fell.,vase,tray,2,5\n"
        "0,Sue beat Sally as _ ran.,Sue,Sally,1,0\n"
        "1,Sue beat Sally as _ fell.,Sue,Sally,2,1\n"
    )
    data = formats.read(path)
    assert _import(data).versions == 3
    assert {name: place[3] for name, place in _places().items()}["0-2"] == (5, 2, 2)
    answer = visit().get("/download/problems.csv")
    (tmp_path / "back.csv").write_bytes(answer.getvalue())
    back = formats.read(tmp_path / "back.csv")
    assert [problem.id for problem in back] == list(data.ids)
    assert [p.lineage for p in back] == [p.lineage for p in data]


def test_export_contains_versions_and_predictions(database, tmp_path):
    """Lineages are public; the trees and predictions are below private/."""
    family = _family()
    _import(family)
    model = Model.objects.create(name="bert", solver="encoder", revision="1", digest="d")
    Prediction.objects.create(
        problem=Row.objects.get(ref="r"), model=model, stand=Status.DONE, scores=[0.5, 0.1],
        choice=0, right=True,
    )  # fmt: skip
    made = export(tmp_path / "out")
    assert (made.counts["private/versions"], made.counts["private/predictions"]) == (5, 1)
    assert check_lineages(formats.read(tmp_path / "out/problems.jsonl")) == {}
    lines = (tmp_path / "out/private/versions.jsonl").read_text().splitlines()
    rows = {row["id"]: row for row in map(json.loads, lines)}
    assert rows[family[3].id]["parent"] == family[2].id
    told = json.loads((tmp_path / "out/private/predictions.jsonl").read_text())
    assert (told["model"], told["scores"], told["right"]) == ("bert", [0.5, 0.1], True)
