"""`winosmith release` and `verify`: the folder that is published, and its verification."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from winosmith.cli._options import FILE, FOLDER, json_option
from winosmith.cli._printing import echo, fail_gate, print_json, progress, say
from winosmith.errors import InputError
from winosmith.text import number_of

if TYPE_CHECKING:
    from winosmith.release import Released, Verified


@click.command()
@click.argument("source", nargs=-1, type=click.Path(exists=True))
@click.option("--about", type=FILE, metavar="FILE", help="What you say of it: a release.toml.")
@click.option("--out", metavar="DIR", type=click.Path(file_okay=False),
              help="The folder for releases; each gets one of its own there.")  # fmt: skip
@click.option("--template", is_flag=True, help="Print a release.toml to fill in, and end.")
@click.option("--previous", type=FOLDER, metavar="RELEASE",
              help="The release before: for the changelog, what was withdrawn, and the sides of a "
              "file that is split.")  # fmt: skip
@click.option("--version", "version", metavar="X", help="In place of the version in release.toml.")
@click.option("--disjoint", multiple=True, type=click.Choice(["twin", "contributor", "source"]),
              help="What train, dev and test may not share; twins, families and copies never. "
              "Splits a file that is not split. Repeat it for both.")  # fmt: skip
@click.option("--dev", type=click.FloatRange(0, 1), default=0.1, show_default=True,
              help="The share of dev, where a file is split.")  # fmt: skip
@click.option("--test", type=click.FloatRange(0, 1), default=0.14, show_default=True,
              help="The share of test.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Of the order of the split.")
@click.option("--votes", type=FILE, metavar="FILE", multiple=True,
              help="Who judged: tells how many for each. May be given again.")  # fmt: skip
@click.option("--collected", type=FILE, metavar="FILE", multiple=True,
              help="The problems that the votes name, of a build without private/.")  # fmt: skip
@click.option("--ids", type=click.Choice(["keep", "digest"]), default="keep", show_default=True,
              help="Of files: keep ids, or make them from what a solver sees. A build's problems "
              "always get such ids.")  # fmt: skip
@click.option("--leave-out", is_flag=True, help="Leave out what was withdrawn before, and test "
              "problems whose answers were published before, in place of refusing.")  # fmt: skip
@click.option("--from", "format_name", metavar="FORMAT",
              help="Format of files; found from their content when left out.")  # fmt: skip
@click.option("--pair-by", metavar="COLUMN",
              help="Of files: a further column that both halves of a twin share.")  # fmt: skip
@json_option
def command(
    source: tuple[str, ...],
    about: str | None,
    out: str | None,
    template: bool,
    previous: str | None,
    version: str | None,
    disjoint: tuple[str, ...],
    dev: float,
    test: float,
    seed: int,
    votes: tuple[str, ...],
    collected: tuple[str, ...],
    ids: str,
    leave_out: bool,
    format_name: str | None,
    pair_by: str | None,
    as_json: bool,
) -> None:
    """Make the folder that is published from SOURCE.

    SOURCE is the folder of a finished build; or files named after their parts (train.jsonl,
    dev.jsonl, test.jsonl); or one file that is not split. The release is a folder
    NAME-VERSION-DIGITS: its last digits stand for all that it holds. Answers of test are left
    out, and put for you alone into DIR/private. What is under embargo is left out; what would
    give answers away, or break a licence, is refused.

    \b
    Example:
        winosmith release --template > release.toml
        winosmith release mine --about release.toml --out releases
        winosmith verify releases/my-benchmark-1.0.0-*
    """  # noqa: D301
    from winosmith import release

    if template:
        echo(release.TEMPLATE, nl=False)
        return
    if not source or about is None or out is None:
        raise InputError(
            "give SOURCE, --about release.toml and --out DIR; --template prints a release.toml"
        )
    done = release.release(
        source,
        release.read_about(about, version=version),
        out,
        previous=previous,
        splitting=release.Splitting(disjoint, bool(disjoint), dev, test, seed),
        votes=votes,
        collected=collected,
        new_ids=ids == "digest",
        leave_out=leave_out,
        format_name=format_name,
        pair_by=pair_by,
        step=progress,
    )
    if as_json:
        print_json(_report(done))
    else:
        _tell(done)


def _report(done: Released) -> dict[str, object]:
    content = done.content
    return {
        "folder": str(done.folder),
        "written": done.anew,
        "private": None if done.key is None else str(done.key),
        "canary": content.canary,
        "counts": content.counts,
        "left_out": dict(content.left_out),
        **done.copies.record(),
        "changes": dict(content.changes),
    }


def _tell(done: Released) -> None:
    content = done.content
    counts = content.counts
    parts = ", ".join(f"{part} {counts[part]['problems']:,}" for part in content.parts)
    echo(f"{counts['all']['problems']:,} problems: {parts}")
    for reason, count in content.left_out.items():
        say(f"left out: {count:,} {reason}")
    for line in done.copies.sentences():
        say(line)
    if content.changes and content.previous:
        told = ", ".join(f"{count:,} {kind}" for kind, count in content.changes.items())
        say(f"against {content.previous['version']}: {told}")
    if done.key is not None:
        say(f"What is yours alone, such as answers of test, is in {done.key}.")
    if not done.anew:
        say("It was there already, with the same bytes.")
    echo(f"The release is {Path(done.folder).resolve()}", bold=True)
    say(f"signature {content.signature}")


_SHOWN = 10
"""How many faults of one file are listed."""


@click.command()
@click.argument("release", type=click.Path(exists=True, file_okay=False))
@click.option("--private", type=click.Path(exists=True, file_okay=False), metavar="FOLDER",
              help="What must not be published: private/ of the build, or that beside the "
              "release. Nothing of it may be found.")  # fmt: skip
@json_option
def verify(release: str, private: str | None, as_json: bool) -> None:
    """Verify a RELEASE, or list what is wrong with it; exit code 1 if something is.

    These are checked: the SHA-256 of every file, the digest and the folder's name; each problem,
    its label, its row in Parquet and its record in the tasks; that there is no answer of test, no
    embargoed or withdrawn problem and no address; that no twin, family or near-duplicate is on two
    sides of a split; the licences; and the counts, configurations and digests in release.json.
    Texts such as the cards are covered by their checksums.

    \b
    Example:
        winosmith verify releases/my-benchmark-1.0.0-0123456789ab --private mine/private
    """  # noqa: D301
    from winosmith.release import verify

    found = verify(release, private=private, step=progress)
    if as_json:
        print_json(found.record())
    else:
        _tell_faults(found)
    if found.faults:
        fail_gate([f"{number_of(len(found.faults), 'fault')} in {found.folder}"])


def _tell_faults(found: Verified) -> None:
    told: Counter[str] = Counter()
    for fault in found.faults:
        path = fault.where.partition(":")[0]
        told[path] += 1
        if told[path] <= _SHOWN:
            echo(str(fault))
    for path, count in told.items():
        if count > _SHOWN:
            echo(f"{path}: {count - _SHOWN:,} more")
    for line in found.content.copies.sentences() if found.content else ():
        say(line)
    if found.faults:
        return
    problems = len(found.content.dataset) if found.content else 0
    beside = "" if found.private else "; --private FOLDER would compare it with what is private"
    echo(f"{found.folder} is sound: {problems:,} problems{beside}", bold=True)
