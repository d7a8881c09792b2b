"""`winosmith convert`: read any known format, and write another format or the task of a harness."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from winosmith import formats
from winosmith.blocks import spread_embargo
from winosmith.cli import _options
from winosmith.cli._printing import print_json_if_requested, say
from winosmith.data import Place
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, OutputError
from winosmith.formats import Contents, Entry, Item, Losses
from winosmith.problem import Claim, Problem
from winosmith.recast import to_claims, to_problems
from winosmith.records import dump_json, make_claim_record, make_problem_record
from winosmith.text import format_count

WRITERS = {known.name: known.writer for known in formats.FORMATS if known.writer}
"""Writers by format name. If several formats have the same extension, the first is lossless."""

HARNESSES = ("lm-eval", "inspect-ai")

_LISTED_REASONS = 5
"""Maximum number of printed reasons, starting with the most frequent."""


@click.command()
@click.argument("source", metavar="IN", type=_options.DATA)
@click.argument("target", metavar="OUT", type=click.Path())
@_options.format_option
@click.option("--to", "to_name",
              type=click.Choice([*WRITERS, *HARNESSES]),
              metavar="FORMAT", help=f"Format of OUT ({', '.join(WRITERS)}) or a harness "
              f"({', '.join(HARNESSES)}); by default detected from the extension of "
              "OUT.")  # fmt: skip
@click.option("--recast", "kind", type=click.Choice(["problems", "claims"]), help="Convert "
              "true-or-false claims into problems, or problems into claims.")  # fmt: skip
@click.option("--errata", type=_options.FILE, metavar="FILE", help="Table of corrected keys with "
              "the columns id, old, new and evidence; keys are letters or option "
              "texts.")  # fmt: skip
@click.option("--with-embargo", is_flag=True, help="Include problems under embargo; only "
              "formats that can mark them (winosmith, csv) allow this.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@_options.json_option
def command(
    source: str,
    target: str,
    to_name: str | None,
    kind: str | None,
    errata: str | None,
    with_embargo: bool,
    force: bool,
) -> None:
    """Read IN in any known format and write OUT in another.

    If OUT ends in .jsonl, it gets winosmith's own format, one record per line, which loses nothing;
    .csv is a plain table. Name any other format with --to. OUT is read again after it is written,
    and the fields that its format can't store are listed. Problems under embargo, and their
    copies, are omitted and counted.

    \b
      winosmith convert WSCollection.xml wsc.jsonl
      winosmith convert val.jsonl problems.jsonl --recast problems
      winosmith convert twins.jsonl claims.jsonl --to superglue-wsc --recast claims
      winosmith convert quiz.csv corrected.csv --errata errata.csv

    For the harnesses lm-eval and inspect-ai, OUT is a folder with a task, including the answers,
    that they can run directly.

    \b
      winosmith convert twins.jsonl twins-task --to lm-eval

    """  # noqa: D301
    if to_name in HARNESSES:
        if kind or errata or with_embargo or force:
            raise OutputError(
                "--recast, --errata, --with-embargo and --force can't be used with a harness"
            )
        _write_harness_task(source, target, to_name)
        return
    into = to_name or _detect_output_format(target)
    skip_bad = _options.get_bad_records_file()
    _check_paths(source, target, skip_bad, force)
    if errata and Path(errata).resolve() == Path(target).resolve():
        raise OutputError("OUT and the file of --errata must be different files")
    contents = formats.scan(source, **_options.get_reading_arguments())
    if contents.bad and skip_bad is None:
        contents.raise_if_bad()
    contents, corrected = _correct_keys(contents, errata) if errata else (contents, 0)
    found = _write_items(_recast_items(contents, kind, with_embargo), target, into, skip_bad)
    losses = formats.find_losses(found.items, formats.scan(target, into).items)
    report = {
        "from": contents.format.name,
        "to": into,
        "read": len(contents.items),
        "notes": list(contents.notes),
        "left_over": dict(found.reasons),
        "embargoed": found.embargoed,
        "corrected": corrected,
        "written": len(found.items),
        "lost": dict(sorted((losses.lost | found.lost.lost).items())),
        "changed": dict(sorted(losses.changed.items())),
        "added": dict(sorted(losses.added.items())),
    }
    if print_json_if_requested(report):
        return
    say(f"read: {source} ({contents.format.name}), {_count_items(contents.items)}")
    for note in contents.notes:
        say(f"note: {note}")
    if errata:
        say(f"corrected: {format_count(corrected, 'key')}, by {errata}")
    if found.embargoed:
        say(f"omitted: {found.embargoed} under embargo")
    if found.leftovers:
        say(f"left over: {len(found.leftovers)} records{f', in {skip_bad}' if skip_bad else ''}")
    for reason, count in found.reasons[:_LISTED_REASONS]:
        say(f"  {count} x {reason}")
    if len(found.reasons) > _LISTED_REASONS:
        say(f"  and {len(found.reasons) - _LISTED_REASONS} more reasons")
    say(f"wrote: {target} ({into}), {_count_items(found.items)}")
    lost = [
        *found.lost.lines(_choose_noun(contents.items)),
        *losses.lines(_choose_noun(found.items)),
    ]
    for line in lost or ["lost: nothing"]:
        say(line)


_FORMAT_LIST = "\n".join(f"  {known.name:<20}  {known.title}" for known in formats.FORMATS)
command.epilog = f"\b\nFormats that are read:\n{_FORMAT_LIST}"


@dataclass(frozen=True)
class _Converted:
    """Items to write, with their locations in the input, and records that are left over."""

    pairs: Sequence[tuple[Item, Place]]
    leftovers: Sequence[Entry]
    lost: Losses = field(default_factory=Losses)
    embargoed: int = 0

    @property
    def items(self) -> list[Item]:
        return [item for item, _ in self.pairs]

    @property
    def reasons(self) -> list[tuple[str, int]]:
        return Counter(entry.reason or "" for entry in self.leftovers).most_common()


def _write_items(recast: _Converted, target: str, format_: str, skip_bad: str | None) -> _Converted:
    """Write the items, and return them.

    With `--skip-bad`, items that don't fit the format are moved to `leftovers`.
    """
    if recast.leftovers and skip_bad is not None:
        formats.write_bad_records(recast.leftovers, skip_bad)
    if not recast.items:
        reasons = [f"{count} x {reason}" for reason, count in recast.reasons[:_LISTED_REASONS]]
        if recast.embargoed:
            reasons.append(f"{recast.embargoed} under embargo; `with_embargo=True` keeps them")
        why = "; ".join(reasons) or "the file contains none"
        raise FormatError(f"no records are left to write ({why})")
    try:
        formats.write(recast.items, target, format_)
    except FormatError as error:
        if not all(isinstance(item, WRITERS[format_].item_types) for item in recast.items):
            raise
        if skip_bad is None:
            raise error.with_reason(f"{error.reason}; {formats.SKIP_BAD}") from error
        unfit = formats.find_unwritable(recast.items, format_)
        if not unfit:
            raise
        fitting = replace(
            recast,
            pairs=[pair for row, pair in enumerate(recast.pairs) if row not in unfit],
            leftovers=[
                *recast.leftovers,
                *(_make_leftover(*recast.pairs[row], why) for row, why in unfit.items()),
            ],
        )
        return _write_items(fitting, target, format_, skip_bad)
    return recast


def _make_leftover(item: Item, place: Place, reason: str) -> Entry:
    record = make_claim_record(item) if isinstance(item, Claim) else make_problem_record(item)
    return Entry(place, dump_json(record), reason=reason)


def _detect_output_format(target: str) -> str:
    suffix = Path(target).suffix.lower()
    for name, writer in WRITERS.items():
        if writer.suffix == suffix:
            return name
    raise OutputError(
        f"{target}: no output format has the extension {suffix!r}; name one with --to "
        f"({', '.join(WRITERS)})"
    )


def _check_paths(source: str, target: str, skip_bad: str | None, force: bool) -> None:
    paths = [Path(path).resolve() for path in (source, target, skip_bad) if path]
    if len(set(paths)) < len(paths):
        raise OutputError("IN, OUT and the file of --skip-bad must be different files")
    if Path(target).exists() and not Path(target).is_file():
        raise OutputError(
            f"{target} is not a regular file; OUT must be one, because it is read again after it "
            "is written"
        )
    if Path(target).is_file() and not force:
        raise OutputError(f"{target} exists; choose another name, or add --force to overwrite it")


def _recast_items(contents: Contents, kind: str | None, with_embargo: bool) -> _Converted:
    """Recast items as claims or problems, unless `kind` is None.

    Items under embargo and their copies are removed unless `with_embargo` is set.
    """
    pairs = list(zip(contents.items, contents.places, strict=True))
    if not with_embargo:
        marked = spread_embargo(Dataset(contents.problems))
        hidden = {problem.id for problem in marked if problem.embargo}
        pairs = [(one, at) for one, at in pairs if isinstance(one, Claim) or one.id not in hidden]
    elif kind == "claims" and any(problem.embargo for problem in contents.problems):
        raise FormatError("claims can't store the embargo of their problems; omit --with-embargo")
    bad, embargoed = contents.bad, len(contents.items) - len(pairs)
    if kind is None:
        return _Converted(pairs, bad, embargoed=embargoed)
    problems = [(item, place) for item, place in pairs if isinstance(item, Problem)]
    claims = [(item, place) for item, place in pairs if isinstance(item, Claim)]
    if claims if kind == "claims" else problems:
        raise FormatError(f"the file already contains {kind}; omit --recast {kind}")
    if kind == "claims":
        whole = [problem for problem, _ in problems]
        bare = [
            replace(problem, twin_id=None, origin=None, lineage=None, embargo=False)
            for problem in whole
        ]
        places = [place for problem, place in problems for _ in problem.options]
        recast = list(zip(to_claims(whole), places, strict=True))
        return _Converted(recast, bad, formats.find_losses(whole, bare), embargoed)
    grouped = to_problems([claim for claim, _ in claims])
    first = {claim.problem_id: place for claim, place in reversed(claims)}
    left = [
        _make_leftover(found.claim, claims[found.row][1], found.reason)
        for found in grouped.leftovers
    ]
    made = [(problem, first[problem.id]) for problem in grouped.problems]
    return _Converted(made, [*bad, *left], embargoed=embargoed)


def _correct_keys(contents: Contents, errata: str) -> tuple[Contents, int]:
    if len(contents.problems) < len(contents.items):
        raise FormatError(
            "errata correct the keys of problems, but the file contains claims; first convert them "
            "with --recast problems"
        )
    read = formats.read_errata(errata, contents.problems)
    changed = sum(one.old != one.new for one in read)
    return replace(contents, items=[*formats.apply_errata(contents.problems, read)]), changed


def _choose_noun(items: Sequence[Item]) -> str:
    if all(isinstance(item, Problem) for item in items):
        return "problems"
    return "claims" if all(isinstance(item, Claim) for item in items) else "records"


def _count_items(items: Sequence[Item]) -> str:
    noun = _choose_noun(items)
    return format_count(len(items), noun.removesuffix("s"), noun)


def _write_harness_task(source: str, target: str, harness: str) -> None:
    from winosmith import release  # imports every filter

    everything = spread_embargo(_options.read_data(source))
    dataset = everything.select(row for row, p in enumerate(everything) if not p.embargo)
    embargoed = len(everything) - len(dataset)
    if harness == "lm-eval":
        names = release.write_lm_eval_task(dataset, target)
        run = f"lm_eval --include_path {shlex.quote(target)} --tasks {','.join(names)} --model hf …"
    else:
        names = (release.write_inspect_task(dataset, target),)
        run = f"cd {shlex.quote(target)} && inspect eval {names[0]}.py --model …"
    written = {"tasks": list(names), "written": len(dataset), "embargoed": embargoed}
    if print_json_if_requested({"to": harness, **written}):
        return
    if embargoed:
        say(f"omitted: {embargoed} under embargo")
    say(f"wrote: {target} ({harness}), {_count_items(dataset.problems)}")
    say(f"run: {run}")
