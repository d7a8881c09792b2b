"""What an encoder reads of a problem: the filled-in sentence, or its pronoun and an option."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

from winosmith.errors import InputError
from winosmith.models._wording import sentence_parts
from winosmith.problem import Problem
from winosmith.seen import Sees, with_pronoun
from winosmith.text import local_context

__all__ = ["SplitPoint", "Text", "check_split_point", "filled_text"]

SplitPoint = Literal["before_option", "after_option"]
"""Where the filled-in sentence is cut into the two segments of `[CLS] … [SEP] … [SEP]`.

WinoGrande's released code cuts before the option; the example in its text (section 4.1) cuts
after it ("… because the _ [SEP] is too large. [SEP]"). The code made the published figures, so
`before_option` is the default everywhere.
"""

Text = str | tuple[str, str]
"""One segment, or two."""


def filled_text(
    problem: Problem,
    option: int,
    split_point: SplitPoint | None = None,
    local: int | None = None,
    sees: Sees = "blank",
) -> Text:
    """Return the sentence with the blank filled, whole or as two segments; or pronoun and option.

    Options are worded for the pronoun that they replace, where it is known (`worded`). With the
    pronoun the first segment is the sentence as it was written, the pronoun between asterisks as
    T5 has it (Raffel et al. 2020, section 2.4), and the second the option as it stands in the
    file: the form of multiple choice, and of SuperGLUE-WSC with its candidate.

    Args:
        problem: what to read.
        option: the index of the option to fill in.
        split_point: where to cut; None leaves the sentence whole.
        local: the words ahead of the blank that stay (2 in WinoGrande's local-context baseline,
            section 4.1); None for all.
        sees: the blank, or the pronoun.

    Raises:
        DataError: the pronoun is to be seen, and is not known.

    >>> cup = Problem("1", "The cup fell because the _ was loose.", ("cup", "shelf"))
    >>> filled_text(cup, 1)
    'The cup fell because the shelf was loose.'
    >>> filled_text(cup, 1, "before_option")
    ('The cup fell because the', 'shelf was loose.')
    >>> filled_text(cup, 1, "after_option", local=2)
    ('because the shelf', 'was loose.')
    >>> nurse = Problem("2", "The nurse said that _ left.", ("nurse", "the cook"), pronoun="she")
    >>> filled_text(nurse, 1, sees="pronoun")
    ('The nurse said that *she* left.', 'the cook')
    """
    if local is not None:
        problem = replace(problem, sentence=local_context(problem.sentence, local, whole=False))
    if sees == "pronoun":
        return with_pronoun(problem, "*").strip(), problem.options[option].strip()
    before, options, after = sentence_parts(problem)
    filler = options[option]
    if split_point is None:
        return before + filler + after
    if split_point == "before_option":
        return before.strip(), (filler + after).strip()
    return (before + filler).strip(), after.strip()


def check_split_point(split_point: str | None) -> None:
    """Refuse a split point that is none, with InputError."""
    if split_point is not None and split_point not in get_args(SplitPoint):
        raise InputError(
            f"the split point is one of {', '.join(get_args(SplitPoint))}; not {split_point!r}"
        )
