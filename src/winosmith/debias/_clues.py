"""Which words give an answer away: words that met the right option elsewhere in the data.

AFLite says that a problem is predictable, not why. This looks for the reason in the words. The
*cues* of a problem are its trigger (where the twin is there) and the content words of its local
context, w[t-2:]. A *clue* is a cue together with something that tells the options apart:

- "beside": a content word in the same clause as an option. The polarity pattern of WinoGrande's
  table 2 is one ("loved" stands next to "balls", and the trigger is "exciting");
- "option": the option's own last word ("heavy", and the option is "stone");
- "order": which option is mentioned first, alone ("weak" goes with the first, whatever it is).

In a text without spaces between words, letters and pairs of letters are in the place of words
(`text.units`), and an option is its own last word.

For each clue, the other twins of the data where the same words meet are counted: in R of them
they point to the right option, in W to the wrong one. The problem's own twin and copies of either
half are omitted, so no clue explains a problem by itself. (What only looks alike is counted: that
words come back is what is looked for.) Its strength is that of the sign test,
z = (R − W) / √(R + W), positive where the words point to the option they stand with; |z| ≥ 3 needs
nine other problems at the least. A clue may mislead: what points away from the answer is reported
the same way. On labels that mean nothing there are as many of those as of the others, or a few more
(leaving a problem out of a balanced count tips the count against it).

Clues and an assessment's figures are also blocks of a report.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from winosmith import report, text
from winosmith.blocks import join_blocks, plain
from winosmith.dataset import Dataset
from winosmith.debias._assess import Assessment, Subset
from winosmith.debias._rows import number_rows
from winosmith.errors import DataError
from winosmith.metrics import first_of_twins, null_interval_label
from winosmith.problem import BLANK, Problem
from winosmith.seen import local_only, units_and_blank

Kind = Literal["beside", "option", "order"]

_PLAINEST_FIRST: tuple[Kind, ...] = ("order", "option", "beside")


@dataclass(frozen=True, slots=True)
class Clue:
    """Words of a problem that point to one of its options.

    Attributes:
        kind: "beside", "option" or "order"; see the module.
        words: the cue last; before it the word next to the option, or the option's last word.
        option: the index of the option that it points to.
        toward: whether that is the answer.
        right: other problems where the same words pointed to the right option.
        wrong: other problems where they pointed to the wrong one.
        z: the strength, 0 or more: of the sign test on `right` and `wrong`.
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
    """A word of a sentence, and where it points.

    Attributes:
        start, end: its characters, `sentence[start:end]`.
        toward: whether the strongest clue that it is part of points to the answer.
        z: that clue's strength.
    """

    start: int
    end: int
    toward: bool
    z: float


@dataclass(frozen=True, slots=True)
class MarkedProblem:
    """A problem with its marked words, and the clues that they rest on, strongest first."""

    row: int
    id: str
    sentence: str
    options: tuple[str, ...]
    answer: int
    marks: tuple[Mark, ...]
    clues: tuple[Clue, ...]


@dataclass(frozen=True, slots=True)
class Leads:
    """Where the strongest clue of each problem leads.

    Attributes:
        problems: how many.
        toward: those whose strongest clue points to the answer.
        away: those whose strongest clue points to the other option.
    """

    problems: int
    toward: int
    away: int


_SHOWN = 3
"""Clues shown of one problem; weaker ones only blur the picture."""


