"""The content of a release, and its record in release.json.

A part is a data file. The Hugging Face hub loads parts as the splits of configurations. All
training parts belong to one side, "train". Two sides share no twin, family or copy.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Final

from pydantic import Field

from winosmith import audit, formats
from winosmith._version import __version__
from winosmith.blocks import find_blocks, shuffle_blocks
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.exposure import LEVEL, compute_detectable_shift, iter_presentations
from winosmith.metrics import Copies, compute_detectable_differences, find_copies
from winosmith.options import Seed, declaration, match_pattern, to_table
from winosmith.problem import Lineage, Problem
from winosmith.records import dump_json
from winosmith.release._about import About
from winosmith.release._interchange import JUDGES, QUESTION_COLUMNS, find_used_columns
from winosmith.report import Drawing, Signature, Table
from winosmith.splits import KEY_FIELDS, Disjoint, PreviousProblem, SplitName, assign_splits
from winosmith.text import normalize_name
from winosmith.validate import count_unvalidated

TEST: Final = "test"
DEV: Final = "dev"
TRAIN: Final = "train"
PROBLEMS: Final = "problems"

NESTED = ("train_xs", "train_s", "train_m", "train_l", "train_xl")
"""Nested training sets: each is the beginning of the next (WinoGrande, table 4)."""

PARTS: Mapping[str, str] = {
    **dict.fromkeys(NESTED[:-1], "the first whole twins of the next larger training set"),
    "train_xl": "whole twins, kept or removed by the filter, separate from dev and test",
    "train_debiased": "kept by the filter, separate from dev and test; some are singles",
    TRAIN: "for training",
    DEV: "for development; with answers",
    TEST: "for the final measurement; without answers",
    PROBLEMS: "the whole set, not split",
}
"""The description of each part that a release may have, in the order of a release."""

_ALIASES = {"validation": DEV, "valid": DEV, "val": DEV}


def match_part(stem: str) -> str | None:
    """Return the part that a file name without its extension matches, or None.

    >>> match_part("validation"), match_part("train_xs"), match_part("twins")
    ('dev', 'train_xs', None)
    """
    name = _ALIASES.get(stem.lower(), stem.lower())
    return name if name in PARTS else None


def get_side(part: str) -> str:
    return TRAIN if part.startswith(TRAIN) else part


def sort_parts(parts: Mapping[str, Dataset]) -> dict[str, Dataset]:
    return {part: parts[part] for part in PARTS if part in parts}


def sort_test(parts: Mapping[str, Dataset]) -> dict[str, Dataset]:
    """Sort the test part by a digest of its texts, so that the order reveals no answers."""
    test = sorted(parts.get(TEST, ()), key=lambda p: (digest_text(p), p.id))
    return {**parts, **({TEST: Dataset(test, TEST)} if test else {})}


def index_problems(parts: Mapping[str, Dataset]) -> dict[str, Problem]:
    found: dict[str, Problem] = {}
    for dataset in parts.values():
        for problem in dataset:
            found.setdefault(problem.id, problem)
    return found


def map_configurations(parts: Iterable[str]) -> dict[str, dict[str, str]]:
    """Map each configuration of the Hugging Face hub to the part of each split.

    Each training part has a configuration, which also includes dev and test. The largest part is
    first, because the first configuration is the default.

    >>> map_configurations(["train_xs", "train_xl", "dev"])["xl"]
    {'train': 'train_xl', 'validation': 'dev'}
    >>> list(map_configurations(["train_xs", "train_xl", "dev"])), map_configurations(["dev"])
    (['xl', 'xs'], {'default': {'validation': 'dev'}})
    """
    present = set(parts)
    names = {DEV: "validation", TEST: TEST, PROBLEMS: PROBLEMS}
    shared = {split: part for part, split in names.items() if part in present}
    found = {
        "default" if part == TRAIN else part.removeprefix("train_"): {TRAIN: part, **shared}
        for part in (*reversed(NESTED), "train_debiased", TRAIN)
        if part in present
    }
    return found or {"default": shared}


def digest_text(problem: Problem) -> str:
    seen = "\0".join((problem.sentence, *problem.options))
    return hashlib.sha256(seen.encode()).hexdigest()


def iter_forms(problem: Problem, keyed: bool) -> Iterator[Problem]:
    yield from iter_presentations(problem) if keyed else (problem,)


def find_split_groups(
    parts: Mapping[str, Dataset], origins: Iterable[str]
) -> Iterator[tuple[tuple[str, int], tuple[str, int], str]]:
    """Yield two problems from each block or origin group that is split between sides.

    A problem is given by its part and row. The text states why the problems belong together.
    """
    places: list[tuple[str, int]] = []
    problems: list[Problem] = []
    seen: set[tuple[str, str]] = set()
    for part, dataset in parts.items():
        for row, problem in enumerate(dataset):
            if (key := (get_side(part), problem.id)) not in seen:
                seen.add(key)
                places.append((part, row))
                problems.append(problem)
    sides = [get_side(part) for part, _ in places]
    problems = formats.pair_files(problems, sides, has_own_numbers=False)
    for kind in ("twin", *origins):
        groups: Iterable[list[int]] = find_sorted_blocks(problems)
        if kind != "twin":
            rows: dict[str, list[int]] = {}
            for at, problem in enumerate(problems):
                if (value := getattr(problem.origin, KEY_FIELDS[kind], None)) is not None:
                    rows.setdefault(normalize_name(value), []).append(at)
            groups = rows.values()
        for first, *rest in groups:
            other = next((one for one in rest if sides[one] != sides[first]), None)
            if other is not None:
                why = _explain_relation(problems[first], problems[other], kind)
                yield places[first], places[other], why


def find_sorted_blocks(problems: Iterable[Problem]) -> list[list[int]]:
    """Return blocks of ascending row numbers; the ids of problems need not be distinct."""
    data = Dataset(
        replace(p, id=f"{at}", lineage=p.lineage or Lineage(p.id, p.id))
        for at, p in enumerate(problems)
    )
    return [sorted(block) for block in find_blocks(data)]


def _explain_relation(first: Problem, second: Problem, kind: str) -> str:
    if kind != "twin":
        return f"both are from the {kind} {getattr(first.origin, KEY_FIELDS[kind])!r}"
    if first.id == second.id:
        return "they have the same id"
    if first.twin_id is not None and first.twin_id == second.twin_id:
        return f"they are halves of the twin {first.twin_id!r}"
    if first.root == second.root:
        return f"they belong to the family of {first.root!r}"
    if first.sentence.lower() == second.sentence.lower():
        return "their sentences are the same"
    return "they are near-duplicates, directly or through other problems"


def check_origins(dataset: Dataset, origins: Iterable[str]) -> None:
    for kind in origins:
        unknown = [p.id for p in dataset if getattr(p.origin, KEY_FIELDS[kind], None) is None]
        if unknown:
            raise DataError(
                f"{len(unknown)} of {len(dataset)} problems have no {kind} ({unknown[0]!r}, "
                f"…), so the splits can't be separated by {kind}; omit `disjoint={kind!r}`, or "
                f"give each problem its origin.{KEY_FIELDS[kind]}"
            )


@declaration
class Splitting:
    """Settings of the split into train, dev and test."""

    disjoint: Annotated[tuple[Disjoint, ...], Field(strict=False)] = ()
    """Origins that train, dev and test must not share, in addition to twins, families and copies. A
    single file is split only with this option. Repeat the option to choose both."""
    dev: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Fraction of problems in dev if `disjoint` splits a single file."""
    test: Annotated[float, Field(ge=0, le=1)] = 0.14
    """Fraction of problems in test if `disjoint` splits a single file."""
    seed: Seed = 0
    """Random seed of the split."""

    def __post_init__(self) -> None:
        if self.dev + self.test >= 1:
            raise ValueError(
                f"dev ({self.dev}) and test ({self.test}) leave no problems for training; their "
                "sum must be below 1"
            )

    @property
    def origins(self) -> tuple[str, ...]:
        """The kinds of origin that problems on two sides of a split must not share."""
        return tuple(kind for kind in KEY_FIELDS if kind in self.disjoint)


