"""The files of a release that follow from its content: cards, licences, credit, how to push it."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping
from io import StringIO

from winosmith.cells import guarded
from winosmith.release._canary import canary_text, comment
from winosmith.release._card import card
from winosmith.release._changes import tombstone_lines
from winosmith.release._content import Content
from winosmith.release._datasheet import datasheet
from winosmith.release._markdown import or_not_stated
from winosmith.release._parts import side

__all__ = ["documents"]


def documents(content: Content) -> Mapping[str, str]:
    """Return the texts of a release beside its data, by their names."""
    return {
        "README.md": card(content),
        "DATASHEET.md": datasheet(content),
        "LICENCES.md": licences(content),
        "CONTRIBUTORS.csv": contributors(content),
        "CHANGELOG.md": content.history,
        "tombstones.jsonl": tombstone_lines(content.tombstones),
        "CANARY": canary_text(content.about.name, content.canary),
        "PUSH.md": push(content),
    }


def licences(content: Content) -> str:
    """Return LICENCES.md: the whole's licence, then each source's with its attribution."""
    about = content.about
    held: Counter[str] = Counter()
    for problem in content.problems:
        name = problem.origin.source if problem.origin else None
        held[name if name in {s.name for s in about.source} and name else "*"] += 1
    lines = [comment(content.canary), "", f"# Licences of {about.title}, {about.version}", ""]
    lines += [f"The whole is under **{about.licence}**.", ""]
    for source in about.source:
        title = "Everything of no other source" if source.name == "*" else source.name
        lines += [f"## {title}", "", f"- problems: {held[source.name]:,}"]
        lines += [f"- licence: {source.licence}"]
        lines += [f"- asks for: {', '.join(sorted(source.asks)) or 'nothing'}"]
        lines += [f"- attribution: {or_not_stated(source.attribution)}"]
        lines += [f"- where: {or_not_stated(source.url)}"]
        lines += [f"- permission: {source.permission}"] if source.permission else []
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
        writer.writerow([guarded(author), by.total(), *(by[one] for one in sides)])
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