@dataclass(frozen=True)
class Associations:
    """The clues of a data set; made by `associations`."""

    dataset: Dataset
    clues: tuple[tuple[Clue, ...], ...]

    def leads(self, rows: Iterable[int]) -> Leads:
        """Count where the strongest clues of these rows lead."""
        first = [self.clues[row][:1] for row in rows]
        toward = sum(clue.toward for clues in first for clue in clues)
        return Leads(len(first), toward, sum(map(len, first)) - toward)

    def strongest(
        self, rows: Collection[int], number: int
    ) -> tuple[tuple[MarkedProblem, ...], ...]:
        """Return the twins among `rows` that their words give away the most.

        The kinds of clue take turns, and no two twins rest on the same words, so that a few show
        what there is. Twins with a half elsewhere, and what is under embargo, are omitted.
        """
        ranked: dict[str, list[tuple[float, int, tuple[int, ...]]]] = {}
        for group in self._whole(rows):
            leading = [self.clues[row][0] for row in group if self.clues[row]]
            pull = sum(clue.z if clue.toward else -clue.z for clue in leading)
            if pull > 0:
                kind = max(leading, key=lambda clue: clue.z).kind
                ranked.setdefault(kind, []).append((-pull, group[0], group))
        waiting = [iter(sorted(ranked[kind])) for kind in sorted(ranked)]
        seen: set[tuple[str, ...]] = set()
        found: list[tuple[int, ...]] = []
        while waiting and len(found) < number:
            turn = waiting.pop(0)
            for _, _, group in turn:
                words = {self.clues[row][0].words for row in group if self.clues[row]}
                if not words & seen:
                    seen |= words
                    found.append(group)
                    waiting.append(turn)
                    break
        return tuple(tuple(map(self.marked, group)) for group in found)

    def drawn(
        self, rows: Collection[int], number: int, *, seed: int = 0
    ) -> tuple[tuple[MarkedProblem, ...], ...]:
        """Return twins among `rows` drawn at random; singles if there are no whole twins."""
        whole = list(self._whole(rows))
        choice = [group for group in whole if len(group) == 2] or whole
        order = np.random.default_rng([seed, 2]).permutation(len(choice))[:number]
        return tuple(tuple(map(self.marked, choice[at])) for at in order)

    def _whole(self, rows: Collection[int]) -> Iterator[tuple[int, ...]]:
        there = frozenset(map(int, rows))
        for group in self.dataset.groups:
            if there.issuperset(group) and not any(self.dataset[row].embargo for row in group):
                yield group

    def marked(self, row: int) -> MarkedProblem:
        """Return one problem with the words of its strongest three clues marked."""
        problem, clues = self.dataset[row], self.clues[row][:_SHOWN]
        pointing: dict[str, Clue] = {}
        for clue in clues:
            for word in clue.words:
                pointing.setdefault(word, clue)
        spans = [
            (*found.span(), clue)
            for word, clue in pointing.items()
            for found in _as_word(word).finditer(problem.sentence)
        ]
        marks: list[Mark] = []
        for start, end, clue in sorted(spans, key=lambda span: span[:2]):
            if not marks or start >= marks[-1].end:
                marks.append(Mark(start, end, clue.toward, clue.z))
        assert problem.answer is not None  # noqa: S101 - find_clues refuses it
        return MarkedProblem(
            row, problem.id, problem.sentence, problem.options, problem.answer, tuple(marks), clues
        )


def associations(dataset: Dataset, *, z: float = 3.0) -> Associations:
    """Find which words give the answers of a data set away.

    What counts as a clue, and as a strong one, is defined at the top of this module: words that
    stood with the right option in other twins, by the sign test at `z` or more.

    Raises:
        DataError: a problem with more than two options, or without its answer.

    >>> from winosmith.problem import Problem
    >>> halves = [
    ...     Problem(f"{n}{t}", f"Stone {n} hit the leaf: _ was {t}.", ("stone", "leaf"), a, str(n))
    ...     for n in range(12)
    ...     for t, a in (("heavy", 0), ("light", 1))
    ... ]
    >>> found = associations(Dataset(halves))
    >>> clue = found.marked(0).clues[0]
    >>> clue.kind, clue.words, clue.right, clue.wrong, clue.toward
    ('order', ('heavy',), 11, 0, True)
    """
    return Associations(dataset, find_clues(dataset, z=z))


def _as_word(word: str) -> re.Pattern[str]:
    """Return a pattern that finds a lower-cased token as a whole word."""
    if text.writing(word) == "unspaced":
        return re.compile(re.escape(word), re.IGNORECASE)
    before = "" if "'" in word else r"(?<!\w)"
    return re.compile(before + re.escape(word) + r"(?!\w)", re.IGNORECASE)


