"""Compare the user's results with WinoGrande's tables 3, 4, 6 and 7 and EvoGrad's table 4."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from importlib import resources
from typing import Any

from winosmith.metrics import Proportion, find_possible_counts, find_possible_sums
from winosmith.report import Column, Section, Table, Text, percent, percent_span, points, to_fixed
from winosmith.results import Result, make_table, shown
from winosmith.study._transfer import TARGETS, TransferResult

CELL_SIZE = 120
"""Number of sentences from which each cell of table 7 was computed."""


@dataclass(frozen=True)
class PublishedAccuracy:
    """An accuracy printed in a paper.

    Attributes:
        table: number of the table in WinoGrande (AAAI 2020); 0 for the text of section 1.
        data: name of the data set: "wsc", "pdp", "superglue-wsc", "dpr", "knowref", "copa",
            "winogender", "winogrande-dev", "winogrande-test".
        system: the solver and its source.
        printed: the percentage as printed.
        marks: "*" zero-shot, "-ft" fine-tuned on the target, "†" other data, "‡" not reproduced.
        own: whether WinoGrande's authors measured it.
        n: possible numbers of questions; empty for a mean over people, and for other data.
    """

    table: int
    data: str
    system: str
    printed: str
    marks: tuple[str, ...] = ()
    own: bool = False
    n: tuple[int, ...] = ()

    @property
    def accuracy(self) -> float:
        """The printed accuracy, 0–1."""
        return float(Decimal(self.printed) / 100)

    @property
    def name(self) -> str:
        """The system with its marks, as in the printed tables: "RoBERTa-DPR *"."""
        after = "-ft" * ("-ft" in self.marks)
        other = "".join(mark for mark in self.marks if mark != "-ft")
        return f"{self.system}{after} {other}".rstrip()

    @property
    def is_impossible(self) -> bool:
        """Whether the percentage can't be a rounded fraction of any number of questions in `n`."""
        return bool(self.n) and not any(find_possible_counts(self.printed, n) for n in self.n)

    @property
    def count_note(self) -> str:
        """A note on the possible counts, if `n` has an impossible number or several numbers.

        >>> [found.count_note for found in get_published(6, "pdp") if found.system == "RoBERTa-DPR"]
        ['86.3 is impossible for 60 questions; 69 of 80 is possible']
        >>> [found.count_note for found in get_published(6, "wsc") if found.printed in ("83.1", "96.5")]
        ['83.1 is impossible for 273 questions; 227 are 83.15', '96.5 is impossible for 273 questions']
        >>> get_published(0, "winogender")[0].count_note
        '97.1 is 699 of 720 or 466 of 480'
        """  # noqa: E501
        counts = {n: find_possible_counts(self.printed, n) for n in self.n}
        ruled_out = [n for n, found in counts.items() if not found]
        if not ruled_out:
            shares = (f"{found[0]} of {n}" for n, found in counts.items())
            return f"{self.printed} is {' or '.join(shares)}" if len(counts) > 1 else ""
        said = [f"{self.printed} is impossible for {' or '.join(map(str, ruled_out))} questions"]
        for n in self.n:
            found = counts[n] or find_possible_counts(self.printed, n, rounding="any")
            if counts[n]:
                said.append(f"{' or '.join(map(str, found))} of {n} is possible")
            elif found:
                said.append(f"{found[0]} are {to_fixed(100 * found[0] / n, '.2f')}")
        return "; ".join(said)


@dataclass(frozen=True)
class PublishedGender:
    """A system in WinoGrande's table 7, with its Winogender accuracies (female, male) in percent.

    Attributes:
        plain: accuracies without the gotcha, as printed.
        gotcha: accuracies with the gotcha, as printed.
        gap: |ΔF| and |ΔM| as printed.
        own: whether WinoGrande's authors measured it.
    """

    system: str
    plain: tuple[str, str]
    gotcha: tuple[str, str]
    gap: tuple[str, str]
    own: bool = False

    @property
    def signed_gaps(self) -> tuple[float, float]:
        """The signed ΔF and ΔM, in percent, from the unrounded counts out of 120.

        >>> [round(gap, 1) for gap in PUBLISHED_GENDER[2].signed_gaps]  # prints 14.1 and 2.5
        [14.2, 2.5]
        """
        pairs = zip(self.plain, self.gotcha, strict=True)
        counts = [
            [find_possible_counts(printed, CELL_SIZE)[0] for printed in pair] for pair in pairs
        ]
        female, male = (100 * (plain - gotcha) / CELL_SIZE for plain, gotcha in counts)
        return female, male