def split_dataset(
    dataset: Dataset, splitting: Splitting, former: Sequence[PreviousProblem] = ()
) -> dict[str, Dataset]:
    """Split a data set into train, dev and test that share no twin, family, copy or origin.

    Test is filled first, then dev, by the rules of `splits.assign_splits`. `former` contains the
    problems and sides of the previous release, with the ids of this data set.
    """
    wanted: dict[SplitName, int] = {
        TEST: round(splitting.test * len(dataset)),
        DEV: round(splitting.dev * len(dataset)),
    }
    found = assign_splits(
        dataset,
        shuffle_blocks(dataset, splitting.seed),
        wanted,
        keys=[KEY_FIELDS[kind] for kind in splitting.origins],
        previous=former,
    )
    rows: dict[str, list[int]] = {TRAIN: [], DEV: [], TEST: []}
    for group in found:
        rows[group.split] += group.rows
    for part, size in ((TEST, wanted[TEST]), (DEV, wanted[DEV]), (TRAIN, 1)):
        if size and not rows[part]:
            largest = max(len(group.rows) for group in found)
            raise DataError(
                f"no problems are left for {part}: the {len(found)} groups that must stay together "
                f"are too large (the largest has {largest} of {len(dataset)} problems); change "
                "the fractions, or keep fewer kinds of groups together"
            )
    return {part: dataset.select(chosen, part) for part, chosen in rows.items() if chosen}


