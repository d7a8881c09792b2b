"""The shortest way from one row of tokens to another, edit by edit (EvoGrad, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rapidfuzz.distance import Levenshtein

from winosmith.errors import ProblemError
from winosmith.problem import Edit

__all__ = ["apply_edits", "edit_script"]


def edit_script(before: Sequence[str], after: Sequence[str]) -> tuple[Edit, ...]:
    """Return a shortest script of edits that turns one row of tokens into the other.

    The edits apply one after another, from left to right: `at` counts in the tokens as they are
    just before that edit. There are as many as the Levenshtein distance says.

    Args:
        before: tokens, none of them empty; `winosmith.text.tokens` cuts sentences.
        after: likewise.

    >>> for edit in edit_script("the cup fell .".split(), "the big jug fell".split()):
    ...     print(edit.op, edit.at, repr(edit.old), repr(edit.new))
    insert 1 '' 'big'
    substitute 2 'cup' 'jug'
    delete 4 '.' ''
    """
    return tuple(
        Edit("insert", step.dest_pos, new=after[step.dest_pos])
        if step.tag == "insert"
        else Edit("delete", step.dest_pos, old=before[step.src_pos])
        if step.tag == "delete"
        else Edit("substitute", step.dest_pos, before[step.src_pos], after[step.dest_pos])
        for step in Levenshtein.editops(before, after)
    )


def apply_edits(tokens: Sequence[str], edits: Iterable[Edit]) -> tuple[str, ...]:
    """Return the tokens after the edits, which apply one after another.

    Raises:
        ProblemError: an edit does not fit: its place is beyond the end, or another token is there.

    >>> apply_edits(("it", "broke"), [Edit("substitute", 1, "broke", "fell")])
    ('it', 'fell')
    """
    now = list(tokens)
    for number, edit in enumerate(edits, 1):
        there = now[edit.at] if edit.at < len(now) else None
        if edit.op == "insert" and edit.at <= len(now):
            now.insert(edit.at, edit.new)
        elif edit.op == "insert" or there is None:
            raise ProblemError(
                f"edit {number} is at token {edit.at}, beyond the end of {len(now)} tokens"
            )
        elif there != edit.old:
            raise ProblemError(
                f"edit {number} expects {edit.old!r} at token {edit.at}, where {there!r} is"
            )
        elif edit.op == "substitute":
            now[edit.at] = edit.new
        else:
            del now[edit.at]
    return tuple(now)