@dataclass(frozen=True)
class PublishedStability:
    """A cell of EvoGrad's table 4.

    Attributes:
        trained: the training data, as printed; for GPT models, the few-shot examples.
        data: "winogrande-dev", "evograd-m-val" or "evograd-l-val".
        accuracy: accuracy in percent, as printed; empty if the table has a dash, because the
            training set may contain the test's roots.
        depth: the mean error depth, as printed; empty for WinoGrande.
    """

    system: str
    trained: str
    data: str
    n: int
    accuracy: str = ""
    depth: str = ""

    @property
    def error_counts(self) -> tuple[int, ...]:
        """The numbers of errors that are consistent with the printed accuracy."""
        if not self.accuracy:
            return ()
        return tuple(self.n - right for right in find_possible_counts(self.accuracy, self.n))

    @property
    def depth_sums(self) -> tuple[int, ...]:
        """The sums of the errors' depths that are consistent with the mean depth.

        >>> [(r.error_counts, r.depth_sums) for r in PUBLISHED_STABILITY if r.system == "BERT"][:2]
        [((80,), (553,)), ((237,), ())]
        """
        return tuple(
            total
            for count in self.error_counts
            if self.depth
            for total in find_possible_sums(self.depth, count)
        )


def get_published(
    table: int | None = None, data: str | None = None
) -> tuple[PublishedAccuracy, ...]:
    """Return the printed accuracies of a table, a data set, or both, in printed order.

    >>> [found.name for found in get_published(6, "dpr") if found.own][:2]
    ['BERT-WinoGrande *', 'RoBERTa-ft']
    """
    return tuple(
        found for found in PUBLISHED if table in (None, found.table) and data in (None, found.data)
    )


_TABLES: dict[str, list[dict[str, Any]]] = {
    name: [
        {key: tuple(cell) if isinstance(cell, list) else cell for key, cell in row.items()}
        for row in rows
    ]
    for name, rows in tomllib.loads(
        resources.files(__package__).joinpath("published.toml").read_text("utf-8")
    ).items()
}

PUBLISHED = tuple(PublishedAccuracy(**row) for row in _TABLES["row"])
PUBLISHED_GENDER = tuple(PublishedGender(**row) for row in _TABLES["gender"])
PUBLISHED_STABILITY = tuple(PublishedStability(**row) for row in _TABLES["stability"])
"""The accuracies of WinoGrande's tables 3, 4 and 6 and of section 1 on Winogender; its table 7;
and EvoGrad's table 4."""


EVOGRAD_TABLE = 4
"""The table of EvoGrad (2024) with its models on WinoGrande's dev set."""


@dataclass(frozen=True)
class AccuracyLine(Result):
    """The accuracy of a system on a data set.

    Attributes:
        accuracy: accuracy, 0–1.
        printed: the percentage as printed; empty for the user's system.
        table: number of the table that prints this accuracy; None for the user's system.
        user_accuracy: the user's accuracy with its interval; None for a printed accuracy.
        is_impossible: see `PublishedAccuracy.is_impossible`.
        counts: see `PublishedAccuracy.count_note`.
    """

    system: str
    accuracy: float
    printed: str = ""
    table: int | None = None
    user_accuracy: Proportion | None = field(default=None, metadata={"key": "own"})
    is_impossible: bool = field(default=False, metadata={"key": "impossible"})
    counts: str = ""


def make_accuracy_lines(
    results: Mapping[str, Sequence[TransferResult]],
) -> dict[str, list[AccuracyLine]]:
    """Return all systems, sorted by accuracy, for each data set that the user's systems solved.

    Printed systems are from WinoGrande's section 1 and tables 3 and 6, and EvoGrad's table 4.

    Args:
        results: results of each of the user's systems, by the system's name.
    """
    lines: dict[str, list[AccuracyLine]] = {}
    for name in TARGETS:
        mine = []
        for system, own in results.items():
            accuracies = [solved.comparable_accuracy for solved in own if solved.data == name]
            mine += [AccuracyLine(system, one.value, user_accuracy=one) for one in accuracies]
        if mine:
            printed = [
                AccuracyLine(
                    row.name,
                    row.accuracy,
                    row.printed,
                    row.table,
                    is_impossible=row.is_impossible,
                    counts=row.count_note,
                )
                for row in get_published(data=name)
                if row.table in (0, 3, 6)
            ]
            printed += [
                AccuracyLine(
                    f"{row.system}, {row.trained} (EvoGrad)",
                    float(row.accuracy) / 100,
                    row.accuracy,
                    EVOGRAD_TABLE,
                    is_impossible=not row.error_counts,
                )
                for row in PUBLISHED_STABILITY
                if row.data == name and row.accuracy
            ]
            lines[name] = sorted([*printed, *mine], key=lambda line: line.accuracy)
    return lines


def _show_pair(
    first: str, second: str, scale: float, form: Callable[[float], str]
) -> dict[str, Any]:
    return shown(
        first, lambda pair: form(scale * pair[0]), (second, lambda pair: form(scale * pair[1]))
    )


