"""Input texts for models: sentences with an option filled in and inflected for the blank.

The module also prepares training data: problems with options to choose, or claims to judge.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from winosmith.blocks import join_blocks, normalize_tokens
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.prediction import TIE
from winosmith.problem import BLANK, Claim, Problem
from winosmith.records import dump_json, make_claim_record
from winosmith.seen import Sees, check_pronouns, cut_to_local_context, insert_pronoun
from winosmith.text import FUNCTION_WORDS

SplitPoint = Literal["before_option", "after_option"]
"""The point that splits the filled-in sentence into the segments of `[CLS] … [SEP] … [SEP]`.

WinoGrande's released code splits before the option. The example in the paper (section 4.1) splits
after it ("… because the _ [SEP] is too large. [SEP]"). The code produced the published results, so
`before_option` is the default.
"""

Text = str | tuple[str, str]
"""The input text of an encoder, as one segment or two."""


def fill_option(
    problem: Problem,
    option: int,
    split_point: SplitPoint | None = None,
    local: int | None = None,
    sees: Sees = "blank",
) -> Text:
    """Return the sentence with an option filled in, as one segment or two.

    Options are inflected for the pronoun that they replace, if known (`inflect_options`). With
    `sees="pronoun"`, the first segment is the original sentence with its pronoun between asterisks,
    as in T5 (Raffel et al. 2020, section 2.4), and the second segment is the unchanged option.

    Args:
        problem: The problem to read.
        option: The index of the option to fill in.
        split_point: The point at which to split a sentence, or None for one segment. A question is
            split before the option.
        local: The number of words to keep before the blank, or None for all words. WinoGrande's
            local-context baseline (section 4.1) keeps 2.
        sees: "blank" or "pronoun".

    Raises:
        DataError: A required pronoun is unknown, or `local` is set for a question.

    >>> cup = Problem("1", "The cup fell because the _ was loose.", ("cup", "shelf"))
    >>> fill_option(cup, 1)
    'The cup fell because the shelf was loose.'
    >>> fill_option(cup, 1, "before_option")
    ('The cup fell because the', 'shelf was loose.')
    >>> fill_option(cup, 1, "after_option", local=2)
    ('because the shelf', 'was loose.')
    >>> nurse = Problem("2", "The nurse said that _ left.", ("nurse", "the cook"), pronoun="she")
    >>> fill_option(nurse, 1, sees="pronoun")
    ('The nurse said that *she* left.', 'the cook')
    """
    if local is not None:
        problem = cut_to_local_context(problem, local, whole=False)
    if sees == "pronoun":
        return insert_pronoun(problem, "*").strip(), problem.options[option].strip()
    before, options, after = split_sentence(problem)
    filler = options[option]
    if problem.blank is None and split_point is not None:
        return before.strip(), filler.strip()
    if split_point is None:
        return before + filler + after
    if split_point == "before_option":
        return before.strip(), (filler + after).strip()
    return (before + filler).strip(), after.strip()


def split_sentence(problem: Problem) -> tuple[str, tuple[str, ...], str]:
    """Return the text before the blank, the inflected options, and the text after the blank.

    Joined, these parts are the filled-in sentences, without white space at the ends.

    >>> split_sentence(Problem("1", "He saw it, so the _ was large. ", ("cup", "jug")))
    ('He saw it, so the ', ('cup', 'jug'), ' was large.')
    """
    return problem.before.lstrip(), inflect_options(problem).options, problem.after.rstrip()


_POSSESSIVE = frozenset("my mine your yours his its our ours their theirs hers".split())

_LOWERCASED = frozenset(
    "A An The My Your His Her Its Our Their He She It They This That These Those".split()
)
"""First words of options that are converted to lower case inside a sentence."""

_POSSESSED_WORDS = {"can", "few", "many", "might", "own", "will"}
"""Function words that can follow a possessive "her": "against her will", "her many friends"."""

_NEXT_WORD = re.compile(r"\s+[\"'“‘]?(\w+)")


def inflect_options(problem: Problem) -> Problem:
    """Return the problem with its options inflected and capitalised for the blank.

    The pronoun determines the form of an option: "Tom's" replaces "his" in "raised his glass", "the
    woman" replaces "she", and "The woman" replaces "She". "Her" is a possessive before a content
    word ("her glass"), but not before a function word ("saw her in …"). A problem without a known
    pronoun, as in WinoGrande, is returned unchanged.

    >>> problem = Problem("1", "The man handed Jim _ glass.", ("The man", "Jim"), pronoun="his")
    >>> inflect_options(problem).options
    ("the man's", "Jim's")
    """
    pronoun = (problem.pronoun or "").strip()
    if not pronoun:
        return problem
    is_possessive = _is_possessive(pronoun.lower(), problem.after)
    options = []
    for option in map(str.strip, problem.options):
        ending = ""
        if is_possessive and not option.endswith(("'s", "'", "’s", "’")):
            is_plural = option.endswith("s") and pronoun.lower().startswith(("their", "our"))
            ending = "'" if is_plural else "'s"
        options.append(_match_case(option + ending, pronoun))
    if len(set(options)) < len(options):  # the options differ only in case
        return problem
    return replace(problem, options=tuple(options))


def _is_possessive(pronoun: str, next_text: str) -> bool:
    if pronoun != "her":
        return pronoun in _POSSESSIVE
    following = _NEXT_WORD.match(next_text)
    if following is None:
        return False
    return following[1].lower() not in FUNCTION_WORDS - _POSSESSED_WORDS


def _match_case(option: str, pronoun: str) -> str:
    if pronoun[0].isupper() and pronoun != "I":
        return option[0].upper() + option[1:]
    first, _, rest = option.partition(" ")
    return f"{first.lower()} {rest}" if first in _LOWERCASED and rest else option


def ask_referent(problem: Problem, suffix: str = "") -> Problem:
    """Return a problem that asks for the referent of the original pronoun.

    The question is that of GPT-3 for Winogender (Brown et al. 2020, section 6.2.1): the sentence,
    followed by "'She' refers to" and a blank, so that only the options' tokens differ. The options
    are unchanged. If the sentence contains the pronoun more than once, the pronoun in question is
    marked with asterisks, as in GPT-3's format for SuperGLUE-WSC (appendix G).

    Args:
        problem: A problem with a known pronoun.
        suffix: The text after the option, such as a full stop for a bidirectional model.

    Raises:
        DataError: The pronoun is unknown.

    >>> nurse = Problem("1", "The nurse said that _ left.", ("the nurse", "a cook"), pronoun="she")
    >>> ask_referent(nurse).sentence
    "The nurse said that she left. 'She' refers to _"
    """
    check_pronouns([problem])
    pronoun = (problem.pronoun or "").strip()
    again = re.search(rf"(?<!\w){re.escape(pronoun)}(?!\w)", problem.sentence, re.IGNORECASE)
    mark = "*" if again else ""
    asked = f"'{mark}{pronoun[0].upper()}{pronoun[1:]}{mark}' refers to {BLANK}{suffix}"
    sentence = f"{insert_pronoun(problem, mark).strip()} {asked}"
    return replace(problem, sentence=sentence, pronoun=None, blank=sentence.rindex(BLANK))


def fill_answer(problem: Problem, sees: Sees = "blank") -> str:
    """Return the sentence with the correct option in its blank or after its referent question.

    Raises:
        DataError: The problem has no answer, or a required pronoun is unknown.

    >>> fill_answer(Problem("1", "He saw it, so the _ was large. ", ("cup", "jug"), 1))
    'He saw it, so the jug was large.'
    """
    before, options, after = split_sentence(
        ask_referent(problem, ".") if sees == "pronoun" else problem
    )
    if problem.answer is None:
        raise DataError(f"{problem.id!r} has no answer")
    return before + options[problem.answer] + after


PLACEHOLDER = "something else"
"""Placeholder for the second option of a claim's problem, which models never read."""


