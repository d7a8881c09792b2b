"""DATASHEET.md: the questions of Gebru et al. (2021), answered from what is known.

What release.toml answers stands first; what the files themselves tell stands beside it; the rest is
"not stated", and never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator

from winosmith.release._canary import comment
from winosmith.release._card import funnel, judges, unvalidated
from winosmith.release._content import Content
from winosmith.release._markdown import NOT_STATED
from winosmith.release._parts import TEST, TOLD
from winosmith.release._questions import SECTIONS

__all__ = ["datasheet"]


def datasheet(content: Content) -> str:
    """Return DATASHEET.md."""
    about, known = content.about, dict(_known(content))
    lines = [comment(content.canary), "", f"# Datasheet of {about.title}, {about.version}", ""]
    lines += ["The questions are those of Gebru et al. (2021), Datasheets for Datasets.", ""]
    for title, questions in SECTIONS:
        lines += [f"## {title}", ""]
        for key, question in questions:
            told = [text for text in (about.datasheet.get(key, ""), known.get(key, "")) if text]
            lines += [f"**{question}**", "", "\n\n".join(told) or NOT_STATED, ""]
    return "\n".join(lines)


def _known(content: Content) -> Iterator[tuple[str, str]]:
    """Yield what the files and release.toml tell, by the question's key."""
    about, counts = content.about, content.counts
    everything = counts["all"]
    yield "creators", ", ".join(about.authors)
    yield "instances", "A sentence with one blank, and two to five options of which one is right."
    yield (
        "counts",
        f"{everything['problems']:,} problems: {everything['twins']:,} whole twins and "
        f"{everything['singles']:,} singles; "
        + ", ".join(f"{part} {counts[part]['problems']:,}" for part in content.parts)
        + ".",
    )
    if content.left_out:
        left = ", ".join(f"{reason} {count:,}" for reason, count in content.left_out.items())
        yield "sample", f"Left out of this release: {left}."
    yield "fields", "README.md lists the columns."
    if TEST in content.parts:
        yield "labels", "The right option; that of test is withheld."
        yield "missing", "The answers of test, so that they can be used to measure."
    else:
        yield "labels", "The right option."
    yield "relations", "`twin_id` joins the halves of a twin, `root` and `parent` a family."
    yield "splits", "; ".join(f"{part}: {TOLD[part]}" for part in content.parts) + "."
    yield "external", "It stands alone: no record refers to a file elsewhere."
    yield "noise", "\n\n".join(filter(None, [unvalidated(content), *content.copies.told()]))
    yield "identifiable", "Contributors appear by pseudonym alone; no hour of writing is given."
    days = sorted({p.origin.created for p in content.problems if p.origin and p.origin.created})
    if days:
        yield "timeframe", f"{days[0]} to {days[-1]}."
    if any("release.judges" in p.extra for p in content.problems):
        yield "mechanisms", "\n".join(judges(content))
    steps = "\n".join(funnel(content)).strip()
    if steps:
        yield "preprocessing", steps
    yield "software", f"Written by {content.made_with}, which is open source."
    yield "other_uses", about.intended_use
    yield "risks", about.known_limits
    yield (
        "how",
        "As this folder: JSON Lines and Parquet."
        + (f" Homepage: {about.homepage}" if about.homepage else ""),
    )
    yield "when", f"{about.date} (version {about.version})."
    yield "licence", f"{about.licence}."
    yield "third_parties", "LICENCES.md has the licence and attribution of every source."
    yield "contact", about.contact
    yield "updates", "CHANGELOG.md and tombstones.jsonl say what changed from version to version."
