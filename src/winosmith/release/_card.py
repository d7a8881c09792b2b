"""README.md: the card that the Hugging Face hub shows, by its template, and reads settings from.

Only what is known is said; the rest is "not stated".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from winosmith.release._canary import comment
from winosmith.release._columns import COLUMNS
from winosmith.release._content import Content
from winosmith.release._licences import hub_licence
from winosmith.release._markdown import cell, or_not_stated, table
from winosmith.release._parts import TEST, TOLD, configurations
from winosmith.report import shown

__all__ = ["card", "front_matter", "part_rows"]

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""The hub's size categories."""


def card(content: Content) -> str:
    """Return README.md."""
    about = content.about
    lines = [
        *_yaml(front_matter(content)),
        "",
        comment(content.canary),
        "",
        f"# Dataset Card for {about.title}",
        "",
        about.description,
        "",
        *_details(content),
        *_uses(content),
        *_structure(content),
        *_creation(content),
        *_limits(content),
        *_closing(content),
    ]
    return "\n".join(lines) + "\n"


def front_matter(content: Content) -> dict[str, Any]:
    """Return what the hub reads from the top of the card."""
    about = content.about
    licence = hub_licence(about.licence)
    n = len(content.dataset)
    settings: dict[str, Any] = {"license": licence}
    if licence == "other":
        settings |= {"license_name": about.licence.lower(), "license_link": "LICENCES.md"}
    configs = configurations(content.parts)
    return settings | {
        "language": list(about.language),
        "pretty_name": about.title,
        "size_categories": [next((told for most, told in _SIZES if n < most), "n>1M")],
        "task_categories": ["multiple-choice"],
        "tags": ["commonsense", "winograd-schema", "winosmith"],
        "configs": [
            {
                "config_name": name,
                **({"default": True} if name == next(iter(configs)) else {}),
                "data_files": [
                    {"split": split, "path": f"data/{part}.parquet"}
                    for split, part in splits.items()
                ],
            }
            for name, splits in configs.items()
        ],
    }


