"""Families to look at: versions in any state, with what models made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import pytest

_NUMBERS = count(1)


@pytest.fixture(autouse=True)
def counted_at_each_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count lists and boards anew at each look, however slow this machine is."""
    from winosmith.web.families import board, kept, listing

    monkeypatch.setattr(kept, "QUICK", 3600.0)
    board._ENTRIES.forget()
    listing._FAMILIES.forget()


@pytest.fixture
def model() -> Callable[..., Any]:
    """Return a maker of models: `model("alpha")`."""
    from winosmith.web.predict.models import Model

    def make(name: str = "alpha", **fields: Any) -> Any:
        digest = fields.pop("digest", name)
        return Model.objects.create(
            name=name, solver="random", revision="1", digest=digest, **fields
        )

    return make


@pytest.fixture
def version() -> Callable[..., Any]:
    """Return a maker of versions: `version(None, "The cup …")` is a root, others have a parent."""

    def make(
        parent: Any,
        sentence: str,
        *,
        by: Any = None,
        state: str = "valid",
        options: Sequence[str] = ("cup", "jug"),
        answer: int = 0,
        declared: int | None = None,
        **fields: Any,
    ) -> Any:
        from winosmith.lineage import perturbed
        from winosmith.records import problem_record
        from winosmith.web.perturb.models import Version
        from winosmith.web.problems.models import Problem, Twin
        from winosmith.web.problems.records import as_problem

        ref = f"v{next(_NUMBERS):06}"
        record: dict[str, Any] = {"single": True}
        if parent is not None:
            child = perturbed(
                as_problem(parent), sentence, tuple(options), answer, source="person",
                declared=declared,
            )  # fmt: skip
            record["lineage"] = problem_record(child)["lineage"]
        twin = Twin.objects.create(ref=f"t{ref}", contributor=by, source="person")
        made = Problem.objects.create(
            ref=ref, twin=twin, sentence=sentence, options=list(options), answer=answer,
            state=state, record=record, **fields,
        )  # fmt: skip
        root = parent.version.root if parent else made
        depths = _depths(root, parent, made)
        Version.objects.create(
            problem=made, root=root, parent=parent, digest=ref, declared=declared,
            step=parent.version.step + 1 if parent else 0, lineage=depths[0], edit=depths[1],
        )  # fmt: skip
        return made

    return make


def _depths(root: Any, parent: Any, made: Any) -> tuple[int, int]:
    """Return the lineage and edit depths, from `winosmith.lineage` over the whole path."""
    from winosmith import Dataset
    from winosmith.lineage import depths
    from winosmith.web.problems.records import as_problem

    path = [made]
    while parent is not None:
        path.append(parent)
        parent = parent.version.parent
    found = depths(Dataset(map(as_problem, path)))[0]
    assert found.lineage is not None and found.edit is not None
    return found.lineage, found.edit


@pytest.fixture
def says() -> Callable[..., Any]:
    """Return a maker of predictions: `says(model, problem, right=False)`."""
    from winosmith.web.predict.models import Prediction

    def make(model: Any, problem: Any, right: bool | None = True, **fields: Any) -> Any:
        if right is None:
            return Prediction.objects.create(problem=problem, model=model, **fields)
        choice = problem.answer if right else (problem.answer + 1) % len(problem.options)
        scores = [float(at == choice) for at in range(len(problem.options))]
        return Prediction.objects.create(
            problem=problem, model=model, stand="done", choice=choice, right=right,
            scores=scores, input="0" * 64, **fields,
        )  # fmt: skip

    return make


@pytest.fixture
def family(version: Callable[..., Any], says: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """Return a maker of one family, told right and wrong by each model that is given.

    The tree: root → old → old_big, root → pot; the models are wrong on old_big, and the last one
    on pot as well.
    """

    def make(*models: Any, by: Any = None, word: str = "cup") -> dict[str, Any]:
        options = (word, "jug")
        start = f"The {word} hit the jug and the _ broke ."
        root = version(None, start, by=by, options=options)
        old = version(root, start.replace("jug", "old jug"), by=by, options=options, declared=1)
        big = version(old, start.replace("jug", "old big jug"), by=by, options=options, declared=3)
        pot = version(root, start.replace("broke", "fell down"), by=by, options=options)
        found = {"root": root, "old": old, "old_big": big, "pot": pot}
        for number, one in enumerate(models):
            for name, problem in found.items():
                last = number == len(models) - 1
                says(one, problem, not (name == "old_big" or (name == "pot" and last)))
        return found

    return make
