"""Roots and their versions, as the site's own rules would store them."""

import itertools
from typing import Any

from tests.web.making import single

_numbers = itertools.count(1)


def root(by: Any = None, *, state: str = "valid", word: str = "cup", **fields: Any) -> Any:
    """Create an original: a problem whose twin has no other half."""
    text = f"The {word} did not fit on the shelf because the _ was too big."
    ref = f"root{next(_numbers):06}"
    return single(ref, text, by=by, state=state, options=[word, "shelf"], **fields)


def child(
    parent: Any,
    by: Any = None,
    *,
    new: tuple[str, str] = ("big", "large"),
    state: str = "valid",
    **fields: Any,
) -> Any:
    """Create a version in which `new` replaces a word: (old, new); in judging, it has slots."""
    from tests.web.growing import version
    from winosmith.web.judge.votes import open_slots

    made = version(
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
