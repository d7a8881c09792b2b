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
    **fields: Any,
) -> Any:
    """Perturb a problem: `new` is a word of it and what takes its place; with judges' slots."""
    from tests.web.growing import made_version
    from winosmith.web.judge.votes import open_slots

    made = made_version(
        parent,
        parent.sentence.replace(*new),
        by=by,
        state=state,
        options=[option.replace(*new) for option in parent.options],
        answer=parent.answer,
        **fields,
    )
    if state == "judging":
        open_slots(made)
    return made