@dataclass(frozen=True)
class Questions:
    """Problems or claims, prepared for training.

    Attributes:
        problems: The problems. For a claim, only the first option is read.
        texts_per_problem: The number of texts per problem: 2 for problems, 1 for claims.
        answers: (n,) The index of the correct option. For a claim, 1 if it is true, otherwise 0.
        groups: The groups of related rows, which are twins, or claims about the same blank.
        digest: The SHA-256 of the problems or claims.
    """

    problems: tuple[Problem, ...]
    texts_per_problem: int
    answers: npt.NDArray[np.int64]
    groups: tuple[tuple[int, ...], ...]
    digest: str

    @cached_property
    def blocks(self) -> list[list[int]]:
        """The rows of each independent observation: a twin with all copies of its halves."""
        texts = [[normalize_tokens(problem.sentence)] for problem in self.problems]
        return join_blocks(self.groups, texts)

    def __len__(self) -> int:
        return len(self.problems)

    def compute_loss(self, scores: Any, answers: Any) -> Any:
        """Return the summed cross-entropy of the texts' scores, in nats."""
        from torch.nn import functional

        if self.texts_per_problem == 2:
            return functional.cross_entropy(scores.view(-1, 2), answers, reduction="sum")
        return functional.binary_cross_entropy_with_logits(
            scores, answers.to(scores.dtype), reduction="sum"
        )

    def evaluate(self, scores: npt.NDArray[np.float32]) -> tuple[float, float]:
        """Return the number of questions that the scores answer correctly, and its p-value.

        A problem counts as 1 if its correct option has the higher score, and as 1/2 if the scores
        are tied (`winosmith.prediction.TIE`). A true claim counts as correct if its score is above
        0, and a false claim if it is not. The p-value is the probability that guessing is at least
        as accurate. It comes from `compute_chance_p_value` for problems, and from Fisher's exact
        test for claims, so that a constant answer is not evidence.
        """
        rows, right = np.arange(len(self)), self.answers
        if self.texts_per_problem == 2:
            pairs = scores.reshape(-1, 2).astype(np.float64)
            lead = pairs[rows, right] - pairs[rows, 1 - right]
            tied = np.abs(lead) <= TIE * np.abs(pairs).max(axis=1, initial=0)
            credit = np.where(tied, 0.5, lead > 0)
            return float(credit.sum()), compute_chance_p_value(credit, self.blocks)
        from scipy.stats import fisher_exact

        judged_true = scores > 0
        table = [[int((judged_true == a)[right == b].sum()) for b in (1, 0)] for a in (True, False)]
        p_value = fisher_exact(table, alternative="greater").pvalue
        return float((judged_true == right.astype(bool)).sum()), float(p_value)


