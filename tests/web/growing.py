"""Versions, models and predictions, created without the site's pages."""

from collections.abc import Sequence
from itertools import count
from typing import Any

__all__ = ["family", "model", "says", "version"]

_NUMBERS = count(1)


def model(name: str = "alpha", **fields: Any) -> Any:
    """Create a configured model."""
    from winosmith.web.predict.models import Model

    digest = fields.pop("digest", name)
    return Model.objects.create(name=name, solver="random", revision="1", digest=digest, **fields)


def version(
    parent: Any,
    sentence: str,
    *,
    by: Any = None,
    state: str = "valid",
    options: Sequence[str] = ("cup", "jug"),
    answer: int = 0,
    declared: int | None = None,
    extra: dict[str, Any] | None = None,
    **fields: Any,
) -> Any:
    """Create a version of a parent; without a parent, create a root."""
    from winosmith.lineage import make_child
    from winosmith.records import make_problem_record
    from winosmith.web._lock import writing
    from winosmith.web.problems.family import add_to_family, lock_family_root
    from winosmith.web.problems.models import Problem, Twin
    from winosmith.web.problems.records import as_problem

    ref = f"v{next(_NUMBERS):06}"
    record: dict[str, Any] = {"single": True} | ({"extra": extra} if extra else {})
    if parent is not None:
        child = make_child(
            as_problem(parent), sentence, tuple(options), answer, source="person",
            declared=declared,
        )  # fmt: skip
        record["lineage"] = make_problem_record(child)["lineage"]
    twin = Twin.objects.create(ref=f"t{ref}", contributor=by, source="person")
    made = Problem.objects.create(
        ref=ref, twin=twin, sentence=sentence, options=list(options), answer=answer,
        state=state, record=record, **fields,
    )  # fmt: skip
    with writing():
        add_to_family(made, parent) if parent is not None else lock_family_root(made)
    return made


def says(model: Any, problem: Any, right: bool | None = True, **fields: Any) -> Any:
    """Create a model's prediction for a problem; None if it has not answered.

    With `tie`, the model is undecided, whether `right` is true or false.
    """
    from winosmith.web.predict.models import Prediction

    if right is None:
        return Prediction.objects.create(problem=problem, model=model, **fields)
    choice = problem.answer if right else (problem.answer + 1) % len(problem.options)
    scores = [float(at == choice) for at in range(len(problem.options))]
    if fields.get("tie"):
        choice, right, scores = 0, None, [0.5] * len(problem.options)
    return Prediction.objects.create(
        problem=problem, model=model, stand="done", choice=choice, right=right, scores=scores,
        input="0" * 64, **fields,
    )  # fmt: skip


def family(*models: Any, by: Any = None, word: str = "cup") -> dict[str, Any]:
    """Create a family: root → old → old_big, root → pot.

    All models are wrong on old_big; the last model is also wrong on pot.
    """
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