RECORD, CHECKSUMS, TOMBSTONES = "release.json", "checksums.txt", "tombstones.jsonl"

MADE_WITH = f"winosmith {__version__}"

NAME_DIGITS = 12
"""Number of hex digits of the digest in the name of a release folder."""

Text = Annotated[str, Field(min_length=1)]

Blocks = Annotated[int, Field(ge=0)]


@declaration
class Tombstone:
    """A line of tombstones.jsonl: a withdrawn or edited problem, without its text."""

    id: Text
    """Id of the problem."""
    last: Text
    """Last version with the problem."""
    withdrawn: Text
    """First version without the problem."""
    reason: str = ""
    """Reason for the withdrawal."""
    became: str = ""
    """Id of the edited problem that replaces this problem."""
    answered: bool = False
    """Whether the last version published the answer, so that the problem can't be in test again."""

    def format_line(self) -> str:
        """Format the tombstone as a line of JSON."""
        return dump_json({key: value for key, value in asdict(self).items() if value}) + "\n"


@declaration
class CoinStatement:
    """The public statement about the coins of a keyed release (`keyed` in release.json)."""

    commitment: Annotated[str, match_pattern("[0-9a-f]{64}", "64 hexadecimal digits")]
    """The commitment; see `winosmith.exposure.compute_commitment`."""
    names: Blocks
    """Number of blocks in which a coin flip decides whether the names of two people are swapped."""
    options: Blocks
    """Number of blocks in which a coin flip decides whether the order of options is reversed."""
    without: Blocks
    """Number of blocks without a coin flip, because they have only one presentation."""

    @property
    def block_count(self) -> int:
        return self.names + self.options

    @property
    def detectable_shifts(self) -> dict[int, float]:
        """The mean shift, in standard deviations, detected with 80 % power, by number of models.

        The numbers of models are 1 and 20. The level of 0.05 applies to all models together.
        """
        return {
            models: compute_detectable_shift(self.block_count, LEVEL / models)
            for models in (1, 20)
            if self.block_count
        }

    def record(self) -> dict[str, Any]:
        shifts = {f"{models} models": shift for models, shift in self.detectable_shifts.items()}
        return {**asdict(self), "blocks": self.block_count, "detectable_shift": shifts}


