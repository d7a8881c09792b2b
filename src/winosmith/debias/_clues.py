"""Words that reveal an answer because they occur with the correct option elsewhere in the data.

AFLite shows that a problem is predictable, but not why. This module looks for an explanation in the
words. The *cues* of a problem are its trigger (if the twin is present) and the content words of its
local context, w[t-2:]. A *clue* is a cue together with a property that distinguishes the options:

- "beside": a content word in the same clause as an option. The polarity pattern of WinoGrande's
  table 2 is an example ("loved" is next to "balls", and the trigger is "exciting").
- "option": the option's last word (the cue is "heavy", and the option is "stone").
- "order": the option is mentioned first ("weak" occurs with the first option, whatever it is).

In text without spaces between words, characters and character bigrams are used instead of words
(`text.split_units`), and the whole option instead of its last word.

For each clue, the other problems with the same words are counted: R problems in which the words
point to the correct option, and W problems in which they point to an incorrect one. The problem's
own twin and copies of either half are omitted, so that no problem is evidence for itself.
Look-alikes are included, because the aim is to find repeated words.

The strength of a clue is the statistic of the sign test, z = (R − W) / √(R + W). It is positive if
the words point to the option with which they occur. |z| ≥ 3 needs at least nine other problems. A
clue can be misleading: words that point away from the answer are reported, too. With random labels,
helpful and misleading clues are about equally frequent. Misleading clues are slightly more
frequent, because omitting a problem from a balanced count tips the count against the problem's
answer.

The module also renders clues and assessments as report blocks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import numpy as np

from winosmith import formats, report, text
from winosmith.blocks import join_blocks, normalize_tokens
from winosmith.dataset import Dataset
from winosmith.debias._assess import Assessment
from winosmith.debias._rows import encode_groups
from winosmith.errors import DataError
from winosmith.metrics import find_first_mentioned_options
from winosmith.problem import BLANK, Problem
from winosmith.seen import cut_to_local_context, split_units_with_blank

Kind = Literal["beside", "option", "order"]

_PLAINEST_FIRST: tuple[Kind, ...] = ("order", "option", "beside")


@dataclass(frozen=True, slots=True)
class Clue:
    """Words of a problem that point to one of its options.

    Attributes:
        kind: The kind of clue, "beside", "option" or "order"; see the module docstring.
        words: The word near the option or the option's last word (none for "order"), and the cue.
        option: The index of the option to which the clue points.
        toward: Whether this option is the answer.
        right: The number of other problems in which the same words pointed to the correct option.
        wrong: The number of other problems in which the same words pointed to an incorrect option.
        z: The statistic of the sign test on `right` and `wrong`, 0 or more.
    """

    kind: Kind
    words: tuple[str, ...]
    option: int
    toward: bool
    right: int
    wrong: int
    z: float


@dataclass(frozen=True, slots=True)
class Mark:
    """A highlighted word in a sentence.

    Attributes:
        start, end: The character positions of the word in the sentence, `sentence[start:end]`.
        toward: Whether the strongest clue that contains the word points to the answer.
        z: The strength of the clue.
    """

    start: int
    end: int
    toward: bool
    z: float


@dataclass(frozen=True, slots=True)
class MarkedProblem:
    """A problem with its marked words and their clues, strongest first."""

    row: int
    id: str
    sentence: str
    options: tuple[str, ...]
    answer: int
    marks: tuple[Mark, ...]
    clues: tuple[Clue, ...]


@dataclass(frozen=True, slots=True)
class ClueDirections:
    """The numbers of problems whose strongest clue points to the answer, or to the other option.

    Attributes:
        problems: The number of problems.
        toward: The number of problems whose strongest clue points to the answer.
        away: The number of problems whose strongest clue points to the other option.
    """

    problems: int
    toward: int
    away: int


_MAX_SHOWN = 3
"""The maximum number of clues shown per problem."""


@dataclass(frozen=True)
class Associations:
    """The clues that `find_associations` found in a data set."""

    dataset: Dataset
    clues: tuple[tuple[Clue, ...], ...]

    def count_clue_directions(self, rows: Iterable[int]) -> ClueDirections:
        """Count the problems whose strongest clue points to the answer, or to the other option."""
        first = [self.clues[row][:1] for row in rows]
        toward = sum(clue.toward for clues in first for clue in clues)
        return ClueDirections(len(first), toward, sum(map(len, first)) - toward)

    def select_strongest(
        self, rows: Collection[int], limit: int
    ) -> tuple[tuple[MarkedProblem, ...], ...]:
        """Return the twins among `rows` with the strongest clues.

        The kinds of clue alternate, and no two twins share a clue's words, so that a few twins show
        all kinds. Twins with a half outside `rows`, and problems under embargo, are omitted.
        """
        ranked: dict[str, list[tuple[float, int, tuple[int, ...]]]] = {}
        for group in self._iterate_whole_groups(rows):
            leading = [self.clues[row][0] for row in group if self.clues[row]]
            strength = sum(clue.z if clue.toward else -clue.z for clue in leading)
            if strength > 0:
                kind = max(leading, key=lambda clue: clue.z).kind
                ranked.setdefault(kind, []).append((-strength, group[0], group))
        waiting = [iter(sorted(ranked[kind])) for kind in sorted(ranked)]
        seen: set[tuple[str, ...]] = set()
        found: list[tuple[int, ...]] = []
        while waiting and len(found) < limit:
            queue = waiting.pop(0)
            for _, _, group in queue:
                words = {self.clues[row][0].words for row in group if self.clues[row]}
                if not words & seen:
                    seen |= words
                    found.append(group)
                    waiting.append(queue)
                    break
        return tuple(tuple(map(self.mark_words, group)) for group in found)

    def draw_sample(
        self, rows: Collection[int], size: int, *, seed: int = 0
    ) -> tuple[tuple[MarkedProblem, ...], ...]:
        """Return a random sample of twins, or of singles if there are no complete twins."""
        whole = list(self._iterate_whole_groups(rows))
        choice = [group for group in whole if len(group) == 2] or whole
        order = np.random.default_rng([seed, 2]).permutation(len(choice))[:size]
        return tuple(tuple(map(self.mark_words, choice[index])) for index in order)

    def _iterate_whole_groups(self, rows: Collection[int]) -> Iterator[tuple[int, ...]]:
        allowed = frozenset(map(int, rows))
        for group in self.dataset.groups:
            if allowed.issuperset(group) and not any(self.dataset[row].embargo for row in group):
                yield group

    def mark_words(self, row: int) -> MarkedProblem:
        """Return a problem with the words of its three strongest clues marked."""
        problem, clues = self.dataset[row], self.clues[row][:_MAX_SHOWN]
        pointing: dict[str, Clue] = {}
        for clue in clues:
            for word in clue.words:
                pointing.setdefault(word, clue)
        spans = []
        for word, clue in pointing.items():
            pattern = re.escape(word)
            if text.detect_script(word) != "unspaced":
                pattern = ("" if "'" in word else r"(?<!\w)") + pattern + r"(?!\w)"
            found = re.finditer(pattern, problem.sentence, re.IGNORECASE)
            spans += [(*match.span(), clue) for match in found]
        marks: list[Mark] = []
        for start, end, clue in sorted(spans, key=lambda span: span[:2]):
            if not marks or start >= marks[-1].end:
                marks.append(Mark(start, end, clue.toward, clue.z))
        assert problem.answer is not None  # noqa: S101 - find_associations checked it
        return MarkedProblem(
            row, problem.id, problem.sentence, problem.options, problem.answer, tuple(marks), clues
        )


def find_associations(dataset: Dataset | formats.Readable, *, z: float = 3.0) -> Associations:
    """Find the words that reveal a data set's answers.

    A clue is a combination of words that occurred mostly with the correct option (or an incorrect
    one) in other problems, so that the sign test statistic is `z` or more. Copies of a problem
    count once. See the module docstring.

    Raises:
        DataError: A problem has more than two options, or no answer.

    >>> from winosmith.problem import Problem
    >>> halves = [
    ...     Problem(f"{n}{t}", f"Stone {n} hit the leaf: _ was {t}.", ("stone", "leaf"), a, str(n))
    ...     for n in range(12)
    ...     for t, a in (("heavy", 0), ("light", 1))
    ... ]
    >>> found = find_associations(Dataset(halves))
    >>> clue = found.mark_words(0).clues[0]
    >>> clue.kind, clue.words, clue.right, clue.wrong, clue.toward
    ('order', ('heavy',), 11, 0, True)
    """
    dataset = formats.as_dataset(dataset)
    for problem in dataset:
        if len(problem.options) != 2 or problem.answer is None:
            raise DataError(
                f"the problem {problem.id!r} has {len(problem.options)} options and the answer "
                f"{problem.answer}; clues need two options and an answer"
            )
    answers, first = dataset.answers, find_first_mentioned_options(dataset)
    numbers: dict[tuple[Kind, tuple[str, ...]], int] = {}  # a clue's kind and words → its column
    table = []
    for rows in dataset.groups:
        for row in rows:
            other = dataset[sum(rows) - row].sentence if len(rows) == 2 else None
            words_by_role = group_words_by_role(dataset[row], other)
            for option, key in _iter_possible_clues(words_by_role, int(first[row])):
                number = numbers.setdefault(key, len(numbers))
                table.append((row, option, number, option == answers[row]))
    of, options, features, is_correct = np.array(table, np.intp).reshape(-1, 4).T
    texts = [[normalize_tokens(problem.sentence)] for problem in dataset]
    block_of = encode_groups(join_blocks(dataset.groups, texts), len(dataset))
    in_block = np.unique(block_of[of] * max(len(numbers), 1) + features, return_inverse=True)[1]
    once = np.unique(2 * in_block + is_correct, return_index=True)[1]  # not each copy
    right, wrong = (  # counts in the other blocks
        np.bincount(features[once], mask)[features] - np.bincount(in_block[once], mask)[in_block]
        for mask in (is_correct[once] == 1, is_correct[once] == 0)
    )
    strength = (right - wrong) / np.sqrt(np.maximum(right + wrong, 1))
    keys = list(numbers)
    found: list[list[tuple[bool, Clue]]] = [[] for _ in dataset]
    for at in np.flatnonzero(np.abs(strength) >= z):
        row, option, toward, away = (int(part[at]) for part in (of, options, right, wrong))
        by_contrast = bool(strength[at] < 0)
        if by_contrast:
            option, toward, away = 1 - option, away, toward
        kind, words = keys[features[at]]
        is_answer = option == answers[row]
        clue = Clue(kind, words, option, is_answer, toward, away, abs(float(strength[at])))
        found[row].append((by_contrast, clue))

    def get_rank(entry: tuple[bool, Clue]) -> tuple[float, bool, int, tuple[str, ...]]:
        by_contrast, clue = entry
        return -clue.z, by_contrast, _PLAINEST_FIRST.index(clue.kind), clue.words

    ranked = (sorted(entries, key=get_rank) for entries in found)
    return Associations(dataset, tuple(tuple(clue for _, clue in entries) for entries in ranked))


def _iter_possible_clues(
    words: WordsByRole, first_mentioned: int
) -> Iterator[tuple[int, tuple[Kind, tuple[str, ...]]]]:
    """Yield each possible clue once: its option, and its kind and words.

    If both options have the same last word, neither this word nor the words next to it are used.
    """
    for cue in words.cues:
        yield first_mentioned, ("order", (cue,))
        if words.heads[0] == words.heads[1]:
            continue
        for option in (0, 1):
            yield option, ("option", (words.heads[option], cue))
            for word in words.near[option]:
                if word != cue and word not in words.near[1 - option]:
                    yield option, ("beside", (word, cue))


_BOUNDARY = frozenset(
    """, ; : . ! ? -- — ， 、 ； ： 。 ！ ？ and but or so because since although though while
    whereas as if when unless until yet""".split()
)
"""Tokens that end a clause, for splitting sentences without a parser."""


LETTERS_BEFORE_BLANK = 8
"""The number of characters and bigrams before the blank in the local context of text without
spaces: about two words."""


@dataclass(frozen=True, slots=True)
class WordsByRole:
    """The distinct lower-case words of a two-option problem, grouped by role.

    Attributes:
        cues: The trigger if the twin is known, and the content words of the local context.
        heads: The last word of each option.
        near: The content words of the clauses that mention each option.
    """

    cues: tuple[str, ...]
    heads: tuple[str, str]
    near: tuple[tuple[str, ...], tuple[str, ...]]


def group_words_by_role(problem: Problem, other_half: str | None = None) -> WordsByRole:
    """Group the words of a two-option problem into cues, option words and nearby words.

    In "The monkey loved the balls but ignored the blocks because …", "loved" is near the balls and
    "ignored" is near the blocks. If one clause mentions both options, the words between the
    mentions belong to the first option. The clause with the blank is omitted, because its words are
    cues. `other_half` is the sentence of the other half.
    """
    unspaced = text.detect_script(problem.sentence) == "unspaced"
    options = [
        [option.lower()] if unspaced else text.split_units(option) for option in problem.options
    ]
    heads = [next(filter(_is_word, reversed(option)), "") for option in options]
    tokens, blank = split_units_with_blank(problem)
    if unspaced:
        cues = list(filter(text.is_content, tokens[max(0, (blank or 0) - LETTERS_BEFORE_BLANK) :]))
    else:
        context = problem if blank is None else cut_to_local_context(problem, 2)
        cues = text.find_content_words(context.sentence)
    if other_half is not None:
        other_tokens = text.split_units(other_half, problem.options)
        cues = [t for t in text.find_trigger(tokens, other_tokens)[0] if _is_word(t)] + cues
    option_words = {token for option in options for token in option}
    return WordsByRole(
        tuple(dict.fromkeys(cue for cue in cues if cue not in option_words)),
        (heads[0], heads[1]),
        _find_near_words(tokens, (heads[0], heads[1]), option_words),
    )


def _find_near_words(
    tokens: Sequence[str], heads: tuple[str, str], option_words: set[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found: tuple[list[str], list[str]] = ([], [])
    for is_boundary, group in groupby(tokens, _BOUNDARY.__contains__):
        clause = list(group)
        if is_boundary or BLANK in clause:
            continue
        mentioned = {head for head in heads if head in clause}
        current = heads.index(mentioned.pop()) if len(mentioned) == 1 else None
        for token in clause:
            if token in heads:
                current = heads.index(token)
            elif current is not None and token not in option_words and text.is_content(token):
                found[current].append(token)
    return tuple(dict.fromkeys(found[0])), tuple(dict.fromkeys(found[1]))


def _is_word(token: str) -> bool:
    return any(map(str.isalnum, token))


def make_assessment_blocks(
    assessment: Assessment, signature: report.Signature | str = ""
) -> list[report.Block]:
    """Return report blocks with an assessment's table and charts, as in the paper's figure 1."""
    subsets, settings = assessment.subsets, assessment.settings
    orders = ", each problem in both orders of its options" if assessment.flips_sign else ""
    hidden = any(len(one.points) < min(one.rows, settings.points) for one in subsets)
    hidden_note = " Problems whose answers are not published are not shown." * hidden
    clouds, first, axis = assessment.panels()
    blocks: list[report.Block] = [
        report.Drawing(
            "The first two principal components of the embeddings, by answer. The PCA was fitted "
            f"once, on all problems; at most {settings.points:,} problems per subset are "
            f"shown.{hidden_note}",
            clouds,
            signature=signature,
        ),
        report.Drawing(
            f"The first component, d₁, by answer, in {settings.bins} bins{orders}. Above each "
            "panel is the KL divergence between the answers, followed in brackets by that of "
            "noise: the mean, and the chance limit, which it exceeds in at most 5 % of draws in "
            "which the answers of whole blocks (twins, copies, look-alikes) are flipped at random.",
            first,
            signature=signature,
        ),
        report.Drawing(
            "The answer axis: the direction along which the answers are furthest apart, fitted on "
            "one half of the twins of a subset and measured on the other, and vice versa. If the "
            "two histograms are the same, a linear model can't predict the answers.",
            axis,
            signature=signature,
        ),
    ]
    null = subsets[0].d1.null if subsets else None
    if null is not None and null.p > 0.05:
        note = (
            f"Along d₁ the answers are no further apart in “{subsets[0].name}” than by chance, so "
            "d₁ can't show the effect of the filter: these embeddings vary most along another "
            "direction. See the answer axis instead."
        )
        blocks.append(report.Text([note], kind="note"))
    return [*blocks, _make_divergence_table(assessment)]


def _make_divergence_table(assessment: Assessment) -> report.Table:
    rows: list[list[report.Value]] = []
    for subset in assessment.subsets:
        for name, found in (("d1", subset.d1), ("answer axis", subset.axis)):
            null = found.null
            against: list[report.Value] = (
                [None, None, None] if null is None else [null.mean, null.high, null.p]
            )
            rows.append([subset.name, subset.rows, name, found.kl, *against])
    return report.Table(
        "KL divergence between the answers",
        ["subset", "problems", "along", "KL (nats)", "null, mean", "chance limit", "p"],
        rows,
        note=f"Null: {assessment.settings.draws} draws with the answers of whole blocks flipped; "
        "KL is above the chance limit exactly if p is at most 0.05. WinoGrande reports 2.53 for "
        "all, 2.51 for random, 2.42 for PMI and 0.12 for AFLite along d1, without a unit.",
    )


def make_clue_table(
    associations: Associations, subsets: Mapping[str, Iterable[int]]
) -> report.Table:
    """Return a table of the clue directions of each subset; see `Associations`."""
    rows: list[list[report.Value]] = []
    for name, chosen in subsets.items():
        leads = associations.count_clue_directions(chosen)
        total = max(leads.problems, 1)
        rows.append([name, leads.problems, leads.toward, leads.toward / total,
                     leads.away, leads.away / total])  # fmt: skip
    share = report.Column("fraction", form=".1%")
    return report.Table(
        "Problems whose words point to an option",
        ["subset", "problems", "to the answer", share, "away from it", share],
        rows,
        note="Each problem is counted by its strongest clue. If words had no influence, about as "
        "many would point away from the answer as to it.",
    )


def make_passages(
    groups: Sequence[Sequence[MarkedProblem]], status: Mapping[int, tuple[str, bool]]
) -> tuple[tuple[report.Passage, ...], ...]:
    """Return marked problems as report passages, with the halves of a twin together.

    Args:
        groups: The problems from `Associations.select_strongest` or `.draw_sample`.
        status: For each row, a status text and whether the problem was kept.
    """
    return tuple(tuple(_make_passage(problem, status) for problem in group) for group in groups)


def _make_passage(problem: MarkedProblem, status: Mapping[int, tuple[str, bool]]) -> report.Passage:
    parts, at = [], 0
    for mark in problem.marks:
        parts.append(report.Part(problem.sentence[at : mark.start]))
        word = problem.sentence[mark.start : mark.end]
        parts.append(report.Part(word, "toward" if mark.toward else "away"))
        at = mark.end
    parts.append(report.Part(problem.sentence[at:]))
    outcome, kept = status.get(problem.row, ("", None))
    clues = []
    for clue in problem.clues:
        place = ", by the order in which the options are mentioned" if clue.kind == "order" else ""
        words = " + ".join(f"“{word}”" for word in clue.words)
        clues.append(
            f"{words} → {problem.options[clue.option]}{place}: correct in {clue.right} of "
            f"{clue.right + clue.wrong} other problems"
        )
    return report.Passage(
        [part for part in parts if part.text],
        problem.options,
        problem.answer,
        outcome,
        kept,
        tuple(clues),
    )
