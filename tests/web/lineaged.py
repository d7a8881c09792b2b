"""Roots and what was perturbed from them, as the site's own rules would leave them."""

from __future__ import annotations

import itertools
from typing import Any

_numbers = itertools.count(1)


def root(by: Any = None, *, state: str = "valid", word: str = "cup", **fields: Any) -> Any:
    """Make an original: a half whose twin has no other half."""
    from winosmith.web.problems.models import Problem, State, Twin

    n = next(_numbers)
    return Problem.objects.create(
        ref=f"root{n:06}",
        twin=Twin.objects.create(ref=f"of-root{n:06}", contributor=by),
        sentence=f"The {word} did not fit on the shelf because the _ was too big.",
        options=[word, "shelf"],
        answer=0,
        state=State(state),
        **fields,
    )


def child(
    parent: Any,
    by: Any = None,
    *,
    new: tuple[str, str] = ("big", "large"),
    state: str = "valid",
    declared: int | None = None,
    extra: dict[str, Any] | None = None,
    **fields: Any,
) -> Any:
    """Perturb a problem: `new` is a word of it and what takes its place; with judges' slots."""
    from winosmith.lineage import make_child
    from winosmith.records import problem_record
    from winosmith.web._lock import writing
    from winosmith.web.judge.votes import open_slots
    from winosmith.web.problems.family import add_to_family
    from winosmith.web.problems.models import Problem, State, Twin
    from winosmith.web.problems.records import as_problem

    n = next(_numbers)
    options = [option.replace(*new) for option in parent.options]
    datum = make_child(
        as_problem(parent),
        parent.sentence.replace(*new),
        tuple(options),
        parent.answer,
        source="person",
        declared=declared,
    )
    record = {"single": True, "lineage": problem_record(datum)["lineage"]}
    made = Problem.objects.create(
        ref=f"version{n:06}",
        twin=Twin.objects.create(ref=f"of-version{n:06}", contributor=by, source="person"),
        sentence=datum.sentence,
        options=options,
        answer=datum.answer,
        state=State(state),
        record=record | ({"extra": extra} if extra else {}),
        **fields,
    )
    with writing():
        add_to_family(made, parent)
    if state == "judging":
        open_slots(made)
    return made