def find_clues(dataset: Dataset, *, z: float = 3.0) -> tuple[tuple[Clue, ...], ...]:
    """Return the clues of each problem with a strength of `z` or more, strongest first.

    Raises:
        DataError: a problem with more than two options, or without its answer.
    """
    for problem in dataset:
        if len(problem.options) != 2 or problem.answer is None:
            raise DataError(
                f"the problem {problem.id!r} has {len(problem.options)} options and the answer "
                f"{problem.answer}; clues need two options and an answer"
            )
    counted = _Counted(dataset)
    strength = counted.strength()
    clues: list[list[tuple[bool, Clue]]] = [[] for _ in dataset]
    for at in np.flatnonzero(np.abs(strength) >= z):
        by_contrast = bool(strength[at] < 0)
        clues[counted.rows[at]].append((by_contrast, counted.clue(int(at), float(strength[at]))))
    return tuple(tuple(clue for _, clue in sorted(found, key=_rank)) for found in clues)


def _rank(found: tuple[bool, Clue]) -> tuple[float, bool, int, tuple[str, ...]]:
    """Rank by strength; of equals, words of the option pointed to come first, and plain kinds."""
    by_contrast, clue = found
    return -clue.z, by_contrast, _PLAINEST_FIRST.index(clue.kind), clue.words


class _Counted:
    """Every (problem, option, words) of a data set, with how the same words fare elsewhere.

    Attributes:
        rows, options: (m,) the problem, and the option that the words stand with.
        right, wrong: (m,) problems of other twins where they go with the right, the wrong option.
        keys: kind and words, by feature number.
        features: (m,) the feature number.
    """

    def __init__(self, dataset: Dataset):
        first = first_of_twins(dataset)
        numbers: dict[tuple[Kind, tuple[str, ...]], int] = {}
        found = [
            (row, option, numbers.setdefault(key, len(numbers)), option == dataset.answers[row])
            for rows in dataset.groups
            for row, reading in zip(rows, _readings(dataset, rows), strict=True)
            for option, key in _features(reading, int(first[row]))
        ]
        table = np.array(found, dtype=np.intp).reshape(-1, 4)
        self.rows, self.options, self.features, holds = table.T
        self.keys = list(numbers)
        self.answers = dataset.answers
        texts = [[plain(problem.sentence)] for problem in dataset]
        own = (
            number_rows(join_blocks(dataset.groups, texts), len(dataset))[self.rows]
            * max(len(self.keys), 1)
            + self.features
        )
        _, own = np.unique(own, return_inverse=True)
        self.right = _elsewhere(self.features, own, holds == 1)
        self.wrong = _elsewhere(self.features, own, holds == 0)

    def strength(self) -> NDArray[np.float64]:
        """Return the signed statistic of the sign test, (m,); 0 if nothing was counted."""
        counted = np.maximum(self.right + self.wrong, 1)
        strength: NDArray[np.float64] = (self.right - self.wrong) / np.sqrt(counted)
        return strength

    def clue(self, at: int, strength: float) -> Clue:
        kind, words = self.keys[self.features[at]]
        option, right, wrong = (int(part[at]) for part in (self.options, self.right, self.wrong))
        if strength < 0:
            option, right, wrong = 1 - option, wrong, right
        toward = option == self.answers[self.rows[at]]
        return Clue(kind, words, option, toward, right, wrong, abs(strength))


