"""`winosmith release` and `verify`: make a folder to publish, and verify it."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import click

from winosmith import release as releases
from winosmith.cli import _options
from winosmith.cli._options import FILE, FOLDER, MORE_DATA, json_option
from winosmith.cli._printing import echo, exit_with_reasons, print_json_if_requested, progress, say
from winosmith.errors import InputError
from winosmith.release import ReleaseResult, Splitting
from winosmith.text import format_count


@click.command()
@click.argument("source", nargs=-1, type=MORE_DATA)
@click.option("--about", type=FILE, metavar="FILE", help="Description of the benchmark: a "
              "release.toml.")  # fmt: skip
@click.option("--out", metavar="DIR", type=click.Path(file_okay=False),
              help="Output folder, in which each release gets its own folder.")  # fmt: skip
@click.option("--template", is_flag=True, help="Print a release.toml to fill in, and exit.")
@click.option("--previous", type=FOLDER, metavar="RELEASE",
              help="Folder of the previous release, used for the changelog, the withdrawn "
              "problems, and the previous splits of a file's problems.")  # fmt: skip
@click.option("--version", "version", metavar="X", help="Version, instead of the one in "
              "release.toml.")  # fmt: skip
@_options.add_declared_options(Splitting)
@click.option("--votes", type=FILE, metavar="FILE", multiple=True,
              help="File with the judges' votes, to count the judges of each problem; may be "
              "repeated.")  # fmt: skip
@click.option("--ids", type=click.Choice(["keep", "digest"]), default="keep", show_default=True,
              help="Keep the ids in the files, or derive ids from what a solver sees. Problems "
              "from a build always get derived ids.")  # fmt: skip
@click.option("--leave-out", is_flag=True, help="Omit problems that were withdrawn, and test "
              "problems whose answers were published, instead of stopping with an "
              "error.")  # fmt: skip
@click.option("--keyed", is_flag=True, help="Publish each block (twin, family, copies) in one of "
              "two equivalent presentations, chosen by secret coins, so that `winosmith exposure` "
              "can test whether a model depends on the published texts.")  # fmt: skip
@partial(_options.format_option, without="skip_bad")
@json_option
def command(
    source: tuple[str, ...],
    about: str | None,
    out: str | None,
    template: bool,
    version: str | None,
    ids: str,
    **options: Any,
) -> None:
    """Make a release from SOURCE: a folder to publish.

    SOURCE is the folder of a finished build, files named after their splits (train.jsonl,
    dev.jsonl, test.jsonl), splits of a data set on the Hub ('hf:ORG/NAME[train]'), or one file
    without splits. The release is a folder NAME-VERSION-DIGITS; the digits are a digest of all its
    files. It does not contain the test answers, which are in DIR/private, only for you. Problems
    under embargo are omitted; problems that would reveal answers or violate a licence are refused.

    \b
    Example:
        winosmith release --template > release.toml
        winosmith release mine --about release.toml --out releases
        winosmith verify releases/my-benchmark-1.0.0-*
        winosmith release mine --about release.toml --version 1.1.0 --out releases --keyed
    """  # noqa: D301
    if template:
        echo(releases.TEMPLATE, nl=False)
        return
    if not source or about is None or out is None:
        raise InputError(
            "give SOURCE, --about release.toml and --out DIR; --template prints a release.toml"
        )
    splitting = Splitting(**{of.name: options.pop(of.name) for of in fields(Splitting)})
    done = releases.release(
        source,
        releases.read_about(about, version=version),
        out,
        splitting=splitting,
        new_ids=ids == "digest",
        step=progress,
        **_options.get_reading_arguments(),
        **options,
    )
    if not print_json_if_requested(_make_report(done)):
        _print_release(done)


def _make_report(released: ReleaseResult) -> dict[str, object]:
    content = released.content
    return {
        "folder": str(released.folder),
        "written": released.is_new,
        "private": None if released.private_folder is None else str(released.private_folder),
        "canary": content.canary,
        "counts": content.counts,
        "left_out": dict(content.omitted_counts),
        **released.copies.record(),
        "changes": {kind: len(found) for kind, found in content.changes.items()},
        "missing_fields": releases.find_missing_fields(content),
        "keyed": content.keyed and content.keyed.record(),
        "unchecked": released.unchecked,
    }


def _print_release(released: ReleaseResult) -> None:
    content = released.content
    counts = content.counts
    parts = ", ".join(f"{part} {counts[part]['problems']:,}" for part in content.parts)
    where = ", in one part" if "problems" in counts else f": {parts}"
    echo(f"{counts['all']['problems']:,} problems{where}")
    if "problems" in counts:
        say("The data are not split, so all answers are public. To withhold the test answers, give "
            "one file per split, or --disjoint.")  # fmt: skip
    for reason, count in content.omitted_counts.items():
        say(f"omitted: {count:,} {reason}")
    for line in released.copies.sentences():
        say(line)
    if released.unchecked:
        say(released.unchecked)
    if missing := releases.find_missing_fields(content):
        keys = ", ".join(f"{key} ({name})" for name, key in missing.items())
        say(
            f"{format_count(len(missing), 'field')} about responsible AI in croissant.json "
            f"{'is' if len(missing) == 1 else 'are'} not stated; add to release.toml: {keys}"
        )
    if content.changes and content.previous:
        counted = ", ".join(f"{len(found):,} {kind}" for kind, found in content.changes.items())
        say(f"compared with {content.previous['version']}: {counted}")
    if content.keyed:
        coins = content.keyed
        say(
            f"A coin flip chose the presentation of {format_count(coins.block_count, 'block')}: "
            f"with names exchanged ({coins.names:,}) or options reversed ({coins.options:,}). "
            f"{coins.without:,} have no equivalent presentation."
        )
        for models, shift in coins.detectable_shifts.items():
            say(
                f"detectable shift, {format_count(models, 'model')}: {shift:.3f} standard "
                "deviations"
            )
        say(f"commitment {coins.commitment}")
    if released.private_folder is not None:
        say(
            "Your private files, such as the answers to the test split, are in "
            f"{released.private_folder}."
        )
    if content.keyed:
        say("Keep a copy of coins.json and presentations.jsonl: coins can't be drawn again.")
    if not released.is_new:
        say("An identical release already existed.")
    echo(f"The release is in {Path(released.folder).resolve()}", bold=True)
    say(f"signature {content.signature}")


_LISTED_FAULTS = 10
"""Maximum number of faults listed for each file."""


@click.command()
@click.argument("release", type=FOLDER)
@click.option("--private", type=FOLDER, metavar="FOLDER",
              help="The build's private/ folder, or private/NAME next to the release; do not "
              "publish any of its files.")  # fmt: skip
@json_option
def verify(release: str, private: str | None) -> None:
    """Verify a RELEASE, and list its faults; the exit code is 1 if there are any.

    It verifies the SHA-256 of every file, the digest, the folder's name, the licences, and the
    counts, configurations and digests in release.json. It verifies each problem, its label, its row
    in Parquet and its record in the tasks. There must be no test answer, no embargoed or withdrawn
    problem and no address, and no twin, family or near-duplicate may be in two splits. Texts such
    as the cards are covered only by their checksums. With --private, the coins of a keyed release
    are verified against their commitment.

    \b
    Example:
        winosmith verify releases/my-benchmark-1.0.0-0123456789ab --private mine/private
    """  # noqa: D301
    found = releases.verify(release, private=private, step=progress)
    if not print_json_if_requested(found.record()):
        printed: Counter[str] = Counter()
        for fault in found.faults:
            path = fault.where.partition(":")[0]
            printed[path] += 1
            if printed[path] <= _LISTED_FAULTS:
                echo(str(fault))
        for path, count in printed.items():
            if count > _LISTED_FAULTS:
                echo(f"{path}: {count - _LISTED_FAULTS:,} more")
        for line in found.content.copies.sentences() if found.content else ():
            say(line)
        if found.unchecked:
            say(found.unchecked + " Add --private FOLDER to read the answers." * (not private))
        if not found.faults:
            more = "" if private else "; --private FOLDER also compares it with the private files"
            valid = f"{found.folder} is valid: {found.problem_count or 0:,} problems{more}"
            echo(valid, bold=True)
    if found.faults:
        exit_with_reasons([f"{format_count(len(found.faults), 'fault')} in {found.folder}"])
