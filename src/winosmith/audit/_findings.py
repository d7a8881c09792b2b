"""Checks and rules of an audit, and formats of its findings for code reviews and authors.

Code reviews show findings as GitHub annotations, as a job summary and as SARIF. Authors get a
worklist of options to lengthen, so that the longest option is the key only by chance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from hashlib import sha256
from math import ceil
from pathlib import Path
from typing import IO, Literal
from urllib.parse import quote

from winosmith import formats
from winosmith._version import __version__
from winosmith.audit._cues import detect_classes
from winosmith.audit._split import SplitAudit
from winosmith.blocks import normalize_tokens
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, InputError
from winosmith.escape import escape_github, escape_json, escape_markdown, escape_sarif
from winosmith.problem import Problem
from winosmith.recast import refers_to_others
from winosmith.records import dump_json, parse_json, read_text
from winosmith.report import join_names, percent
from winosmith.results import IF_ANY, Result, shown

_MAX_ANNOTATIONS = 50
"""Maximum number of annotations and summary rows. GitHub shows ten per level and step."""

_MAX_SARIF_FINDINGS = 5_000
"""Maximum number of findings in SARIF. GitHub shows no more, and refuses more than 25,000."""


@dataclass(frozen=True)
class Check:
    """A check for one kind of fault in the items of a split.

    Attributes:
        title: description of the findings, in the plural.
        find: returns the ids of items or of groups of items, or a sentence about each field or
            record that is not an item; None if there are too few items for the check.
        rule: name of the rule in `Audit.failures`; empty if there is none.
        template: template of a finding: {0} is an item, {1} the first item of its group; empty if
            the findings are not items.
    """

    title: str
    find: Callable[[SplitAudit], Sequence[Sequence[str]] | None]
    rule: str = ""
    template: str = ""

    def format_examples(self, groups: Sequence[Sequence[str]], limit: int = 3) -> str:
        """Format the first groups as text.

        >>> Check("", lambda part: ()).format_examples([("0", "240"), ("3", "5")])
        '0 and 240; 3 and 5'
        """
        if limit > 1 and all(len(ids) == 1 for ids in groups):
            return join_names([ids[0] for ids in groups], limit)
        more = [f"{len(groups) - limit:,} more"] * (len(groups) > limit)
        return "; ".join([*map(join_names, groups[:limit]), *more])


CHECKS = (
    Check(
        "groups of identical items",
        lambda part: part.review.copies.groups,
        "duplicates",
        "item {0} is identical to item {1}",
    ),
    Check(
        "groups of identical items with different keys",
        lambda part: part.review.copies.contradictions,
        "contradictions",
        "item {0} is identical to item {1}, but items with this text have different keys",
    ),
    Check(
        "fields that reveal the key",
        lambda part: (
            None if part.review.leaks is None else [(str(leak),) for leak in part.review.leaks]
        ),
        "leak",
    ),
    Check("pairs of nearly identical items", lambda part: part.review.near_duplicates),
    Check(
        "pairs of nearly identical items with different answers",
        lambda part: part.review.differing_pairs,
    ),
    Check(
        "items with options that differ at most in case or final punctuation",
        lambda part: [(one,) for one in part.review.equal_option_ids],
        "options",
        "{0} has options that differ at most in case or final punctuation",
    ),
    Check(
        "items with a different number of options than most",
        lambda part: [(one,) for one in part.review.uneven_ids],
    ),
    Check(
        "items with an unfilled template field",
        lambda part: [(one,) for one in part.review.unfilled_ids],
        "unfilled",
        "{0} has an unfilled template field",
    ),
    Check(
        "records that are not items",
        lambda part: [(one,) for one in part.refused],
        "refused",
        "{0}",
    ),
)
"""The checks, in the order of the report."""

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding(Result):
    """One finding of an audit, as shown in code reviews.

    Attributes:
        level: "error" if the finding breaks a rule of `Audit.get_new_findings`; "note" if no change
            is needed.
        rule: a rule of `Audit.failures`, or "shared" for items that occur in several splits.
        split: name of the split.
        text: a sentence without a full stop.
        path: the item's file, relative to the current folder; None if not known. A finding about
            the whole split is located at its first item, or at the first item that shows it.
        line: the 1-based number of the item's first line; None if not known.
        id: a digest of the rule and of the item's content. The digest does not depend on the item's
            line, file or id. The id of the nth identical finding ends in ":n".
        points: accuracy of a cue or model above its expected accuracy, 0–1; 0 for other findings.
    """

    level: Level = field(metadata=shown("level"))
    rule: str = field(metadata=shown("rule"))
    split: str
    text: str = field(metadata=shown("finding"))
    path: str | None = field(metadata=shown("file"))
    line: int | None = field(metadata=shown("line"))
    id: str
    points: float = field(default=0.0, metadata=IF_ANY)


RULES = {
    "cue": "cues that select the correct option more often than by chance",
    "probe": "models of words that predict the correct option",
    "borderline": "cues for which the random draws are too few to decide whether they are flagged",
    **{check.rule: check.title for check in CHECKS if check.rule},
    "shared": "items that occur in several splits",
}
"""Description of each kind of finding, in the order of the report."""

COVERING_RULES = {"shared": ("leak", "duplicates")}
"""Rules of `Audit.failures` that cover findings without a rule of the same name."""

RULE_FORMS = {
    name: f"{name}=3pt" if name in ("cue", "probe") else name
    for name in RULES
    if name not in COVERING_RULES
}
"""An example of each rule of `Audit.failures`."""

INDIVIDUAL_RULES = ("cue", "probe", "borderline", "leak")
"""Rules whose findings `Audit.failures` reports one by one."""


def iter_findings(part: SplitAudit) -> Iterator[Finding]:
    for cue in part.battery.scores:
        text = f"“{cue.cue}” is correct for {percent(cue.right)} of the items"
        shows = part.items.find_first_solved_id(cue.cue)
        if cue.rank is not None:
            text = f"{text} (expected: {percent(cue.expected)})"
            yield make_finding(part, "cue", text, shows, cue.cue, cue.right - cue.expected)
        elif cue.borderline:
            text = (
                f"{text} (chance limit: {percent(cue.high)}); {part.battery.draws:,} draws are "
                "too few to decide whether it is flagged"
            )
            yield make_finding(part, "borderline", text, shows, cue.cue)
    for probe in part.significant_probes:
        text = (
            f"a {probe.model} is correct for {percent(probe.right)} of the items (expected: "
            f"{percent(probe.expected)})"
        )
        yield make_finding(part, "probe", text, "", probe.model, probe.right - probe.expected)
    for leak in part.review.leaks or ():
        yield make_finding(part, "leak", str(leak), "", f"{leak.field}, {leak.tell}")
    for check in CHECKS:
        for ids in (check.find(part) or ()) if check.template else ():
            for item in ids[1:] or ids:
                text = check.template.format(part.get_label(item), part.get_label(ids[0]))
                yield make_finding(part, check.rule, text, item)


def make_finding(
    part: SplitAudit, rule: str, text: str, item: str, topic: str | None = None, points: float = 0.0
) -> Finding:
    """Make a finding about an item or, if given, about another `topic`.

    The id does not end in a number yet; see `Finding.id`.
    """
    place = part.places.get(item) or part.places.get(part.dataset[0].id)
    content: object = topic
    if topic is None:
        problem = part.problems_by_id.get(item)
        content = text.removeprefix(f"{place}: ")
        if problem is not None:
            options = sorted(map(normalize_tokens, problem.options))
            content = [normalize_tokens(problem.sentence), options]
    level: Level = "note" if rule == "borderline" else "warning"
    path = Path(place.path) if place else None
    if path and path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    file = path.as_posix() if path else None
    line = place.number if place and place.unit == "line" else None
    own_id = make_finding_id(rule, "" if topic is None else part.name, content)
    return Finding(level, rule, part.name, text, file, line, own_id, points)


def make_finding_id(rule: str, split: str, content: object) -> str:
    return sha256(dump_json([rule, split, content]).encode()).hexdigest()[:16]


def parse_rules(rules: str) -> list[tuple[str, float]]:
    """Parse the rules of `Audit.failures`; return the name and threshold, 0–1, of each.

    Raises:
        InputError: a rule is unknown; the message lists all rules.

    >>> parse_rules("cue=3pt, leak")
    [('cue', 0.03), ('leak', 0.0)]
    """
    found = []
    for rule in filter(None, map(str.strip, rules.split(","))):
        name, equals, points = rule.partition("=")
        number = re.fullmatch(r"(\d+(?:\.\d+)?)(?:pt)?", points)
        form = RULE_FORMS.get(name, "")
        if not form or bool(equals) != ("=" in form) or (equals and not number):
            near = get_close_matches(name, RULE_FORMS, 1)
            meant = f" (did you mean {RULE_FORMS[near[0]]}?)" if near else ""
            forms = ", ".join(RULE_FORMS.values())
            raise InputError(f"unknown rule {rule!r}{meant}; use {forms}")
        found.append((name, float(number[1]) / 100 if number else 0.0))
    return found


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
    results = []
    for one in findings[:_MAX_SARIF_FINDINGS]:
        if one.path is None:
            continue
        file, region = {"uri": quote(one.path)}, {"startLine": one.line or 1}
        results.append(
            {
                "ruleId": one.rule,
                "ruleIndex": names.index(one.rule),
                "level": one.level,
                "message": {"text": escape_sarif(f"{one.text}.")},
                "locations": [{"physicalLocation": {"artifactLocation": file, "region": region}}],
                "partialFingerprints": {"primaryLocationLineHash": one.id},
            }
        )
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


def read_baseline(path: str | Path) -> dict[str, float]:
    """Read a baseline for `Audit.get_new_findings`: the points of an audit's findings by id.

    Cues above their chance limits are included even if they are not flagged: if several cues select
    nearly the same options, another item may change which of them is flagged.

    Args:
        path: path of the earlier audit's JSON.

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