def read_questions(
    items: Sequence[Problem] | Sequence[Claim], purpose: str, sees: Sees = "blank"
) -> Questions:
    """Convert problems or claims to questions, and check that they can be used.

    Error messages contain the `purpose`, such as "train on".

    Raises:
        DataError: There are no items, an item lacks an answer or does not have two options, or a
            required pronoun is unknown. The message contains the id of the item.
    """
    if not len(items):
        raise DataError(f"there are no problems to {purpose}")
    claims = [one for one in items if isinstance(one, Claim)]
    if 0 < len(claims) < len(items):
        raise DataError(f"there are both problems and claims to {purpose}")
    if not claims and not isinstance(items, Dataset):
        items = Dataset(one for one in items if isinstance(one, Problem))
    if sees == "pronoun":
        check_pronouns(items if isinstance(items, Dataset) else
                       [convert_claim(claim, claim.problem_id) for claim in claims])  # fmt: skip
    if isinstance(items, Dataset):
        for problem in items:
            if len(problem.options) != 2:
                raise DataError(f"{problem.id!r} has {len(problem.options)} options; 2 are needed")
            if problem.answer is None:
                raise DataError(f"{problem.id!r} has no answer; it needs one to {purpose}")
        answers = np.array(items.answers, np.int64)
        return Questions(items.problems, 2, answers, items.groups, items.digest)
    for claim in claims:
        if claim.holds is None:
            raise DataError(
                f"a claim about {claim.problem_id!r} has no label; it needs one to {purpose}"
            )
    together: dict[str, list[int]] = {}
    for row, claim in enumerate(claims):
        together.setdefault(claim.problem_id, []).append(row)
    lines = "\n".join(dump_json(make_claim_record(claim)) for claim in claims)
    return Questions(
        tuple(map(convert_claim, claims, map(str, range(len(claims))))),
        1,
        np.array([claim.holds for claim in claims], np.int64),
        tuple(map(tuple, together.values())),
        hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest(),
    )


def convert_claim(claim: Claim, problem_id: str = "claim") -> Problem:
    """Convert a claim to a problem whose first option is the claim's candidate."""
    rival = PLACEHOLDER if claim.candidate.strip() != PLACEHOLDER else f"{PLACEHOLDER}!"
    return Problem(problem_id, claim.sentence, (claim.candidate, rival), pronoun=claim.pronoun)


def compute_chance_p_value(
    correct: Sequence[float] | npt.NDArray[Any], groups: Sequence[Sequence[int]]
) -> float:
    """Return the probability that guessing between two options is at least as accurate.

    A draw under the null flips the labels of all problems of a group together with probability 1/2.
    A group with r of n correct has an excess of r − n/2, whose sign is drawn at random. The
    distribution of the sum is exact (by convolution). Without twins, this is the one-sided binomial
    test. A solver that ignores the trigger has one half of every twin correct, and p = 1.

    Args:
        correct: (n,) the credit of each answer: 1 or True, 0 or False, 1/2 for a tie.
        groups: The rows of each independent observation, such as a twin with its copies.

    >>> compute_chance_p_value([True] * 5, [(0,), (1,), (2,), (3,), (4,)])  # 1/2 to the 5th
    0.03125
    >>> compute_chance_p_value([True, True, True, False], [(0, 1), (2, 3)])
    0.5
    """
    right = np.asarray(correct, dtype=np.float64)
    excess = [round(2 * float(right[list(rows)].sum())) - len(rows) for rows in groups]
    distribution = np.ones(1)  # of (sum + largest sum) / 2, in units of half a problem
    for size in filter(None, map(abs, excess)):
        longer = np.zeros(len(distribution) + size)
        longer[: len(distribution)] += distribution / 2
        longer[size:] += distribution / 2
        distribution = longer
    at = (sum(excess) + sum(map(abs, excess))) // 2
    return float(min(1.0, distribution[at:].sum()))