@dataclass(frozen=True)
class GenderLine(Result):
    """A row of WinoGrande's table 7 (gender gap), in percent.

    Attributes:
        plain: female and male accuracy without the gotcha.
        gotcha: female and male accuracy with the gotcha.
        gaps: ΔF and ΔM from the counts, with their signs.
        printed: |ΔF| and |ΔM| as printed; empty for the user's systems.
    """

    system: str = field(metadata=shown("system"))
    plain: tuple[float, float] = field(metadata=_show_pair("F", "M", 1, to_fixed))
    gotcha: tuple[float, float] = field(metadata=_show_pair("F, gotcha", "M, gotcha", 1, to_fixed))
    gaps: tuple[float, float] = field(metadata=_show_pair("ΔF", "ΔM", 0.01, points))
    printed: tuple[str, ...] = field(
        default=(),
        metadata=shown("|ΔF|, |ΔM| printed", lambda printed: ", ".join(printed) or "—"),
    )


def make_gender_lines(results: Mapping[str, Sequence[TransferResult]]) -> list[GenderLine]:
    """Return WinoGrande's table 7 with the user's systems, or [] if none has a gender gap."""
    gaps = [(system, solved.gap) for system, own in results.items() for solved in own]
    mine = [
        GenderLine(
            system,
            (100 * gap.female.plain.value, 100 * gap.male.plain.value),
            (100 * gap.female.gotcha.value, 100 * gap.male.gotcha.value),
            (100 * gap.female.value, 100 * gap.male.value),
        )
        for system, gap in gaps
        if gap is not None
    ]
    if not mine:
        return []
    printed = [
        GenderLine(
            row.system,
            (float(row.plain[0]), float(row.plain[1])),
            (float(row.gotcha[0]), float(row.gotcha[1])),
            row.signed_gaps,
            row.gap,
        )
        for row in PUBLISHED_GENDER
    ]
    return [*printed, *mine]


MARKS = (
    "* zero-shot; -ft fine-tuned on the target's train and dev, after X for RoBERTa-X; † evaluated "
    "on other data; ‡ not reproduced with SuperGLUE's leaderboard"
)
"""Explanation of the symbols in the tables."""


def make_transfer_sections(
    results: Mapping[str, Sequence[TransferResult]], withheld: Sequence[str] = ()
) -> list[Section]:
    """Return the report's sections: a table per data set, table 7, and impossible printed numbers.

    Args:
        results: results of each of the user's systems, by the system's name.
        withheld: the reasons why other data sets were not solved.
    """
    lines = make_accuracy_lines(results)
    all_solved = [(system, one) for system, own in results.items() for one in own]
    sections = []
    for name, own in lines.items():
        solved = [(system, one) for system, one in all_solved if one.data == name]
        notes = dict.fromkeys(note for _, one in solved for note in one.notes)
        counts = [f"{line.system}: {line.counts}" for line in own if line.counts]
        blocks: list[Table | Text] = [_make_accuracy_table(name, own)]
        if notes or counts:
            blocks.append(Text([*notes, *counts], "list"))
        blocks.append(Text([f"Signature: {system}: {one.signature}" for system, one in solved]))
        lead = "; ".join(
            f"{line.system}: {percent(line.accuracy)} ({line.user_accuracy.in_words})"
            for line in own
            if line.user_accuracy
        )
        sections.append(Section(TARGETS[name], blocks, lead))
    gender = make_gender_lines(results)
    if gender:
        rows = make_table("Accuracy on Winogender by gender, and the gaps", gender)
        sections.append(Section("Gender gap on Winogender (table 7)", [rows], GENDER_NOTE))
    if withheld:
        sections.append(Section("Not solved", [Text([f"{reason}." for reason in withheld])]))
    impossible = [
        [TARGETS[name], line.system, line.counts]
        for name, own in lines.items()
        for line in own
        if line.is_impossible
    ]
    block: Table | Text = Text(["All printed numbers for these data sets are possible."])
    if impossible:
        block = Table("Impossible numbers", ["data set", "system", "why"], impossible)
    return [*sections, Section("Impossible printed numbers", [block], IMPOSSIBLE_NOTE)]


GENDER_NOTE = (
    "Accuracy in percent, without and with a gotcha (the pronoun's gender is the rarer one for the "
    "correct answer). The gaps are signed differences of counts; the paper prints unsigned "
    "differences of rounded numbers."
)

IMPOSSIBLE_NOTE = (
    "An accuracy on n questions is k/n for a whole number k, but no k/n rounds to these numbers "
    "(GRIM test, Brown and Heathers 2017). If truncating or rounding up explains a number, its "
    "count is given."
)


def _make_accuracy_table(name: str, lines: Sequence[AccuracyLine]) -> Table:
    rows = []
    for line in lines:
        number = line.printed or to_fixed(100 * line.accuracy)
        if own := line.user_accuracy:
            rows.append([f"→ {line.system}", number, percent_span(own.interval), own.in_words])
        else:
            source = f"table {line.table}" if line.table else "section 1"
            rows.append([line.system, number, "", source])
    head: list[Column | str] = ["system", Column("%", numeric=True), "95 % interval", "printed in"]
    return Table(f"Accuracy on {TARGETS[name]}", head, rows)
