"""`winosmith convert`: read any known format and write one of ours, or the task of a harness."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from winosmith import formats
from winosmith.cli import _options
from winosmith.cli._printing import print_json, say
from winosmith.data import Place
from winosmith.errors import FormatError, OutputError
from winosmith.formats import Contents, Entry, Item, Losses
from winosmith.problem import Claim, Problem
from winosmith.recast import to_claims, to_problems
from winosmith.records import canonical, claim_record, problem_record

WRITERS = {known.name: known.writer for known in formats.FORMATS if known.writer}
"""The formats that are written, by name; of those with one extension, the first loses nothing."""

HARNESSES = ("lm-eval", "inspect-ai")

_REASONS = 5
"""How many of the reasons are reported, the most frequent first."""


@click.command()
@click.argument("source", metavar="IN", type=_options.DATA)
@click.argument("target", metavar="OUT", type=click.Path())
@_options.format_option
@click.option("--to", "to_name",
              type=click.Choice([*WRITERS, *HARNESSES]),
              metavar="FORMAT", help=f"Format of OUT ({', '.join(WRITERS)}) or a harness "
              f"({', '.join(HARNESSES)}); by default found from the extension of OUT.")  # fmt: skip
@click.option("--recast", "kind", type=click.Choice(["problems", "claims"]), help="Convert "
              "true-or-false claims into problems, or problems into claims.")  # fmt: skip
@click.option("--with-embargo", is_flag=True, help="Keep problems under embargo, in a format that "
              "keeps the mark (winosmith, csv).")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@_options.json_option
def command(
    source: str,
    target: str,
    format_name: str | None,
    to_name: str | None,
    kind: str | None,
    with_embargo: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Read IN in any known format and write OUT in another.

    An OUT that ends in .jsonl is winosmith's own format, one record a line,
    which loses nothing; .csv is a plain table. Any other format is named with
    --to. After writing, OUT is read again, and the fields that its format
    could not hold are listed. Problems under embargo are omitted, and counted.

    \b
      winosmith convert WSCollection.xml wsc.jsonl
      winosmith convert val.jsonl problems.jsonl --recast problems
      winosmith convert twins.jsonl claims.jsonl --to superglue-wsc --recast claims

    For the harnesses lm-eval and inspect-ai, OUT is a folder: a task that they
    run as it is, with the answers.

    \b
      winosmith convert twins.jsonl twins-task --to lm-eval

    """  # noqa: D301
    if to_name in HARNESSES:
        if kind or with_embargo or force:
            raise OutputError("a harness takes neither --recast nor --with-embargo nor --force")
        export(source, target, format_name, to_name, as_json)
        return
    into = to_name or format_of_extension(target)
    skip_bad = _options.bad_records_file()
    check_paths(source, target, skip_bad, force)
    contents = formats.scan(source, format_name, **_options.how_read())
    if contents.bad and skip_bad is None:
        contents.refuse()
    made = _written(made_of(contents, kind, with_embargo), target, into, skip_bad)
    lost = formats.losses(made.items, formats.scan(target, into).items)
    if as_json:
        print_json(_report(contents, made, into, lost))
    else:
        _tell(source, target, contents, made, into, lost, skip_bad)


_LIST = "\n".join(f"  {known.name:<20}  {known.title}" for known in formats.FORMATS)
command.epilog = f"\b\nFormats that are read:\n{_LIST}"


def _written(made: Made, target: str, into: str, skip_bad: str | None) -> Made:
    """Write what there is; what does not fit ends the command or, with --skip-bad, is left over."""
    made.set_aside(skip_bad)
    try:
        _write(made, target, into)
    except FormatError as error:
        holds = WRITERS[into].holds
        if not (made.items and all(isinstance(item, holds) for item in made.items)):
            raise
        if skip_bad is None:
            raise error.because(f"{error.reason}; {formats.SKIP_BAD}") from error
        made = made.fitting(into)
        made.set_aside(skip_bad)
        _write(made, target, into)
    return made


def _write(made: Made, target: str, into: str) -> None:
    if not made.items:
        reasons = [f"{count} x {reason}" for reason, count in made.reasons()[:_REASONS]]
        if made.embargoed:
            reasons.append(f"{made.embargoed} under embargo; `with_embargo=True` keeps them")
        why = "; ".join(reasons) or "the file contains none"
        raise FormatError(f"no record is left to write ({why})")
    formats.write(made.items, target, into)


