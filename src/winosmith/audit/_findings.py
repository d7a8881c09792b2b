"""Export findings for code reviews: GitHub annotations, job summary, SARIF and badge."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from winosmith._version import __version__
from winosmith.audit._audit import RULES, Finding, make_finding_id
from winosmith.errors import FormatError
from winosmith.escape import escape_github, escape_json, escape_markdown, escape_page, escape_sarif
from winosmith.records import dump_json, parse_json, read_text
from winosmith.text import format_count

_MAX_ANNOTATIONS = 50
"""Maximum number of annotations and summary rows. GitHub shows ten per level and step."""

_MAX_SARIF_FINDINGS = 5_000
"""Maximum number of findings in SARIF. GitHub shows no more, and refuses more than 25,000."""


def format_annotations(findings: Sequence[Finding]) -> list[str]:
    """Format the first findings as GitHub workflow commands that annotate lines of files.

    >>> one = Finding("error", "options", "quiz", "q1 has equal options", "a,b.json", 3, "")
    >>> format_annotations([one])
    ['::error title=winosmith: options,file=a%2Cb.json,line=3::q1 has equal options']
    """
    lines = []
    for one in findings[:_MAX_ANNOTATIONS]:
        place = {"title": f"winosmith: {one.rule}", "file": one.path, "line": one.line}
        keys = ",".join(
            f"{key}={escape_github(value, is_property=key != 'title')}"
            for key, value in place.items()
            if value is not None
        )
        kind = "notice" if one.level == "note" else one.level
        lines.append(f"::{kind} {keys}::{escape_github(one.text)}")
    return lines


def format_job_summary(
    title: str, verdict: str, findings: Sequence[Finding], *, only_new: bool = False
) -> str:
    """Format the verdict and a table of the first findings as Markdown.

    Args:
        title: heading of the summary.
        verdict: verdict of the audit.
        findings: findings of the audit.
        only_new: whether findings of an earlier audit are omitted.
    """
    lines = [f"### {escape_markdown(title)}", "", escape_markdown(verdict), ""]
    if not findings:
        return "\n".join([*lines, f"No {'new ' * only_new}findings.", ""])
    lines += ["| level | place | finding |", "|---|---|---|"]
    for one in findings[:_MAX_ANNOTATIONS]:
        place = f"{one.path or one.split}{'' if one.line is None else f':{one.line}'}"
        cells = (f"{one.level}: {one.rule}", place, one.text)
        lines.append(f"| {' | '.join(map(escape_markdown, cells))} |")
    more = len(findings) - _MAX_ANNOTATIONS
    return "\n".join([*lines, *(["", f"{more:,} more findings."] if more > 0 else []), ""])


def format_sarif(findings: Sequence[Finding]) -> str:
    """Format the findings as SARIF 2.1.0, for GitHub code scanning.

    Each result has a rule, a file and a line, which is 1 if the line is not known. The fingerprint
    stays the same if the item moves within its file. At most 5,000 findings are included.
    """
    names = [*RULES]
    results = [
        {
            "ruleId": one.rule,
            "ruleIndex": names.index(one.rule),
            "level": one.level,
            "message": {"text": escape_sarif(f"{one.text}.")},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": quote(one.path)},
                        "region": {"startLine": one.line or 1},
                    }
                }
            ],
            "partialFingerprints": {"primaryLocationLineHash": one.id},
        }
        for one in findings[:_MAX_SARIF_FINDINGS]
        if one.path is not None
    ]
    rules = [
        {"id": name, "name": name, "shortDescription": {"text": title}}
        for name, title in RULES.items()
    ]
    driver = {"name": "winosmith", "version": __version__, "rules": rules}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return escape_json(dump_json(log)) + "\n"


def render_badge(findings: Sequence[Finding]) -> str:
    """Render an SVG badge with the number of findings, in red if one is an error."""
    count = format_count(len(findings), "finding") if findings else "no findings"
    is_red = any(one.level == "error" for one in findings)
    colour = "#b3261e" if is_red else "#8a5a00" if findings else "#1f6f3d"
    texts = [("winosmith audit", "#444"), (count, colour)]
    x, parts = 0, []
    for text, fill in texts:
        width = 7 * len(text) + 12
        parts.append(
            f'<rect x="{x}" width="{width}" height="20" fill="{fill}"/><text x="{x + 6}" y="14" '
            f'textLength="{width - 12}">{escape(escape_page(text))}</text>'
        )
        x += width
    title = escape(escape_page(f"winosmith audit: {count}"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{x}" height="20" role="img" '
        f'aria-label="{title}"><title>{title}</title><g fill="#fff" '
        f'font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{"".join(parts)}</g></svg>\n'
    )


def read_baseline(path: str | Path) -> dict[str, float]:
    """Read the baseline of `Audit.judge` from an earlier audit: points of findings by id.

    Cues above their chance limits are included even if they are not flagged: if several cues select
    nearly the same options, another item may change which of them is flagged.

    Args:
        path: path of the audit's JSON.

    Raises:
        FormatError: the file is not the JSON of an audit.
    """
    try:
        record = parse_json(read_text(path))
        known = {
            f"{make_finding_id('cue', name, one['cue'])}:1": float(one["right"] - one["expected"])
            for name, split in record["splits"].items()
            for one in split["cues"]
            if one["right"] > one["high"]
        }
        return known | {str(one["id"]): float(one.get("points", 0.0)) for one in record["findings"]}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FormatError(
            "the file is not an audit's JSON output; make it with `winosmith audit … --json`", path
        ) from None
