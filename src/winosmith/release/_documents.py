"""The files of a release that follow from its content: cards, licences, credit, how to push it.

README.md is the card that the Hugging Face hub shows, by its template, and reads settings from.
DATASHEET.md has the questions of Gebru et al. (2021): what release.toml answers stands first, what
the files themselves tell beside it. Only what is known is said; the rest is "not stated", and
never guessed.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any

from winosmith.escape import (
    for_csv,
    for_json,
    for_markdown,
    for_terminal,
    markdown_block,
    markdown_code,
)
from winosmith.metrics import detectable_by_share
from winosmith.release._about import SECTIONS, DataSource, hub_licence
from winosmith.release._content import (
    DESCRIPTIONS,
    MADE_WITH,
    TEST,
    Content,
    canary_text,
    comment,
    configurations,
    side,
)
from winosmith.release._interchange import COLUMNS, columns_of
from winosmith.release._source import tombstone_lines
from winosmith.report import shown, whole_and_single


def _titled(source: DataSource) -> str:
    return "Everything of no other source" if source.name == "*" else source.name


def licences(content: Content) -> str:
    """Return LICENCES.md: the whole's licence, then each source's with its attribution."""
    about = content.about
    held: Counter[str] = Counter()
    for problem in content.problems:
        name = problem.origin.source if problem.origin else None
        held[name if name in {s.name for s in about.source} and name else "*"] += 1
    lines = [
        comment(content.canary),
        "",
        f"# Licences of {for_markdown(about.title)}, {about.version}",
        "",
    ]
    lines += [f"The whole is under **{for_markdown(about.licence)}**.", ""]
    for source in about.source:
        lines += [f"## {for_markdown(_titled(source))}", "", f"- problems: {held[source.name]:,}"]
        lines += [f"- licence: {for_markdown(source.licence)}"]
        lines += [f"- asks for: {for_markdown(', '.join(sorted(source.asks)) or 'nothing')}"]
        lines += [f"- attribution: {for_markdown(or_not_stated(source.attribution))}"]
        lines += [f"- where: {for_markdown(or_not_stated(source.url))}"]
        lines += [f"- permission: {for_markdown(source.permission)}"] if source.permission else []
        lines += [""]
    return "\n".join(lines)


def contributors(content: Content) -> str:
    """Return CONTRIBUTORS.csv: who wrote how many problems, the most first."""
    sides = sorted({side(part) for part in content.parts})
    counts: dict[str, Counter[str]] = {}
    seen = set()
    for part, dataset in content.parts.items():
        for problem in dataset:
            author = problem.origin.author if problem.origin else None
            if author and problem.id not in seen:
                seen.add(problem.id)
                counts.setdefault(author, Counter())[side(part)] += 1
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["contributor", "problems", *sides])
    for author in sorted(counts, key=lambda name: (-counts[name].total(), name)):
        by = counts[author]
        writer.writerow([for_csv(author), by.total(), *(by[one] for one in sides)])
    return text.getvalue()


def push(content: Content) -> str:
    """Return PUSH.md: the two commands that would put the release on a hub."""
    name, version = content.about.name, content.about.version
    return f"""{comment(content.canary)}

# To publish {name} {version}

Nothing has been sent anywhere. In this folder, with the Hugging Face client (`pip install
huggingface_hub`) and after `hf auth login`, these two commands would publish it; put your account
or organisation for ORG:

    hf repos create ORG/{name} --type dataset --exist-ok
    hf upload ORG/{name} . --type dataset --delete "*" --commit-message "{name} {version}"