def _yaml(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings as YAML; a value that is one line of JSON is one of YAML."""
    yield "---"
    for key, value in settings.items():
        if isinstance(value, list):
            yield f"{key}:"
            yield from (f"- {json.dumps(item, ensure_ascii=False)}" for item in value)
        else:
            yield f"{key}: {json.dumps(value, ensure_ascii=False)}"
    yield "---"


def _details(content: Content) -> Iterator[str]:
    about = content.about
    yield from ("## Dataset Details", "", "### Dataset Description", "")
    yield from _list(
        ("Curated by", ", ".join(about.authors)),
        ("Funded by", about.datasheet.get("funding", "")),
        ("Language(s)", ", ".join(about.language)),
        ("License", f"{about.licence}; that of every source is in LICENCES.md"),
        ("Version", f"{about.version} of {about.date}"),
        ("Made with", content.made_with),
        ("Signature", f"`{content.signature}`"),
    )
    yield from ("", "### Dataset Sources", "")
    yield from _list(
        ("Homepage", about.homepage),
        ("Sources", "; ".join(source.name for source in about.source)),
    )
    yield ""


def _list(*entries: tuple[str, str]) -> Iterator[str]:
    for name, value in entries:
        yield f"- **{name}:** {or_not_stated(value)}"


def _uses(content: Content) -> Iterator[str]:
    about = content.about
    yield from ("## Uses", "", "### Direct Use", "", or_not_stated(about.intended_use), "")
    yield from ("### Out-of-Scope Use", "", or_not_stated(about.datasheet.get("unsuitable", "")))
    if TEST in content.parts:
        yield from ("", "The answers of test are not here. Do not train on dev or test.")
    yield ""


def part_rows(content: Content) -> list[tuple[str, int, int, int, int, int, str]]:
    """Return what the card counts of each part, and of all."""
    rows = []
    for part in [*content.parts, "all"]:
        n = content.counts[part]
        told = TOLD.get(part, "every problem once")
        rows.append(
            (part, n["problems"], n["twins"], n["singles"], n["families"], n["contributors"], told)
        )
    return rows


def _one(content: Content) -> Iterator[str]:
    """Yield a problem with its answer, as a reader first wants to see one."""
    problem = next((p for p in content.problems if p.answer is not None), None)
    if problem is not None:
        seen = {"sentence": problem.sentence, "options": problem.options, "answer": problem.answer}
        yield from ("A problem, with three of its columns:", "")
        yield from ("```json", json.dumps(seen, ensure_ascii=False), "```", "")


def _structure(content: Content) -> Iterator[str]:
    yield from ("## Dataset Structure", "")
    yield from table(
        ["part", "problems", "whole twins", "singles", "families", "contributors", "what it is"],
        part_rows(content),
    )
    yield from ("", "Configurations, for `datasets.load_dataset(folder, name)`:", "")
    yield from table(
        ["configuration", "split", "file", "problems"],
        [
            (name, split, f"`data/{part}.parquet`", content.counts[part]["problems"])
            for name, splits in configurations(content.parts).items()
            for split, part in splits.items()
        ],
    )
    apart = ", ".join(content.disjoint)
    yield from (
        "",
        f"Train, dev and test share no twin, family or copy (kept apart by: {apart}).",
        "Each `data/*.jsonl` has the same problems as the Parquet file beside it, and",
        "`data/*-labels.lst` the answers alone, 1 for the first option.",
        "",
    )
    yield from _one(content)
    yield from table(["column", "what it says"], [(f"`{k}`", v) for k, (_, v) in COLUMNS.items()])
    yield ""


def _creation(content: Content) -> Iterator[str]:
    about, sheet = content.about, content.about.datasheet
    yield from ("## Dataset Creation", "", "### Curation Rationale", "")
    yield from (or_not_stated(sheet.get("purpose", "")), "", "### Source Data", "")
    yield from ("#### Data Collection and Processing", "")
    yield from (or_not_stated(sheet.get("acquired", "")), "", *funnel(content))
    yield from ("#### Who are the source data producers?", "")
    people = content.counts["all"]["contributors"]
    yield from (
        f"{people:,} contributors, by pseudonym, in CONTRIBUTORS.csv." if people else "not stated",
        "",
        "### Annotations",
        "",
        *judges(content),
        "",
        "#### Personal and Sensitive Information",
        "",
        or_not_stated(sheet.get("sensitive", "")),
        "",
    )
    yield from ("### Sources and licences", "")
    yield from table(
        ["source", "licence", "attribution"],
        [(s.name, s.licence, or_not_stated(s.attribution)) for s in about.source],
    )
    yield ""


def funnel(content: Content) -> Iterator[str]:
    """Yield what each stage of the build kept; nothing where there was no build."""
    told = content.build.get("funnel")
    if not told:
        return
    rows: list[tuple[object, ...]] = [("collected", told["collected"]["problems"], "")]
    for step in told["steps"]:
        why = ", ".join(f"{reason} {count:,}" for reason, count in step["dropped"].items())
        rows.append((step["stage"], step["kept"]["problems"], why))
    yield from table(["stage", "problems kept", "dropped"], rows)
    yield ""
    figures = content.build.get("figures", ())
    for figure in figures:
        value = shown(figure["value"], figure["form"])
        yield f"- {cell(figure['label'])}: {value} ({cell(figure['note'])})"
    yield from (
        *([""] if figures else []),
        f"Signature of the build: `{content.build['signature']}`",
        "",
    )


def judges(content: Content) -> Iterator[str]:
    """Yield what is known of those who judged."""
    counts = [p.extra["release.judges"] for p in content.problems if "release.judges" in p.extra]
    if not counts:
        yield or_not_stated(content.about.datasheet.get("labels", ""))
        return
    sizes = [int(str(count)) for count in counts]
    few, many = min(sizes), max(sizes)
    people = f"{few}" if few == many else f"{few} to {many}"
    total = len(content.problems)
    yield f"{len(sizes):,} of {total:,} problems were judged, each by {people} people."


def unvalidated(content: Content) -> str:
    """Return how many problems nobody has found valid yet, in words; nothing where none is."""
    counts = content.build.get("unvalidated", {})
    told = ", ".join(f"{count:,} of {part}" for part, count in counts.items())
    return f"Generated, and not found valid by judges: {told}." if told else ""


def _limits(content: Content) -> Iterator[str]:
    yield from ("## Bias, Risks, and Limitations", "", or_not_stated(content.about.known_limits))
    generated = unvalidated(content)
    yield from ("", generated) if generated else ()
    for line in content.copies.told():
        yield from ("", cell(line))
    risks = content.about.datasheet.get("risks", "")
    yield from ("", "### Recommendations", "", or_not_stated(risks), "")


def _closing(content: Content) -> Iterator[str]:
    about = content.about
    yield from ("## Citation", "")
    yield from ["```", about.citation, "```"] if about.citation else ["not stated"]
    yield from ("", "## More Information", "")
    yield from (
        "- DATASHEET.md answers the questions of a datasheet.",
        "- CHANGELOG.md says what changed, tombstones.jsonl what was withdrawn.",
        "- croissant.json describes the files for programs.",
        "- harness/ has tasks for lm-evaluation-harness and inspect_ai, where answers are public.",
        "- `sha256sum --check checksums.txt` tells whether the files are whole, and",
        "  `winosmith verify .` proves what is said here.",
        "",
        "## Dataset Card Authors",
        "",
        ", ".join(about.authors),
        "",
        "## Dataset Card Contact",
        "",
        or_not_stated(about.contact),
    )
