"""Render the report of a build."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from winosmith import metrics, report
from winosmith.build._pool import describe_copies
from winosmith.build._recipe import format_rebuild_recipe
from winosmith.build._report_filter import make_figures, make_filter_sections, write_verdict
from winosmith.build._split import SIZES
from winosmith.text import format_count

if TYPE_CHECKING:
    from winosmith.build._build import BuildResult


SPLIT_DESCRIPTIONS = {
    **dict.fromkeys((f"train_{size}" for size, _ in SIZES), "the first whole twins of train_xl"),
    "train_xl": "whole twins, kept or removed by the filter, with no half in dev or test",
    "train_debiased": "kept by the filter; some are singles",
    "dev": "kept by the filter; answers are published",
    "test": "kept by the filter; answers are private",
    "withheld": "share a block with a dev or test problem, whose answer they may reveal; private",
}
"""The description of each published split in a report."""


DISAGREEMENT = 0.3
"""Assumed fraction of problems that only one of two models answers correctly; see
`metrics.compute_detectable_difference`."""

MAX_DETECTABLE = 0.2
"""A split is too small if the detectable difference between two models exceeds this value, 0–1."""


def render_report(built: BuildResult, recipe: Mapping[str, Any]) -> str:
    lead = ""
    if built.funnel.kept_fraction is not None:
        share = report.format_value(built.funnel.kept_fraction, ".0%")
        lead = f"{share} of the collected problems were kept. The others were removed as follows."
    if built.applied_rules:
        lead += "".join(f" {line}." for line in built.applied_rules.lines)
    tuned = built.embedding_notes.get("finetuned")
    tuning = _make_text_blocks(
        [] if tuned is None else [f"Fine-tuning the encoder: {tuned}"],
        "warning" if built.embedding_notes.get("at_chance") else "plain",
    )
    written = format_rebuild_recipe(built.recipe, recipe)
    sections = [
        report.Section("In short", [report.Cards(_make_cards(built))]),
        report.Section("From twins to problems", _make_funnel(built), lead=lead.strip()),
        *make_filter_sections(built.run, built.measures, built.showable_rows),
        report.Section("What is published", _make_published_blocks(built, recipe)),
        report.Section(
            "How it was made",
            [*tuning, report.Code(written, "The recipe, with every default")],
            lead="All numbers in this report can be reproduced from this recipe and the data.",
        ),
    ]
    return report.render_page(
        f"{recipe['name']}: what the filter did",
        sections,
        subtitle=write_verdict(built.run, built.measures),
        signature=built.measures.signature,
        footer=f"Made by winosmith {recipe['version']}.",
    )


def _make_cards(built: BuildResult) -> list[report.KeyFigure]:
    funnel = built.funnel
    kept = report.KeyFigure(
        "problems kept",
        funnel.kept.problems,
        f"of {funnel.collected.problems:,} collected; "
        f"{report.count_twins_and_singles(funnel.kept.twins, funnel.kept.singles)}",
    )
    guessed, *more = make_figures(built.run, built.measures)
    return [guessed, kept, *more]


def _make_funnel(built: BuildResult) -> list[report.Block]:
    funnel = built.funnel
    stages, dropped = funnel.make_tables()
    counts = [("collected", funnel.collected), *((one.stage, one.kept) for one in funnel.steps)]
    blocks: list[report.Block] = [
        *_make_text_blocks(built.reader_notes, "warning"),
        report.Drawing(
            "Problems left after each stage.",
            [report.draw_funnel([(stage, kept.problems) for stage, kept in counts])],
            table=stages,
        ),
        *([dropped] if dropped.rows else []),
    ]
    return [*blocks, *_make_text_blocks(describe_copies(built.copies))]


def _make_published_blocks(built: BuildResult, recipe: Mapping[str, Any]) -> list[report.Block]:
    generated = ", ".join(f"{count:,} of {name}" for name, count in built.unvalidated.items())
    claims = (
        f"Generated problems that judges did not find valid: {generated}. Have people judge these "
        "problems before you rely on their answers."
    )
    small = describe_small_splits({"counts": built.counts, "recipe": recipe})
    finds = {name: _format_detectable(built.counts.get(name, 0)) for name in ("dev", "test")}
    rows: list[list[report.Value]] = [
        [name, built.counts[name], finds.get(name, ""), description]
        for name, description in SPLIT_DESCRIPTIONS.items()
        if name in built.counts
    ]
    splits = report.Table(
        "The splits",
        ["split", "problems", "detects", "contents"],
        rows,
        "Detects: the smallest difference between two models' accuracies that four of five sets of "
        f"this size detect, if the models differ on {report.percent(DISAGREEMENT, 0)} of the "
        "problems.",
    )
    return [
        splits,
        *_make_text_blocks(small, "warning"),
        *make_previous_split_blocks(built.sides),
        *_make_text_blocks(describe_missing_columns(built.columns)),
        *([report.Text([claims], "warning")] if generated else []),
    ]


def _make_text_blocks(
    lines: Sequence[str], kind: Literal["plain", "warning"] = "plain"
) -> list[report.Block]:
    return [report.Text([f"{line}." for line in lines], kind)] if lines else []


def _find_detectable_difference(n: int) -> float | None:
    return metrics.compute_detectable_difference(n, DISAGREEMENT) if n else None


def _format_detectable(n: int) -> str:
    least = _find_detectable_difference(n)
    return "none" if least is None else f"{report.to_fixed(100 * least)} points"


def describe_small_splits(record: Mapping[str, Any]) -> list[str]:
    """Describe dev and test if they are too small to compare models.

    Args:
        record: the contents of `report.json`, with the size of each split and the recipe.

    >>> shares = {"split": {"dev": 0.1, "test": 0.1}}
    >>> for line in describe_small_splits({"counts": {"dev": 3, "test": 40}, "recipe": shares}):
    ...     print(line)
    dev has 3 problems; no difference between two models can be detected
    test has 40 problems; if two models differ on 30 %, only 24.2 points or more can be detected
    Collect more twins, or raise dev and test under [split] in the recipe
    """
    counts, wanted = record["counts"], record["recipe"]["split"]
    lines = []
    for name in ("dev", "test"):
        n = counts[name]
        least = _find_detectable_difference(n)
        if wanted[name] and (least or 1) > MAX_DETECTABLE:
            lines.append(
                f"{name} has {format_count(n, 'problem')}; "
                + (
                    f"if two models differ on {report.percent(DISAGREEMENT, 0)}, only "
                    f"{_format_detectable(n)} or more can be detected"
                    if least
                    else "no difference between two models can be detected"
                )
            )
    more = "Collect more twins, or raise dev and test under [split] in the recipe"
    return [*lines, more] if lines else []


def describe_previous_splits(record: Mapping[str, Any] | None) -> list[str]:
    """Describe the problems with a previous split and the new problems, in sentences.

    Args:
        record: the object "sides" in `report.json`; None if there is no last build.

    >>> joined = {"former": ["train", "test"], "side": "train", "problems": ["a", "b"]}
    >>> for line in describe_previous_splits({"stayed": {"train": 60, "dev": 5, "test": 7},
    ...                         "new": {"train": 0, "dev": 2, "test": 0}, "joined": [joined]}):
    ...     print(line)
    72 problems keep their split (train 60, dev 5, test 7), 2 are in new blocks (dev 2)
    1 block joins problems of train and test and is now in train (2 problems)
    """
    if record is None:
        return []
    stayed, new = (record[key] for key in ("stayed", "new"))
    old, more = sum(stayed.values()), sum(new.values())
    lines = [
        f"{old:,} problem{' keeps its' if old == 1 else 's keep their'} "
        f"split{_format_counts(stayed)}, {more:,} {'is' if more == 1 else 'are'} in new "
        f"blocks{_format_counts(new)}"
    ]
    blocks, problems = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for joint in record["joined"]:
        kind = " and ".join(joint["former"]), joint["side"]
        blocks[kind] += 1
        problems[kind] += len(joint["problems"])
    for (former, side), count in blocks.items():
        joins, is_in = ("block joins", "is") if count == 1 else ("blocks join", "are")
        lines.append(
            f"{count:,} {joins} problems of {former} and {is_in} now in {side} "
            f"({format_count(problems[former, side], 'problem')})"
        )
    return lines


def make_previous_split_blocks(record: Mapping[str, Any] | None) -> list[report.Block]:
    """Make report blocks from the sentences of `describe_previous_splits`."""
    first, *joints = describe_previous_splits(record) or [""]
    why = (
        "A block whose problems were in several splits is now in train if any of them was there, "
        "and otherwise in dev, because problems that were used for training or published with "
        "answers can't be in test"
    )
    return [
        *_make_text_blocks([first] if first else []),
        *_make_text_blocks([*joints, why] if joints else []),
    ]


def describe_missing_columns(record: Mapping[str, Any] | None) -> list[str]:
    """Describe, in sentences, the columns that are missing from the public files.

    >>> held = ["private/dev.jsonl"]
    >>> describe_missing_columns({"columns": ["x.gender"], "not_in": ["dev"], "but_in": held})
    ['The column x.gender is not in dev, because it may reveal answers; private/dev.jsonl has it']
    """
    if not record or not record["columns"]:
        return []
    one = len(record["columns"]) == 1
    named = f"column{'' if one else 's'} {', '.join(record['columns'])}"
    *others, last = record["not_in"]
    where = f"{', '.join(others)} and {last}" if others else last
    start = f"The {named} {'is' if one else 'are'} not in {where}"
    it, they = ("it", "it") if one else ("them", "they")
    if not record["but_in"]:
        return [f"{start}: the format can't store {it}"]
    files = " and ".join(record["but_in"])
    have = "has" if len(record["but_in"]) == 1 else "have"
    return [f"{start}, because {they} may reveal answers; {files} {have} {it}"]


def _format_counts(counts: Mapping[str, int]) -> str:
    listed = ", ".join(f"{side} {count:,}" for side, count in counts.items() if count)
    return f" ({listed})" if listed else ""