@dataclass(frozen=True, eq=False)
class Content:
    """Everything that a release publishes.

    Attributes:
        about: the description by its makers.
        parts: the problems by part; test problems have no answers.
        canary: the string that every problem contains.
        disjoint: groups that two sides don't share: "twin", and optionally "contributor" or
            "source".
        ids: "digest" if ids are made from the problems' texts, "kept" if they are the source's.
        build: the report of the build, for the cards; empty if the source is files.
        omitted_counts: number of omitted problems by reason.
        previous: version and digest of the previous release, or None.
        tombstones: the problems that this release or an earlier release withdrew or edited.
        changes: the changes since the previous release: kind → id of a problem → note.
        history: the changelog of the previous release, from its first section.
        keyed: the statement about the coins; None if the release is not keyed.
    """

    about: About
    parts: Mapping[str, Dataset]
    canary: str
    disjoint: tuple[str, ...] = ("twin",)
    ids: str = "kept"
    build: Mapping[str, Any] = field(default_factory=dict)
    omitted_counts: Mapping[str, int] = field(default_factory=dict)
    previous: Mapping[str, str] | None = None
    tombstones: Sequence[Tombstone] = ()
    changes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    history: str = ""
    keyed: CoinStatement | None = None

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """Every problem once, in the order of the parts."""
        return tuple(index_problems(self.parts).values())

    @cached_property
    def dataset(self) -> Dataset:
        """The data set of all problems, each of them once."""
        return Dataset(self.problems, self.about.name)

    @cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """The counts of each part; the key "all" has the counts of all parts together."""
        every = {**self.parts, "all": self.dataset}
        return {
            part: {
                "problems": len(of),
                "twins": len(of.twins),
                "singles": len(of.singles),
                "families": sum(len(rows) > 1 for rows in of.families.values()),
                "contributors": len({p.origin.author for p in of if p.origin} - {None, ""}),
            }
            for part, of in every.items()
        }

    @property
    def configurations(self) -> dict[str, dict[str, str]]:
        """The configurations of the Hugging Face hub, with the part of each split."""
        return map_configurations(self.parts)

    @property
    def hub_configs(self) -> list[dict[str, Any]]:
        """The `configs` of the hub's card: the files of each configuration, the default first."""
        configs: list[dict[str, Any]] = [
            {
                "config_name": name,
                "data_files": [
                    {"split": split, "path": f"data/{part}.parquet"}
                    for split, part in splits.items()
                ],
            }
            for name, splits in self.configurations.items()
        ]
        return [{**configs[0], "default": True}, *configs[1:]]

    @property
    def task_part(self) -> str | None:
        """The part that tasks for evaluation harnesses contain; its answers are public."""
        return next((part for part in (DEV, PROBLEMS) if part in self.parts), None)

    @cached_property
    def copies(self) -> Copies:
        """The groups of identical problems.

        Contradictions in test can't be found, because its answers are withheld.
        """
        return find_copies(self.dataset)

    @property
    def signature(self) -> str:
        """The signature of the release: the data set and versions that determine its numbers."""
        version = {"release": self.about.version}
        return str(Signature(self.dataset.digest, len(self.dataset), version, 0))

    @cached_property
    def has_questions(self) -> bool:
        """Whether any problem is a question.

        A question has more than five options, or not exactly one `_`.
        """
        return any(not p.blank_is_unique or len(p.options) > 5 for p in self.problems)

    @cached_property
    def columns(self) -> Mapping[str, tuple[str, str]]:
        """Kind and description of each table column with a value in at least one part."""
        found = find_used_columns(self.problems)
        more = QUESTION_COLUMNS if self.has_questions else {}
        return {name: more.get(name, of) for name, of in found.items()}

    @property
    def keywords(self) -> list[str]:
        """The makers' keywords, or keywords derived from the problems."""
        if self.about.keywords:
            return list(self.about.keywords)
        has_blanks = [p.blank is not None for p in self.problems]
        kinds = {
            "multiple choice": True,
            "question answering": not all(has_blanks),
            "fill in the blank": any(has_blanks),
            "Winograd schema": any(has_blanks) and self.counts["all"]["twins"] > 0,
        }
        domains = {p.origin.domain for p in self.problems if p.origin and p.origin.domain}
        return [*(kind for kind, holds in kinds.items() if holds), *sorted(domains)]

    @property
    def is_synthetic(self) -> bool | None:
        """Whether a program generated problems; None if unknown."""
        generated = bool(self.build.get("unvalidated")) or count_unvalidated(self.problems) > 0
        return True if generated else self.about.synthetic

    @cached_property
    def audit_summaries(self) -> list[tuple[str, list[Table], str]]:
        """The verdict, tables and signature of the audit of each part with answers.

        Of nested training sets, only the largest is audited. Test is not audited, because knowing
        its artifacts would help to guess its answers.
        """
        nested = [part for part in NESTED if part in self.parts]
        found = []
        for part, dataset in self.parts.items():
            if part in (TEST, *nested[:-1]):
                continue
            of = audit.audit({part: dataset}, probe_draws=0)
            blocks = [b for section in audit.make_sections(of)[1:-1] for b in section.blocks]
            tables = [block.table if isinstance(block, Drawing) else block for block in blocks]
            rows = [table for table in tables if isinstance(table, Table) and table.rows]
            found.append((audit.make_verdict(of), rows, of.signature))
        return found

    @property
    def option_count_range(self) -> str:
        """The range of the numbers of options, such as "2 to 4"."""
        return _format_range([len(problem.options) for problem in self.problems])

    @property
    def by_source(self) -> Counter[str]:
        """Number of problems from each source in `about`."""
        named = {source.name for source in self.about.source}
        found = (problem.origin.source if problem.origin else None for problem in self.problems)
        return Counter(name if name in named and name else "*" for name in found)

    @property
    def days(self) -> list[str]:
        """The days on which problems were written, ascending."""
        return sorted({p.origin.created for p in self.problems if p.origin and p.origin.created})

    @property
    def judging_summary(self) -> str:
        """A sentence with the numbers of judged problems and of judges per problem.

        Empty if no problem was judged.
        """
        counts = [int(str(p.extra[JUDGES])) for p in self.problems if JUDGES in p.extra]
        if not counts:
            return ""
        return (
            f"{len(counts):,} of {len(self.problems):,} problems were judged, each by "
            f"{_format_range(counts)} people."
        )

    @property
    def warnings(self) -> list[str]:
        """Warnings about generated problems without a verdict, and about identical problems."""
        counts = self.build.get("unvalidated", {})
        generated = ", ".join(f"{count:,} of {part}" for part, count in counts.items())
        found = [f"Generated and not validated by judges: {generated}."] if generated else []
        return found + self.copies.sentences()

    @cached_property
    def detectable_differences(self) -> dict[str, tuple[tuple[float, float | None], ...]]:
        """The smallest detectable differences between two models on each part."""
        every = {**self.parts, "all": self.dataset}
        return {part: compute_detectable_differences(dataset) for part, dataset in every.items()}