@dataclass(frozen=True)
class Rewrite:
    """A suggested rewrite: an incorrect option to lengthen.

    Attributes:
        id: id of the item, or its location if ids are locations.
        option: 0-based number of the longest incorrect option.
        text: text of the option.
        missing: number of characters to add, so that the option is longer than the key.
    """

    id: str
    option: int
    text: str
    missing: int


def list_rewrites(problems: Dataset | Sequence[Problem] | formats.Readable) -> list[Rewrite]:
    """List the options to lengthen so that keys are longest no more often than by chance.

    The number of options is the number of items whose key is the longest option in characters,
    minus the expected number. Options with the fewest missing characters come first. The expected
    number is the sum over the items of 1 / (number of options); a tie of the key with n - 1 other
    options counts 1 / n.

    Args:
        problems: the items, or any input of `formats.read`. Items without a key, with options of
            equal length, or with classes (yes and no) as options are ignored.

    Returns:
        The options in the order in which to lengthen them; empty if keys are the longest no more
        often than by chance.

    >>> items = [Problem(f"{n}", "Which?", ("a long one", "b", "cc"), 0, blank=None)
    ...          for n in range(3)]
    >>> [(one.id, one.text, one.missing) for one in list_rewrites(items)]
    [('0', 'cc', 9), ('1', 'cc', 9)]
    """
    dataset = formats.as_dataset(problems)
    classes = detect_classes(dataset)
    surplus = 0.0
    found: list[Rewrite] = []
    for problem, is_class in zip(dataset, classes, strict=True):
        lengths = [len(option.strip()) for option in problem.options]  # as the cue measures them
        key = problem.answer
        if key is None or is_class or len({*lengths}) == 1:
            continue
        longest = lengths.count(max(lengths))
        surplus += (lengths[key] == max(lengths)) / longest - 1 / len(lengths)
        if lengths[key] == max(lengths) and longest == 1:
            others = [
                at
                for at, option in enumerate(problem.options)
                if at != key and not refers_to_others(option, len(lengths))
            ]
            if not others:
                continue
            at = max(others, key=lengths.__getitem__)
            missing = lengths[key] - lengths[at] + 1
            found.append(Rewrite(problem.id, at, problem.options[at], missing))
    found.sort(key=lambda one: one.missing)
    return found[: max(0, ceil(surplus - 1e-9))]


def write_rewrites(rewrites: Sequence[Rewrite], file: IO[str]) -> None:
    """Write rewrites as a Markdown worklist with a check box for each option."""
    file.write(
        f"# Options to lengthen: {len(rewrites):,}\n\nThis list covers only “the longest, in "
        "characters”; other cues may still predict the key. After the changes, audit again.\n\n"
    )
    for one in rewrites:
        file.write(
            f"- [ ] {escape_markdown(one.id)}: option {one.option + 1}, "
            f"“{escape_markdown(one.text)}”: add {one.missing} characters or more\n"
        )
