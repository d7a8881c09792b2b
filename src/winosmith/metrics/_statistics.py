"""Statistics of a data set: counts, lineages and faults.

The statistics are compared with table 5 of WinoGrande (2020), both as printed and as recomputed
from the published files. The table does not state how tokens were counted. The counting methods
here reproduce its numbers from the published files as closely as possible
(`tests/metrics/test_table5.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from winosmith import blocks, formats, published, text
from winosmith.dataset import Dataset
from winosmith.lineage import UNVALIDATED, Depths, depths
from winosmith.metrics._leaks import Leak, find_leaks
from winosmith.problem import Claim, Problem
from winosmith.report import Signature, join_names, signature_of
from winosmith.results import Result, computed, shown

MAX_EXAMPLES = 5
"""Maximum number of examples of each fault in the record of `Statistics`."""


def _summarize_faults(faults: Sequence[str]) -> dict[str, Any]:
    return {"count": len(faults), "examples": list(faults[:MAX_EXAMPLES])}


@dataclass(frozen=True, slots=True)
class Statistics(Result):
    """The statistics of a data set.

    Attributes:
        problems: The number of problems.
        average_length: The mean number of Penn Treebank tokens per sentence, including the blank;
            for a data set in table 5, tokens are counted as in the table. The mean is 0 if there
            are no problems, and None if no sentence has spaces between words.
        vocabulary: The number of distinct lower-cased tokens; None if no sentence has such spaces.
        without_spaces: The number of problems without spaces between words, whose tokens are not
            counted.
        comparisons: The number of comparisons of the correct option with an incorrect one.
        table5: The row of WinoGrande's table 5 for this data set, with the counting method, or
            None.
        twins: The number of whole twins, each of two problems.
        singles: The number of problems that are not half of a twin.
        answers: The number of problems whose answer is the first option, the second, and so on.
        withheld: The number of problems without an answer.
        options: The number of problems by number of options.
        questions: The number of problems without a blank.
        copies: Identical and contradictory problems, and twin ids that more than two problems
            share.
        missing_options: The ids of problems with an option that is not in the sentence, ignoring
            case; questions are omitted, because their options need not occur in the text.
        associative: The number of problems that are labelled as answerable by word association, and
            the number that are labelled at all (by an extra key that ends in ".associative"). In
            WSC273, these are 37 of 273 (Trichelair et al. 2018; 13.55 %, printed as 13.5).
        leaks: The fields that reveal the answer (`find_leaks`); None if too few answers are known.
        signature: The signature of the data.
    """

    problems: int
    average_length: float | None
    vocabulary: int | None
    without_spaces: int
    comparisons: int
    table5: Table5Row | None
    twins: int
    singles: int
    answers: tuple[int, ...]
    withheld: int
    options: Mapping[int, int]
    questions: int
    copies: Copies = field(metadata={"json": "flat"})
    missing_options: tuple[str, ...] = field(metadata={"json": _summarize_faults})
    associative: tuple[int, int] = field(
        metadata={"json": lambda counts: dict(zip(("marked", "labelled"), counts, strict=True))}
    )
    leaks: tuple[Leak, ...] | None
    signature: Signature

    @property
    @computed()
    def missing_share(self) -> float:
        """The fraction of problems with a blank in which an option is not in the sentence."""
        return len(self.missing_options) / max(1, self.problems - self.questions)


@dataclass(frozen=True, slots=True)
class ClaimStatistics(Result):
    """The statistics of a file of true-or-false claims.

    Attributes:
        claims: The number of claims.
        true, false, withheld: The numbers of true, false and withheld claims.
        average_length, vocabulary, without_spaces, table5: As in `Statistics`; a text is counted
            once for each claim about it.
    """

    claims: int
    true: int
    false: int
    withheld: int
    average_length: float | None
    vocabulary: int | None
    without_spaces: int
    table5: Table5Row | None


def compute_claim_statistics(claims: Sequence[Claim]) -> ClaimStatistics:
    """Compute the statistics of claims.

    >>> claim = Claim("1", "The cup hit the jug and _ broke.", "the jug", True)
    >>> found = compute_claim_statistics([claim])
    >>> found.true, found.false, found.average_length
    (1, 0, 9.0)
    """
    texts = Dataset(
        Problem(f"{row}", claim.sentence, ("yes", "no")) for row, claim in enumerate(claims)
    )
    counts = Counter(claim.holds for claim in claims)
    return ClaimStatistics(
        len(claims),
        counts[True],
        counts[False],
        counts[None],
        **_count_tokens(texts, None),
        table5=find_table5_row(published.recognise_dataset(texts), len(claims)),
    )


def compute_statistics(dataset: Dataset | formats.Readable, seed: int = 0) -> Statistics:
    """Compute the statistics of a data set, and find its faults.

    Args:
        dataset: The problems, as a data set or any input of `formats.read`.
        seed: The random seed for the folds on which leaks are tested.

    >>> from winosmith import Problem
    >>> cup = Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)
    >>> found = compute_statistics(Dataset([cup]))
    >>> found.average_length, found.vocabulary, found.answers
    (10.0, 8, (0, 1))
    """
    dataset = formats.as_dataset(dataset)
    name = published.recognise_dataset(dataset)
    comparisons = sum(len(problem.options) - 1 for problem in dataset)
    labels = [
        bool(value)
        for problem in dataset
        for key, value in problem.extra.items()
        if key.endswith(".associative") and value is not None
    ]
    missing = []
    for problem in dataset:
        if problem.blank is not None:
            sentence = problem.sentence.casefold()
            if any(option.strip().casefold() not in sentence for option in problem.options):
                missing.append(problem.id)
    answered = Counter(answer for answer in dataset.answers if answer is not None)
    most = max((len(problem.options) for problem in dataset), default=0)
    return Statistics(
        problems=len(dataset),
        **_count_tokens(dataset, name),
        comparisons=comparisons,
        table5=find_table5_row(name, comparisons if name == "PDP" else len(dataset)),
        twins=len(dataset.twins),
        singles=len(dataset.singles),
        answers=tuple(answered[index] for index in range(most)),
        withheld=len(dataset) - answered.total(),
        options=dict(sorted(Counter(len(problem.options) for problem in dataset).items())),
        questions=sum(p.blank is None for p in dataset),
        copies=find_copies(dataset),
        missing_options=tuple(missing),
        associative=(sum(labels), len(labels)),
        leaks=find_leaks(dataset, seed),
        signature=signature_of(dataset, seed),
    )


MAX_LISTED = 3
"""Maximum number of id groups to list."""

Groups = tuple[tuple[str, ...], ...]
"""Groups of problem ids."""


def _summarize_groups(groups: Groups) -> dict[str, Any]:
    sizes = {"count": len(groups), "problems": sum(map(len, groups))}
    return {**sizes, "examples": groups[:MAX_LISTED]}


@dataclass(frozen=True, slots=True)
class Copies(Result):
    """Identical problems, and twin ids that more than two problems share.

    Attributes:
        groups: The ids of identical problems, by group; see `winosmith.blocks.find_copies`.
        contradictions: The groups of identical problems with different answers.
        crowded: The ids of problems that share a twin id with two or more others. It is unknown
            which two of these problems form a twin, so each is counted as a single.
    """

    groups: Groups = field(default=(), metadata={"key": "copies", "json": _summarize_groups})
    contradictions: Groups = field(default=(), metadata={"json": _summarize_groups})
    crowded: Groups = field(default=(), metadata={"json": _summarize_groups})

    def sentences(self) -> list[str]:
        """Return sentences about the copies with the first few ids, if there are any.

        >>> print(*Copies(contradictions=(("a", "b"),)).sentences())
        1 group of identical problems with different answers: a and b. Correct or remove it.
        """
        lines = []
        if self.groups:
            lines.append(
                f"{_count_groups(self.groups)} of identical problems, "
                f"{sum(map(len, self.groups)):,} problems in all: "
                f"{_list_groups(self.groups)}. Each is one observation; "
                "a build keeps only one of them."
            )
        if self.contradictions:
            these = "it" if len(self.contradictions) == 1 else "them"
            lines.append(
                f"{_count_groups(self.contradictions)} of identical problems with different "
                f"answers: {_list_groups(self.contradictions)}. Correct or remove {these}."
            )
        if self.crowded:
            ids = (
                "1 twin id is" if len(self.crowded) == 1 else f"{len(self.crowded):,} twin ids are"
            )
            lines.append(
                f"{ids} shared by three problems or more: {_list_groups(self.crowded)}. A twin has "
                "two problems; give each twin its own id."
            )
        return lines


def find_copies(dataset: Dataset) -> Copies:
    """Find identical problems and contradictions in a data set.

    >>> from winosmith import Problem
    >>> cup = [Problem(id_, "The cup hit the jug and _ fell.", ("cup", "jug"), 0) for id_ in "ab"]
    >>> find_copies(Dataset(cup)).groups
    (('a', 'b'),)
    """
    same = blocks.find_copies(dataset)
    against = blocks.find_contradictions(dataset, same)
    crowded = [rows for rows in dataset.groups if len(rows) > 2]
    found = (same, against, crowded)
    ids = (tuple(tuple(dataset[row].id for row in rows) for rows in groups) for groups in found)
    return Copies(*ids)


def _count_groups(groups: Groups) -> str:
    return "1 group" if len(groups) == 1 else f"{len(groups):,} groups"


def _list_groups(groups: Groups) -> str:
    listed = "; ".join(map(join_names, groups[:MAX_LISTED]))
    return listed + ("; …" if len(groups) > MAX_LISTED else "")


@dataclass(frozen=True, slots=True)
class DepthSummary(Result):
    """A summary of one kind of depth over the perturbed problems.

    Attributes:
        known: The number of problems whose depth is known.
        mean: The mean depth; None if no depth is known.
        greatest: The maximum depth; None if no depth is known.
        equal: The number of problems whose depth of this kind equals their edit depth.
    """

    known: int = field(metadata=shown("known"))
    mean: float | None = field(metadata=shown("mean"))
    greatest: int | None = field(metadata=shown("greatest"))
    equal: int = field(metadata=shown("as edit depth"))


@dataclass(frozen=True)
class LineageStatistics(Result):
    """Statistics of the families in a data set.

    Attributes:
        families: The number of families with a perturbed problem.
        perturbed: The number of problems with a lineage.
        unvalidated: The number of generated problems that have not yet been judged by people.
        largest: The number of problems in the largest family, including its root if present.
        depths: The summaries of "declared", "lineage" and "edit" depths of the perturbed problems.
        example: The id of the problem whose depths differ most; None if no depths differ.
        example_depths: The depths of the example, by kind; empty if there is no example.
    """

    families: int
    perturbed: int
    unvalidated: int
    largest: int
    depths: dict[str, DepthSummary]
    example: str | None
    example_depths: dict[str, int | None]


def compute_lineage_statistics(dataset: Dataset) -> LineageStatistics | None:
    """Count families and compare the kinds of depth; return None if no problem is perturbed.

    >>> from winosmith.testing import make_families
    >>> found = compute_lineage_statistics(make_families([1, 4], [2]))
    >>> found.families, found.perturbed, found.depths["edit"].greatest, found.example
    (2, 3, 4, None)
    """
    rows = [row for row, problem in enumerate(dataset) if problem.lineage]
    if not rows:
        return None
    every = depths(dataset)
    of = [every[row] for row in rows]
    example = max(rows, key=lambda row: _compute_depth_range(every[row]))
    differs = _compute_depth_range(every[example]) > 0
    roots = {problem.lineage.root for problem in dataset if problem.lineage}
    summaries = {}
    for name in Depths._fields:
        known = [depth for one in of if (depth := getattr(one, name)) is not None]
        mean = sum(known) / len(known) if known else None
        equal = sum(one.edit is not None and getattr(one, name) == one.edit for one in of)
        summaries[name] = DepthSummary(len(known), mean, max(known, default=None), equal)
    return LineageStatistics(
        len(roots),
        len(rows),
        sum(bool(dataset[row].extra.get(UNVALIDATED)) for row in rows),
        max(len(dataset.families[root]) for root in roots),
        summaries,
        dataset[example].id if differs else None,
        every[example]._asdict() if differs else {},
    )


def _compute_depth_range(problem_depths: Depths) -> int:
    known = [depth for depth in problem_depths if depth is not None]
    return max(known) - min(known) if known else 0


@dataclass(frozen=True, slots=True)
class Sizes(Result):
    """The sizes in a row of table 5: problems, average tokens per text, and vocabulary."""

    problems: int
    length: float
    vocabulary: int

    def __str__(self) -> str:
        return f"{self.problems:,} problems, {self.length} tokens, vocabulary {self.vocabulary:,}"


@dataclass(frozen=True, slots=True)
class Table5Row(Result):
    """A row of WinoGrande's table 5.

    Attributes:
        set: The name of the data set.
        printed: The numbers in the paper.
        published_files: The numbers from the published files, counted according to `reading`.
        reading: The counting method.
        why: The reason for a difference between `printed` and `published_files`.
        whole: Whether the data set has as many problems as the row.
    """

    set: str
    printed: Sizes
    published_files: Sizes
    reading: str
    why: str = ""
    whole: bool = True

    def __str__(self) -> str:
        """Return one or two sentences about the row.

        >>> str(replace(ROWS[3], whole=False)).partition(". ")[2]
        'Its row describes a different selection: 1,886 problems, 15.9 tokens, vocabulary 4,127.'
        """
        whose = "It prints" if self.whole else "Its row describes a different selection:"
        counting = (
            f"Counted as table 5 of WinoGrande counts {self.set} ({self.reading}). {whose} "
            f"{self.printed}"
        )
        if self.published_files == self.printed:
            return f"{counting}."
        return f"{counting}; the published files give {self.published_files}: {self.why}."


_BLANK_COUNTED = "each sentence, the blank counted as a token"

ROWS = (
    Table5Row(
        "WSC",
        Sizes(273, 19.1, 919),
        Sizes(273, 19.1, 918),
        _BLANK_COUNTED,
        "opening and closing quotation marks as two tokens make 919; these are the first 273 "
        "schemas with the option's article in the sentence, as wsc-273.jsonl has them",
    ),
    Table5Row(
        "PDP",
        Sizes(80, 39.5, 594),
        Sizes(80, 39.4, 593),
        "a question once for each comparison of the correct option with another option",
        "the tokeniser is not stated",
    ),
    Table5Row(
        "SuperGLUE-WSC",
        Sizes(804, 28.4, 1711),
        Sizes(804, 28.4, 1711),
        "a text once for each claim about it, the blank counted as a token",
    ),
    Table5Row("DPR", Sizes(1886, 15.9, 4127), Sizes(1886, 15.9, 4127), _BLANK_COUNTED),
    Table5Row(
        "KnowRef",
        Sizes(1269, 19.3, 5310),
        Sizes(1267, 19.3, 5307),
        _BLANK_COUNTED,
        "two records of the file are not problems",
    ),
    Table5Row(
        "COPA",
        Sizes(1000, 13.3, 3369),
        Sizes(1000, 13.3, 3370),
        "the premise with the correct alternative; the vocabulary of the premises and both",
        "the words that join them, 'because' and 'so', are our choice",
    ),
    Table5Row(
        "Winogender",
        Sizes(720, 15.6, 523),
        Sizes(720, 15.6, 523),
        "each sentence with its pronoun in place of the blank",
    ),
    Table5Row(
        "WinoGrande",
        Sizes(12282, 21.1, 11408),
        Sizes(12282, 21.1, 11419),
        f"debiased, dev and test: {_BLANK_COUNTED}",
        "the tokeniser is not stated",
    ),
    Table5Row(
        "WinoGrande",
        Sizes(43972, 20.6, 16469),
        Sizes(43432, 20.6, 16433),
        f"all: {_BLANK_COUNTED}",
        "the released training set has 40,398 problems, not 40,938",
    ),
)
"""The rows of table 5; `set` is the name in `winosmith.published`."""


def find_table5_row(name: str | None, problem_count: int) -> Table5Row | None:
    """Return a data set's row in WinoGrande's table 5; None if the table does not contain the set.

    `name` is a result of `winosmith.published.recognise_dataset`. `problem_count` is the number of
    problems, claims or comparisons, depending on the row.
    """
    rows = [row for row in ROWS if row.set == name]
    whole = (row for row in rows if row.published_files.problems == problem_count)
    return next(whole, None) or (replace(rows[0], whole=False) if rows else None)


def _count_tokens(dataset: Dataset, name: str | None) -> dict[str, Any]:
    """Count the problems' tokens, as in table 5 if the table contains the data set `name`.

    Returns the fields `average_length`, `vocabulary` and `without_spaces` of `Statistics`.
    """
    known = [p for p in dataset if text.detect_script(p.sentence) != "unspaced"]
    without = len(dataset) - len(known)
    total, texts, words = 0.0, 0, set[str]()
    for problem in known:
        shown = problem.sentence
        if name == "Winogender" and problem.pronoun:
            shown = problem.replace_blank(problem.pronoun)
        long = whole = [shown]  # the texts whose tokens are averaged, and those of the vocabulary
        if name == "COPA":
            whole = list(problem.fill_all())
            long = whole if problem.answer is None else [whole[problem.answer]]
        weight = len(problem.options) - 1 if name == "PDP" else 1
        cut = {one: text.tokenize(one) for one in {*long, *whole}}
        total += weight * sum(len(cut[one]) for one in long) / len(long)
        texts += weight
        words.update(token.lower() for one in whole for token in cut[one])
    is_counted = bool(known) or not without
    return {
        "average_length": total / max(texts, 1) if is_counted else None,
        "vocabulary": len(words) if is_counted else None,
        "without_spaces": without,
    }
