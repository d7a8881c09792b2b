"""What `winosmith convert` decides: the format to write, the files it may touch, the recast."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from winosmith import formats
from winosmith.errors import FormatError, OutputError
from winosmith.formats import Contents, Entry, Format, Item, Losses
from winosmith.problem import Claim, Problem
from winosmith.recast import to_claims, to_problems
from winosmith.records import canonical, claim_record, problem_record

__all__ = ["WRITABLE", "Made", "check_paths", "counted", "made_of", "noun", "target_format"]

WRITABLE = [known for known in formats.FORMATS if known.write is not None]

_OWN = {".jsonl": "winosmith", ".csv": "csv"}
"""Endings that several formats share, and that ask for the one that loses nothing."""


def target_format(target: str, to_name: str | None) -> Format:
    """Return the format that `--to` names, or else the one whose ending OUT has.

    Raises:
        OutputError: no format, or more than one, has the ending.
    """
    ending = Path(target).suffix.lower()
    to_name = to_name or _OWN.get(ending)
    if to_name:
        return formats.format_named(to_name)
    fitting = [known for known in WRITABLE if known.suffix == ending]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(known.name for known in fitting or WRITABLE)
    what = f"several formats have the ending {ending}" if fitting else "its ending tells no format"
    raise OutputError(f"{target}: {what}; name one with --to ({names})")


def check_paths(source: str, target: str, skip_bad: str | None, force: bool) -> None:
    """Refuse to write over what is read, or, without `--force`, over any file.

    Raises:
        OutputError: two of the files are one, or one exists, or OUT is a device.
    """
    paths = [Path(path).resolve() for path in (source, target, skip_bad) if path]
    if len(set(paths)) < len(paths):
        raise OutputError("IN, OUT and the file of --skip-bad must be different files")
    if Path(target).exists() and not Path(target).is_file():
        raise OutputError(f"{target} is no file; OUT is read again after it is written")
    for path in (target, skip_bad):
        if path and Path(path).is_file() and not force:
            raise OutputError(f"{path} exists; choose another name, or add --force to overwrite it")


@dataclass
class Made:
    """What is to be written, with the lines it comes from, and what is left over.

    Attributes:
        items: the problems or claims to write.
        lines: the 1-based line of the input where each starts.
        aside: what can't be read, grouped or written, each with its line and reason.
        lost: what the recast itself can't carry over.
        embargoed: how many problems were left out because they are under embargo.
    """

    items: Sequence[Item]
    lines: Sequence[int]
    aside: list[Entry] = field(default_factory=list)
    lost: Losses = field(default_factory=Losses)
    embargoed: int = 0

    def reasons(self) -> list[tuple[str, int]]:
        """Return why something was left over, and how often, the most frequent first."""
        return Counter(left.reason or "" for left in self.aside).most_common()

    def fitting(self, known: Format) -> Made:
        """Return what fits into a format; the rest is left over."""
        reasons = formats.unfit(self.items, known.name)
        left = [_left(self.items[row], self.lines[row], why) for row, why in reasons.items()]
        rows = [row for row in range(len(self.items)) if row not in reasons]
        return Made(
            [self.items[row] for row in rows],
            [self.lines[row] for row in rows],
            [*self.aside, *left],
            self.lost,
            self.embargoed,
        )


def _left(item: Item, line: int, reason: str) -> Entry:
    record = claim_record(item) if isinstance(item, Claim) else problem_record(item)
    return Entry(line, canonical(record), reason=reason)


def made_of(contents: Contents, kind: str | None, with_embargo: bool) -> Made:
    """Return the items as they are (None), as claims, or as problems, without those under embargo.

    Args:
        contents: of the file that is read.
        kind: "claims" or "problems" to recast, None to leave them as they are.
        with_embargo: leave those under embargo in.

    Raises:
        FormatError: they are of that kind already, or claims would lose the mark of the embargo.
    """
    public = [not (isinstance(item, Problem) and item.embargo) for item in contents.items]
    if with_embargo and kind == "claims" and not all(public):
        raise FormatError("a claim would lose the embargo of its problem; leave out --with-embargo")
    if with_embargo or all(public):
        return _recast(contents, kind)
    items = [item for item, kept in zip(contents.items, public, strict=True) if kept]
    lines = [line for line, kept in zip(contents.lines, public, strict=True) if kept]
    made = _recast(replace(contents, items=items, lines=lines), kind)
    return replace(made, embargoed=public.count(False))


def _recast(contents: Contents, kind: str | None) -> Made:
    items, lines = contents.items, contents.lines
    if kind is None:
        return Made(items, lines, list(contents.bad))
    wanted: type[Item] = Claim if kind == "claims" else Problem
    if any(isinstance(item, wanted) for item in items):
        raise FormatError(f"the file holds {kind} already; leave out --recast {kind}")
    if kind == "claims":
        problems = [item for item in items if isinstance(item, Problem)]
        repeated = [
            line for line, problem in zip(lines, problems, strict=True) for _ in problem.options
        ]
        bare = [
            replace(problem, twin_id=None, origin=None, lineage=None, embargo=False)
            for problem in problems
        ]
        lost = formats.losses(problems, bare)
        return Made(to_claims(problems), repeated, list(contents.bad), lost)
    claims = [item for item in items if isinstance(item, Claim)]
    grouped = to_problems(claims)
    first = {
        claim.problem_id: line for claim, line in reversed(list(zip(claims, lines, strict=True)))
    }
    left = [_left(found.claim, lines[found.row], found.reason) for found in grouped.leftovers]
    made = grouped.problems.problems
    return Made(made, [first[problem.id] for problem in made], [*contents.bad, *left])


def noun(items: Sequence[Item]) -> str:
    """Return what to call the items: problems, claims, or records when there are both."""
    if all(isinstance(item, Problem) for item in items):
        return "problems"
    return "claims" if all(isinstance(item, Claim) for item in items) else "records"


def counted(items: Sequence[Item]) -> str:
    """Return how many items there are, with what to call them: "1 problem", "2 claims"."""
    name = noun(items)
    return f"{len(items)} {name if len(items) != 1 else name.removesuffix('s')}"