The second also takes away what an earlier version had there, so that the hub holds these files
and no others. Run `winosmith verify .` before.
"""


def card(content: Content) -> str:
    """Return README.md."""
    about = content.about
    lines = [
        *_yaml(front_matter(content)),
        "",
        comment(content.canary),
        "",
        f"# Dataset Card for {for_markdown(about.title)}",
        "",
        markdown_block(about.description),
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
        "size_categories": [next((size for most, size in _SIZES if n < most), "n>1M")],
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
    """Yield the settings as YAML; a value that is one line of escaped JSON is one of YAML."""
    yield "---"
    for key, value in settings.items():
        if isinstance(value, list):
            yield f"{key}:"
            yield from (f"- {_json(item)}" for item in value)
        else:
            yield f"{key}: {_json(value)}"
    yield "---"


def _json(value: Any) -> str:
    return for_json(json.dumps(value, ensure_ascii=False))


def _details(content: Content) -> Iterator[str]:
    about = content.about
    yield from ("## Dataset Details", "", "### Dataset Description", "")
    yield from _list(
        ("Curated by", ", ".join(about.authors)),
        ("Funded by", about.datasheet.get("funding", "")),
        ("Language(s)", ", ".join(about.language)),
        ("License", f"{about.licence}; that of every source is in LICENCES.md"),
        ("Version", f"{about.version} of {about.date}"),
        ("Made with", MADE_WITH),
        ("Signature", Code(content.signature)),
    )
    yield from ("", "### Dataset Sources", "")
    yield from _list(
        ("Homepage", about.homepage),
        ("Sources", "; ".join(source.name for source in about.source if source.name != "*")),
    )
    yield ""


def _list(*entries: tuple[str, str]) -> Iterator[str]:
    for name, value in entries:
        text = markdown_code(value) if isinstance(value, Code) else for_markdown(value)
        yield f"- **{name}:** {or_not_stated(text)}"


def _uses(content: Content) -> Iterator[str]:
    about = content.about
    yield from ("## Uses", "", "### Direct Use", "", or_not_stated(about.intended_use), "")
    yield from ("### Out-of-Scope Use", "", or_not_stated(about.datasheet.get("unsuitable", "")))
    if TEST in content.parts:
        yield from ("", "The answers of test are not here. Do not train on dev or test.")
    yield ""


def _one(content: Content) -> Iterator[str]:
    """Yield a problem with its answer, as a reader first wants to see one."""
    problem = next((p for p in content.problems if p.answer is not None), None)
    if problem is not None:
        seen = {"sentence": problem.sentence, "options": problem.options, "answer": problem.answer}
        yield from ("A problem, with three of its columns:", "")
        yield from ("```json", _json(seen), "```", "")


def _structure(content: Content) -> Iterator[str]:
    yield from ("## Dataset Structure", "")
    yield from table(
        ["part", "problems", "whole twins", "singles", "families", "contributors", "what it is"],
        [
            (part, *content.counts[part].values(), DESCRIPTIONS.get(part, "every problem once"))
            for part in [*content.parts, "all"]
        ],
    )
    yield from ("", "Configurations, for `datasets.load_dataset(folder, name)`:", "")
    yield from table(
        ["configuration", "split", "file", "problems"],
        [
            (name, split, Code(f"data/{part}.parquet"), content.counts[part]["problems"])
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
    columns = columns_of(content).items()
    yield from table(
        ["column", "what it says"], [(Code(name), says) for name, (_, says) in columns]
    )
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
        [(_titled(s), s.licence, or_not_stated(s.attribution)) for s in about.source],
    )
    yield ""


def funnel(content: Content) -> Iterator[str]:
    """Yield what each stage of the build kept; nothing where there was no build."""
    whole = content.build.get("funnel")
    if not whole:
        return
    rows: list[tuple[object, ...]] = [("collected", whole["collected"]["problems"], "")]
    for step in whole["steps"]:
        why = ", ".join(f"{reason} {count:,}" for reason, count in step["dropped"].items())
        rows.append((step["stage"], step["kept"]["problems"], why))
    yield from table(["stage", "problems kept", "dropped"], rows)
    yield ""
    figures = content.build.get("figures", ())
    for figure in figures:
        value = shown(figure["value"], figure["form"])
        yield f"- {for_markdown(figure['label'])}: {value} ({for_markdown(figure['note'])})"
    yield from (
        *([""] if figures else []),
        f"Signature of the build: {markdown_code(content.build['signature'])}",
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
    listed = ", ".join(f"{count:,} of {part}" for part, count in counts.items())
    return f"Generated, and not found valid by judges: {listed}." if listed else ""


def _limits(content: Content) -> Iterator[str]:
    yield from ("## Bias, Risks, and Limitations", "", or_not_stated(content.about.known_limits))
    generated = unvalidated(content)
    yield from ("", generated) if generated else ()
    for line in content.copies.sentences():
        yield from ("", for_markdown(line))
    yield from ("", "### What difference it can detect", "", *_detectable(content))
    risks = content.about.datasheet.get("risks", "")
    yield from ("", "### Recommendations", "", or_not_stated(risks), "")


def _detectable(content: Content) -> Iterator[str]:
    yield from (
        "The least difference between the accuracies of two models that four of five sets like a",
        "part find at 0.05 (McNemar's exact test), by the share of problems on which one model is",
        "right and the other is not. Copies are counted once, twins and families as if apart.",
        "",
    )
    found = {part: detectable_by_share(dataset) for part, dataset in content.parts.items()}
    yield from table(
        ["part", *(shown(psi, ".0%") for psi, _ in next(iter(found.values())))],
        [
            (part, *("none" if least is None else shown(least, ".1%") for _, least in by_share))
            for part, by_share in found.items()
        ],
    )


def _closing(content: Content) -> Iterator[str]:
    about = content.about
    yield from ("## Citation", "")
    yield from (
        ["```", for_terminal(about.citation).replace("```", ""), "```"]
        if about.citation
        else ["not stated"]
    )
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
        for_markdown(", ".join(about.authors)),
        "",
        "## Dataset Card Contact",
        "",
        for_markdown(or_not_stated(about.contact)),
    )


def datasheet(content: Content) -> str:
    """Return DATASHEET.md."""
    about, known = content.about, dict(_known(content))
    lines = [
        comment(content.canary),
        "",
        f"# Datasheet of {for_markdown(about.title)}, {about.version}",
        "",
    ]
    lines += ["The questions are those of Gebru et al. (2021), Datasheets for Datasets.", ""]
    for title, questions in SECTIONS:
        lines += [f"## {title}", ""]
        for key, question in questions:
            answers = [text for text in (about.datasheet.get(key, ""), known.get(key, "")) if text]
            lines += [f"**{question}**", "", or_not_stated("\n\n".join(answers)), ""]
    return "\n".join(lines)


def _known(content: Content) -> Iterator[tuple[str, str]]:
    """Yield what the files and release.toml tell, by the question's key."""
    about, counts = content.about, content.counts
    everything = counts["all"]
    yield "creators", for_markdown(", ".join(about.authors))
    many = {len(problem.options) for problem in content.problems}
    asked, options = "A sentence with one blank", "two to five"
    if columns_of(content) is not COLUMNS:
        asked = "A sentence with one blank, or a question"
        options = " to ".join(map(str, sorted({min(many), max(many)})))
    yield "instances", f"{asked}, and {options} options of which one is right."
    yield (
        "counts",
        f"{everything['problems']:,} problems: "
        f"{whole_and_single(everything['twins'], everything['singles'])}; "
        + ", ".join(f"{part} {counts[part]['problems']:,}" for part in content.parts)
        + ".",
    )
    if content.left_out:
        left = ", ".join(f"{reason} {count:,}" for reason, count in content.left_out.items())
        yield "sample", f"Left out of this release: {for_markdown(left)}."
    yield "fields", "README.md lists the columns."
    if TEST in content.parts:
        yield "labels", "The right option; that of test is withheld."
        yield "missing", "The answers of test, so that they can be used to measure."
    else:
        yield "labels", "The right option."
    yield "relations", "`twin_id` joins the halves of a twin, `root` and `parent` a family."
    yield "splits", "; ".join(f"{part}: {DESCRIPTIONS[part]}" for part in content.parts) + "."
    yield "external", "It stands alone: no record refers to a file elsewhere."
    yield (
        "noise",
        "\n\n".join(
            filter(None, [unvalidated(content), *map(for_markdown, content.copies.sentences())])
        ),
    )
    yield "identifiable", "Contributors appear by pseudonym alone; no hour of writing is given."
    days = sorted({p.origin.created for p in content.problems if p.origin and p.origin.created})
    if days:
        yield "timeframe", f"{days[0]} to {days[-1]}."
    if any("release.judges" in p.extra for p in content.problems):
        yield "mechanisms", "\n".join(judges(content))
    steps = "\n".join(funnel(content)).strip()
    if steps:
        yield "preprocessing", steps
    yield "software", f"Written by {MADE_WITH}, which is open source."
    yield "other_uses", about.intended_use
    yield "risks", about.known_limits
    yield (
        "how",
        "As this folder: JSON Lines and Parquet."
        + (f" Homepage: {for_markdown(about.homepage)}" if about.homepage else ""),
    )
    yield "when", f"{about.date} (version {about.version})."
    yield "licence", f"{for_markdown(about.licence)}."
    yield "third_parties", "LICENCES.md has the licence and attribution of every source."
    yield "contact", for_markdown(about.contact)
    yield "updates", "CHANGELOG.md and tombstones.jsonl say what changed from version to version."