def _tell(
    source: str,
    target: str,
    contents: Contents,
    made: Made,
    into: str,
    lost: Losses,
    skip_bad: str | None,
) -> None:
    what = noun(made.items)
    say(f"read: {source} ({contents.format.name}), {counted(contents.items)}")
    for note in contents.notes:
        say(f"note: {note}")
    if made.embargoed:
        say(f"left out: {made.embargoed} under embargo")
    if made.aside:
        say(f"left over: {len(made.aside)} records{f', in {skip_bad}' if skip_bad else ''}")
    for reason, count in made.reasons()[:_REASONS]:
        say(f"  {count} x {reason}")
    if len(made.reasons()) > _REASONS:
        say(f"  and {len(made.reasons()) - _REASONS} more reasons")
    say(f"wrote: {target} ({into}), {counted(made.items)}")
    told = [*made.lost.lines(noun(contents.items)), *lost.lines(what)]
    for line in told or ["lost: nothing"]:
        say(line)


def _report(contents: Contents, made: Made, into: str, lost: Losses) -> dict[str, Any]:
    return {
        "from": contents.format.name,
        "to": into,
        "read": len(contents.items),
        "notes": list(contents.notes),
        "left_over": dict(made.reasons()),
        "embargoed": made.embargoed,
        "written": len(made.items),
        "lost": dict(sorted((lost.lost | made.lost.lost).items())),
        "changed": dict(sorted(lost.changed.items())),
        "added": dict(sorted(lost.added.items())),
    }


def format_of_extension(target: str) -> str:
    """Return the first format whose files have the extension of OUT.

    Raises:
        OutputError: none of those that are written has it.
    """
    suffix = Path(target).suffix.lower()
    for name, writer in WRITERS.items():
        if writer.suffix == suffix:
            return name
    raise OutputError(
        f"{target}: no format that is written has the extension {suffix!r}; name one with --to "
        f"({', '.join(WRITERS)})"
    )


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
        places: where each is in the input.
        aside: what can't be read, grouped or written, each with its place and reason.
        lost: what the recast itself can't carry over.
        embargoed: how many problems were omitted because they are under embargo.
    """

    items: Sequence[Item]
    places: Sequence[Place]
    aside: list[Entry] = field(default_factory=list)
    lost: Losses = field(default_factory=Losses)
    embargoed: int = 0

    def reasons(self) -> list[tuple[str, int]]:
        """Return why something was left over, and how often, the most frequent first."""
        return Counter(left.reason or "" for left in self.aside).most_common()

    def set_aside(self, path: str | None) -> None:
        """Write what was left over to the file of `--skip-bad`, if there is any."""
        if self.aside and path is not None:
            formats.set_aside(self.aside, path)

    def fitting(self, format_name: str) -> Made:
        """Return what fits into a format; the rest is left over."""
        reasons = formats.unfit(self.items, format_name)
        left = [_left(self.items[row], self.places[row], why) for row, why in reasons.items()]
        rows = [row for row in range(len(self.items)) if row not in reasons]
        return Made(
            [self.items[row] for row in rows],
            [self.places[row] for row in rows],
            [*self.aside, *left],
            self.lost,
            self.embargoed,
        )


def _left(item: Item, place: Place, reason: str) -> Entry:
    record = claim_record(item) if isinstance(item, Claim) else problem_record(item)
    return Entry(place, canonical(record), reason=reason)


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
    places = [place for place, kept in zip(contents.places, public, strict=True) if kept]
    made = _recast(replace(contents, items=items, places=places), kind)
    return replace(made, embargoed=public.count(False))


def _recast(contents: Contents, kind: str | None) -> Made:
    items, places = contents.items, contents.places
    if kind is None:
        return Made(items, places, list(contents.bad))
    wanted: type[Item] = Claim if kind == "claims" else Problem
    if any(isinstance(item, wanted) for item in items):
        raise FormatError(f"the file holds {kind} already; leave out --recast {kind}")
    if kind == "claims":
        problems = [item for item in items if isinstance(item, Problem)]
        repeated = [
            place for place, problem in zip(places, problems, strict=True) for _ in problem.options
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
        claim.problem_id: place for claim, place in reversed(list(zip(claims, places, strict=True)))
    }
    left = [_left(found.claim, places[found.row], found.reason) for found in grouped.leftovers]
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


def export(source: str, target: str, format_name: str | None, harness: str, as_json: bool) -> None:
    """Write the problems of a file as a task of a harness, and say how to run it."""
    from winosmith import release  # imports every filter

    everything = _options.read_data(source, format_name)
    data = everything.select(row for row, p in enumerate(everything) if not p.embargo)
    left_out = len(everything) - len(data)
    if harness == "lm-eval":
        names = release.lm_eval_task(data, target)
        run = f"lm_eval --include_path {shlex.quote(target)} --tasks {','.join(names)} --model hf …"
    else:
        names = (release.inspect_task(data, target),)
        run = f"cd {shlex.quote(target)} && inspect eval {names[0]}.py --model …"
    if as_json:
        report = {"to": harness, "tasks": list(names), "written": len(data)}
        print_json({**report, "embargoed": left_out})
        return
    if left_out:
        say(f"left out: {left_out} under embargo")
    say(f"wrote: {target} ({harness}), {len(data)} problems")
    say(f"run: {run}")