def _format_range(counts: Sequence[int]) -> str:
    return " to ".join(map(str, sorted({min(counts), max(counts)})))


def make_record(content: Content, files: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """`files` has the `sha256` and `bytes` of all files except release.json and checksums.txt."""
    record: dict[str, Any] = {
        "release": 1,
        "made_with": MADE_WITH,
        "signature": content.signature,
        "canary": content.canary,
        "ids": content.ids,
        "disjoint": list(content.disjoint),
        "counts": content.counts,
        "digests": {part: dataset.digest for part, dataset in content.parts.items()},
        "configurations": content.configurations,
        "left_out": dict(content.omitted_counts),
        **(content.copies.record() if content.copies.sentences() else {}),
        **({"keyed": asdict(content.keyed)} if content.keyed else {}),
        "previous": dict(content.previous) if content.previous else None,
        "changes": {kind: len(found) for kind, found in content.changes.items()},
        "about": to_table(content.about),
        "build": dict(content.build),
        "files": {path: dict(files[path]) for path in sorted(files)},
    }
    return {"digest": compute_digest(record), **record}


def compute_digest(record: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in sorted(record.items()) if key != "digest"}
    return hashlib.sha256(dump_json(rest).encode()).hexdigest()


def make_folder_name(record: Mapping[str, Any]) -> str:
    about = record["about"]
    return f"{about['name']}-{about['version']}-{record['digest'][:NAME_DIGITS]}"


def format_checksums(sums: Mapping[str, str]) -> str:
    """Format the text of checksums.txt like the output of sha256sum."""
    return "".join(f"{sums[path]}  {path}\n" for path in sorted(sums))
