"""What a model reads of a problem: options worded for their place, in a filled-in sentence."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal, get_args

from winosmith.errors import DataError, InputError
from winosmith.problem import BLANK, Problem
from winosmith.seen import Sees, check_pronouns, local_only, with_pronoun
from winosmith.text import FUNCTION_WORDS

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
        split_point: where to cut; None leaves the sentence whole. A question is cut before the
            option wherever else a sentence is.
        local: the words ahead of the blank that stay (2 in WinoGrande's local-context baseline,
            section 4.1); None for all.
        sees: the blank, or the pronoun.

    Raises:
        DataError: the pronoun is to be seen, and is not known; or words ahead of the blank are
            asked for of a question.

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
        problem = local_only(problem, local, whole=False)
    if sees == "pronoun":
        return with_pronoun(problem, "*").strip(), problem.options[option].strip()
    before, options, after = sentence_parts(problem)
    filler = options[option]
    if problem.blank is None and split_point is not None:
        return before.strip(), filler.strip()
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


def sentence_parts(problem: Problem) -> tuple[str, tuple[str, ...], str]:
    """Return what stands before the blank, the options as worded there, and what follows.

    White space at the sentence's ends is left out; put together they are the filled-in sentences.

    >>> sentence_parts(Problem("1", "He saw it, so the _ was large. ", ("cup", "jug")))
    ('He saw it, so the ', ('cup', 'jug'), ' was large.')
    """
    return problem.before.lstrip(), worded(problem).options, problem.after.rstrip()


_POSSESSIVE = frozenset("my mine your yours his its our ours their theirs hers".split())

_LOWERED = frozenset(
    "A An The My Your His Her Its Our Their He She It They This That These Those".split()
)
"""First words of an option that have a capital letter for no other reason than to come first."""

_OWNABLE = {"can", "few", "many", "might", "own", "will"}
"""Function words that can follow a possessive: "against her will", "her many friends"."""

_NEXT_WORD = re.compile(r"\s+[\"'“‘]?(\w+)")


def worded(problem: Problem) -> Problem:
    """Return the problem with its options in the form and case that their place asks for.

    A pronoun says what the blank is: for "his" in "raised his glass" the option is "Tom's", for
    a small "she" it is "the woman", for a large one "The woman". "Her" is a possessive before a
    word with a meaning of its own ("her glass"), not before another ("saw her in …"). A problem
    whose pronoun is not known, as in WinoGrande, stays as it is.

    >>> problem = Problem("1", "The man handed Jim _ glass.", ("The man", "Jim"), pronoun="his")
    >>> worded(problem).options
    ("the man's", "Jim's")
    """
    pronoun = (problem.pronoun or "").strip()
    if not pronoun:
        return problem
    possessive = _is_possessive(pronoun.lower(), problem.after)
    options = tuple(
        _cased(_owned(option.strip(), pronoun.lower()) if possessive else option.strip(), pronoun)
        for option in problem.options
    )
    if len(set(options)) < len(options):  # options that differ in case alone
        return problem
    return replace(problem, options=options)


def _is_possessive(pronoun: str, after: str) -> bool:
    if pronoun != "her":
        return pronoun in _POSSESSIVE
    following = _NEXT_WORD.match(after)
    if following is None:
        return False
    return following[1].lower() not in FUNCTION_WORDS - _OWNABLE


def _owned(option: str, pronoun: str) -> str:
    if option.endswith(("'s", "'", "’s", "’")):
        return option
    plural = option.endswith("s") and pronoun.startswith(("their", "our"))
    return option + ("'" if plural else "'s")


def _cased(option: str, pronoun: str) -> str:
    if pronoun[0].isupper() and pronoun != "I":
        return option[0].upper() + option[1:]
    first, _, rest = option.partition(" ")
    return f"{first.lower()} {rest}" if first in _LOWERED and rest else option


def referring(problem: Problem, end: str = "") -> Problem:
    """Return the problem with its pronoun, and a blank for whom that refers to.

    A language model goes on with what it reads, so the question is put as GPT-3 was asked about
    Winogender (Brown et al. 2020, section 6.2.1): the sentence, then "'She' refers to", and the
    option's own tokens are what differs. The options stay as they are in the file. Where the word
    stands in the sentence more than once, the one that is meant is marked with asterisks, as in
    GPT-3's form of SuperGLUE-WSC (appendix G).

    Args:
        problem: whose pronoun is known.
        end: what follows the option; a full stop suits a model that sees both sides.

    Raises:
        DataError: the pronoun is not known.

    >>> nurse = Problem("1", "The nurse said that _ left.", ("the nurse", "a cook"), pronoun="she")
    >>> referring(nurse).sentence
    "The nurse said that she left. 'She' refers to _"
    """
    check_pronouns([problem])
    pronoun = (problem.pronoun or "").strip()
    again = re.search(rf"(?<!\w){re.escape(pronoun)}(?!\w)", problem.sentence, re.IGNORECASE)
    mark = "*" if again else ""
    asked = f"'{mark}{pronoun[0].upper()}{pronoun[1:]}{mark}' refers to {BLANK}{end}"
    sentence = f"{with_pronoun(problem, mark).strip()} {asked}"
    return replace(problem, sentence=sentence, pronoun=None, blank=sentence.rindex(BLANK))


def solved_text(problem: Problem, sees: Sees = "blank") -> str:
    """Return the sentence with the right option in its blank, or what its pronoun refers to.

    Raises:
        DataError: the problem has no answer, or its pronoun is to be seen and is not known.

    >>> solved_text(Problem("1", "He saw it, so the _ was large. ", ("cup", "jug"), 1))
    'He saw it, so the jug was large.'
    """
    before, options, after = sentence_parts(
        referring(problem, ".") if sees == "pronoun" else problem
    )
    if problem.answer is None:
        raise DataError(f"{problem.id!r} has no answer")
    return before + options[problem.answer] + after