def _elsewhere(
    features: NDArray[np.intp], own: NDArray[np.intp], those: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Count the rows of `those` by feature, without those of the same twin and its copies."""
    everywhere = np.bincount(features[those], minlength=int(features.max(initial=0)) + 1)
    here = np.bincount(own[those], minlength=int(own.max(initial=0)) + 1)
    counted: NDArray[np.intp] = everywhere[features] - here[own]
    return counted


def _readings(dataset: Dataset, rows: Sequence[int]) -> Iterator[Reading]:
    """Yield each problem's cues and what stands next to its options; twins show their trigger."""
    for row in rows:
        other = dataset[sum(rows) - row].sentence if len(rows) == 2 else None
        yield read_problem(dataset[row], other)


def _features(reading: Reading, first: int) -> Iterator[tuple[int, tuple[Kind, tuple[str, ...]]]]:
    """Yield the option and the words of each possible clue, once.

    Options with the same last word are not told apart by it, nor by what stands next to it.
    """
    for cue in reading.cues:
        yield first, ("order", (cue,))
        if reading.heads[0] == reading.heads[1]:
            continue
        for option in (0, 1):
            yield option, ("option", (reading.heads[option], cue))
            for word in reading.near[option]:
                if word != cue and word not in reading.near[1 - option]:
                    yield option, ("beside", (word, cue))


_BOUNDARY = frozenset(
    """, ; : . ! ? -- — ， 、 ； ： 。 ！ ？ and but or so because since although though while
    whereas as if when unless until yet""".split()
)
"""Tokens that end a clause, near enough without a parser."""


LETTERS = 8
"""Units before the blank that belong to the local context of a text without spaces: letters and
pairs of letters of about two words."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The words of a problem with two options, in lower case, each list without repeats.

    Attributes:
        cues: the trigger where the twin is known, and the content words of the local context.
        heads: the last word of each option.
        near: for each option, the content words of the clauses that mention it.
    """

    cues: tuple[str, ...]
    heads: tuple[str, str]
    near: tuple[tuple[str, ...], tuple[str, ...]]


def read_problem(problem: Problem, other: str | None = None) -> Reading:
    """Return the cues and contexts of a problem; `other` is the sentence of its other half.

    In "The monkey loved the balls but ignored the blocks because …", "loved" stands next to the
    balls and "ignored" next to the blocks. Where one clause mentions both options, the words after
    a mention, up to the next, stand next to it. The clause of the blank is omitted: its words are
    cues.
    """
    unspaced = text.writing(problem.sentence) == "unspaced"
    options = [[option.lower()] if unspaced else text.units(option) for option in problem.options]
    heads = tuple(_last_word(option) for option in options)
    tokens, blank = units_and_blank(problem)
    if unspaced:
        cues = list(filter(text.is_content, tokens[max(0, (blank or 0) - LETTERS) :]))
    else:
        asked = problem if blank is None else local_only(problem, 2)
        cues = text.content_words(asked.sentence)
    if other is not None:
        theirs = text.units(other, problem.options)
        cues = [t for t in text.trigger(tokens, theirs)[0] if _is_word(t)] + cues
    own = {token for option in options for token in option}
    return Reading(
        _once([cue for cue in cues if cue not in own]),
        (heads[0], heads[1]),
        _near(tokens, (heads[0], heads[1]), own),
    )


def _near(
    tokens: Sequence[str], heads: tuple[str, str], own: set[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found: tuple[list[str], list[str]] = ([], [])
    for clause in _clauses(tokens):
        if BLANK in clause:
            continue
        mentioned = {head for head in heads if head in clause}
        current = heads.index(mentioned.pop()) if len(mentioned) == 1 else None
        for token in clause:
            if token in heads:
                current = heads.index(token)
            elif current is not None and token not in own and text.is_content(token):
                found[current].append(token)
    return _once(found[0]), _once(found[1])


def _clauses(tokens: Sequence[str]) -> list[list[str]]:
    clauses: list[list[str]] = [[]]
    for token in tokens:
        if token in _BOUNDARY:
            clauses.append([])
        else:
            clauses[-1].append(token)
    return clauses


def _last_word(option: Sequence[str]) -> str:
    return next((token for token in reversed(option) if _is_word(token)), "")


def _is_word(token: str) -> bool:
    return any(map(str.isalnum, token))


def _once(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


def assessment_blocks(
    assessment: Assessment, signature: report.Signature | str = ""
) -> list[report.Block]:
    """Return the drawings of an assessment, after the paper's figure 1, and its table."""
    subsets, settings = assessment.subsets, assessment.settings
    width = settings.bin_width
    bins = f"{settings.bins} bins" if width is None else f"bins {width:g} wide"
    ways = ", each problem in both orders of its options" if assessment.turns else ""
    fitted = "once, on all problems" if settings.fit == "all" else "on each subset separately"
    clouds, first, axis = assessment.panels()
    return [
        report.Drawing(
            "The first two principal components of the embeddings, by answer. The PCA was fitted "
            f"{fitted}; at most {settings.points:,} problems of a subset are drawn.",
            clouds,
            signature=signature,
        ),
        report.Drawing(
            f"The first component, d₁, by answer, in {bins}{ways}. Over each panel stands the KL "
            "divergence between the answers, and in brackets what noise gives: its mean, and "
            f"{null_interval_label(settings.draws)} in which the answers of whole blocks (twins, "
            "copies, look-alikes) are flipped at random.",
            first,
            signature=signature,
        ),
        report.Drawing(
            "The answer axis: the direction along which the answers lie furthest apart, fitted on "
            "one half of the twins of a subset and read on the other, and the other way around. "
            "Where the two histograms cover each other, a linear model learns nothing.",
            axis,
            signature=signature,
        ),
        *_caution(subsets),
        _table(assessment),
    ]


def _caution(subsets: Sequence[Subset]) -> list[report.Block]:
    """Say so where d1 shows nothing in the first subset, which is what the filter began with."""
    null = subsets[0].d1.null if subsets else None
    if null is None or null.p <= 0.05:
        return []
    return [
        report.Text(
            [
                f"Along d₁ the answers lie no further apart in “{subsets[0].name}” than noise puts "
                "them, so d₁ can't show what the filter did: these embeddings vary most along "
                "something else than the answer. Read the answer axis instead."
            ],
            kind="note",
        )
    ]


def _table(assessment: Assessment) -> report.Table:
    rows: list[list[report.Value]] = []
    for subset in assessment.subsets:
        for name, found in (("d1", subset.d1), ("answer axis", subset.axis)):
            null = found.null
            against: list[report.Value] = (
                [None, None, None]
                if null is None
                else [null.mean, f"{null.low:.3f}–{null.high:.3f}", null.p]
            )
            rows.append([subset.name, subset.rows, name, found.kl, *against])
    label = null_interval_label(assessment.settings.draws)
    interval = report.Column(label, numeric=True)
    return report.Table(
        "KL divergence between the answers",
        ["subset", "problems", "along", "KL (nats)", "null, mean", interval, "p"],
        rows,
        note=f"Null: {assessment.settings.draws} draws with the answers of whole blocks flipped; "
        "p is one-sided. WinoGrande's own figures along d1, in units it does not state, are 2.53 "
        "for all, 2.51 for random, 2.42 for PMI and 0.12 for AFLite.",
    )


def leads_table(
    found: Associations, subsets: Mapping[str, Iterable[int]], *, caption: str = ""
) -> report.Table:
    """Return how many problems of each subset have words that lead to the answer, or away."""
    rows: list[list[report.Value]] = []
    for name, chosen in subsets.items():
        leads = found.leads(chosen)
        of = max(leads.problems, 1)
        rows.append([name, leads.problems, leads.toward, leads.toward / of,
                     leads.away, leads.away / of])  # fmt: skip
    share = report.Column("of them", form=".1%")
    return report.Table(
        caption or "Problems whose words lead to an option",
        ["subset", "problems", "to the answer", share, "away from it", share],
        rows,
        note="By the strongest clue of each problem. Where words mean nothing, as many lead away "
        "as lead to the answer.",
    )


def passages(
    groups: Sequence[Sequence[MarkedProblem]], status: Mapping[int, tuple[str, bool]]
) -> tuple[tuple[report.Passage, ...], ...]:
    """Return marked problems as passages of a report, twins together.

    Args:
        groups: from `Associations.strongest` or `.drawn`.
        status: row → what became of the problem, and whether it was kept.
    """
    return tuple(tuple(_passage(problem, status) for problem in group) for group in groups)


def _passage(problem: MarkedProblem, status: Mapping[int, tuple[str, bool]]) -> report.Passage:
    parts, at = [], 0
    for mark in problem.marks:
        parts.append(report.Part(problem.sentence[at : mark.start]))
        word = problem.sentence[mark.start : mark.end]
        parts.append(report.Part(word, "toward" if mark.toward else "away"))
        at = mark.end
    parts.append(report.Part(problem.sentence[at:]))
    outcome, kept = status.get(problem.row, ("", None))
    return report.Passage(
        [part for part in parts if part.text],
        problem.options,
        problem.answer,
        outcome,
        kept,
        tuple(_clue(clue, problem) for clue in problem.clues),
    )


def _clue(clue: Clue, problem: MarkedProblem) -> str:
    place = ", by the order of the mentions" if clue.kind == "order" else ""
    option = problem.options[clue.option] + place
    words = " + ".join(f"“{word}”" for word in clue.words)
    return f"{words} → {option}: right in {clue.right} of {clue.right + clue.wrong} other problems"