NOT_STATED = "not stated"


def or_not_stated(text: str) -> str:
    """Return paragraphs of release.toml as Markdown, or that nothing is stated."""
    return markdown_block(text).strip() or NOT_STATED


class Code(str):
    """A value that is written as code: the name of a file or column, a signature."""


def cell(value: object) -> str:
    r"""Return a value as a cell of a table.

    >>> cell("a|b"), cell(12345)
    ('a\\|b', '12,345')
    """
    if isinstance(value, Code):
        return markdown_code(value).replace("|", "\\|")
    return f"{value:,}" if isinstance(value, int) else for_markdown(value)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return the lines of a table; columns of numbers stand to the right."""
    rows = list(rows)
    right = [
        bool(rows) and all(isinstance(row[at], int) for row in rows) for at in range(len(head))
    ]
    return [
        f"| {' | '.join(head)} |",
        f"|{'|'.join('---:' if one else '---' for one in right)}|",
        *(f"| {' | '.join(map(cell, row))} |" for row in rows),
    ]


_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""The hub's size categories."""


DOCUMENTS: Mapping[str, Callable[[Content], str]] = {
    "README.md": card,
    "DATASHEET.md": datasheet,
    "LICENCES.md": licences,
    "CONTRIBUTORS.csv": contributors,
    "CHANGELOG.md": lambda content: content.history,
    "tombstones.jsonl": lambda content: tombstone_lines(content.tombstones),
    "CANARY": lambda content: canary_text(content.about.name, content.canary),
    "PUSH.md": push,
}
"""The texts of a release in addition to its data: the name of each file, and what writes it."""
