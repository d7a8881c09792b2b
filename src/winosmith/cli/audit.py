"""`winosmith audit`: find artifacts that give answers away in a multiple-choice data set."""

from __future__ import annotations

import os
import re
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from winosmith import audit, formats
from winosmith.answers import Answers, read as read_answers
from winosmith.audit import MIN_CHECKS, Audit, Finding, Repair, RepairSettings
from winosmith.cli import _options
from winosmith.cli._output import Output
from winosmith.cli._predictions import filter_option
from winosmith.cli._printing import echo, exit_with_reasons, is_json_requested, say
from winosmith.cli.admin import database_option, open_existing_site
from winosmith.data import find_files, is_address, strip_sheet
from winosmith.dataset import Dataset
from winosmith.errors import DataError, FormatError, InputError
from winosmith.formats import Contents
from winosmith.outputs import atomic_write
from winosmith.report import Section, join_names
from winosmith.results import make_table
from winosmith.text import format_count

if TYPE_CHECKING:
    from winosmith.embed import TextEmbedder

Options = dict[str, Any]


def _check_paths(
    ctx: click.Context, param: click.Parameter, paths: tuple[str, ...]
) -> tuple[str, ...]:
    if ctx.params.get("pool") or ctx.params.get("fix"):
        return paths
    for path in paths:
        if path == "-":
            raise click.BadParameter(
                "standard input can't be audited, because a split is named after its file; write "
                "it to a file, such as quiz.jsonl"
            )
        if path and Path(path).is_dir():
            raise click.BadParameter(
                f"{path} is a folder; give its files instead (each is one split), or read all "
                "of them as one data set, with --pool"
            )
        if not is_address(path) and not (path and Path(strip_sheet(path)).exists()):
            raise click.BadParameter(f"there is no file {path!r}")
    return paths


@click.command()
@click.argument("data", nargs=-1, required=True, metavar="DATA...", callback=_check_paths)
@_options.format_option
@click.option(
    "--pool",
    is_flag=True,
    is_eager=True,
    help="Audit all files, including those in folders and those that match patterns such as "
    "'units/**/quiz.json', as one data set; findings name the file and the line.",
)
@click.option(
    "--fix",
    is_flag=True,
    is_eager=True,
    help="Shuffle the options of each item in the files themselves, and adapt keys and letters in "
    "explanations; items that can't be changed safely are listed. All files form one data "
    "set. A second run changes nothing.",
)
@_options.add_declared_options(RepairSettings, only=("draws", "seed"))
@click.option("--no-probes", is_flag=True, help="Skip the word models (probes).")
@click.option("--embed", "encoder", metavar="light|minilm|HUB_ID|FOLDER",
              help="Also train models on the vectors of this encoder; 'light' uses hashed words "
              "and needs no download.")  # fmt: skip
@click.option("--fail-on", "rules", default="", metavar="RULES",
              help="Exit with code 1 if any of these comma-separated conditions is met: "
              f"{', '.join(audit.RULE_FORMS.values())}.")  # fmt: skip
@click.option("--baseline", type=_options.FILE, metavar="OLD.json",
              help="Output of an earlier audit with --json: only new findings count for --fail-on "
              "and appear in annotations and --sarif.")  # fmt: skip
@click.option("--annotate", type=click.Choice(["github"]),
              help="Print findings as annotations of a pull request's lines, and add a table to "
              "the job summary on GitHub.")  # fmt: skip
@click.option("--sarif", type=_options.OutputFile("{", "a JSON file"), metavar="FILE.sarif",
              help="Write the findings as SARIF 2.1.0, for example for GitHub's code "
              "scanning.")  # fmt: skip
@click.option("--answers", multiple=True, type=click.Path(exists=True), metavar="FILE",
              help="Models' answers, in any form that `winosmith score` reads; may be "
              "repeated.")  # fmt: skip
@filter_option
@click.option("--check", type=click.IntRange(MIN_CHECKS), metavar="N",
              help="Select N items whose keys people will check: the first suspects, which models "
              "doubt most, and others that are drawn at random. `winosmith humans keys` then "
              "estimates the number of wrong keys.")  # fmt: skip
@click.option("--suspects", type=click.IntRange(0), metavar="N", help="With --check: maximum "
              "number of suspects among the items; by default a quarter.")  # fmt: skip
@click.option("--to-judge", "site", type=click.Path(exists=True, file_okay=False), metavar="DIR",
              help="With --check: also send the items to the judges of the site in this "
              "folder.")  # fmt: skip
@click.option("--check-to", default="check", show_default=True, metavar="DIR",
              type=click.Path(file_okay=False), help="With --check: folder for the forms that "
              "people fill in.")  # fmt: skip
@click.option("--errata", type=_options.FILE, metavar="FILE",
              help="Table of corrected keys, which are applied first; its columns are id, old, new "
              "and evidence. A repair does not set aside the items in this table.")  # fmt: skip
@click.option("--repair", "repaired", type=click.Path(file_okay=False), metavar="DIR",
              help="Remove items until no cue predicts the answers, and write the remaining items "
              "to this folder, with the removed items and the reasons; each of several files gets "
              "its own subfolder. Items that occur in several files stay only in the last file, so "
              "give the test set last.")  # fmt: skip
@_options.add_declared_options(
    RepairSettings, only=("set_aside", "least_kept"), prefix="With --repair: "
)
@click.option("--todo", type=click.Path(dir_okay=False), metavar="FILE.md",
              help="Write a list of options to lengthen, so that the longest option is correct no "
              "more often than by chance. The list is as short as possible, and starts with the "
              "options that need the fewest characters.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite a different repair or check in the folder.")
@_options.page_option
@_options.json_option
@database_option
def command(**options: Any) -> None:
    """Find artifacts that give away the answers of multiple-choice items; each file is a split.

    The audit tries about fifty cues, which select an option by a simple rule (the longest, the
    rarest word, "all of the above", a position …), and compares each with chance. It trains word
    models that see only the options, only the question, or both. It also checks fields, the order
    of items, copies, near-duplicates and contradictions, within and across splits. With --pool, all
    files form one data set, such as the quizzes of a course; --fix shuffles their options in place.

    --repair removes copies, shuffles the options if their order has no meaning, and removes items
    until no cue predicts the answers; the result is measured on items that the repair did not see.
    With --answers, the items whose keys models doubt most are set aside first. You can stop the
    command at any time; run it again to resume.

    \b
    Example:
        winosmith audit train.jsonl test.jsonl --out audit.html
        winosmith audit items.jsonl --answers answers.csv --answers out/MODEL
        winosmith audit items.jsonl --answers answers.csv --check 100 --check-to check
        winosmith audit items.jsonl --repair repaired --out audit.html
        winosmith audit items.jsonl --answers answers.csv --repair repaired --errata errata.csv
        winosmith audit train.jsonl dev.jsonl test.jsonl --repair repaired
        winosmith audit questions.csv --fail-on cue=3pt,duplicates,leak
        winosmith audit 'units/**/quiz.json' --pool --out audit.html
        winosmith audit 'units/**/quiz.json' --pool --todo work.md
        winosmith audit 'units/**/quiz.json' --fix
        winosmith audit quizzes --pool --fail-on cue=3pt,leak --annotate github
    """  # noqa: D301
    if options["pool"] or options["fix"]:
        files = (file for path in options["data"] for file in find_files(path))
        options["data"] = tuple({Path(file).resolve(): file for file in files}.values())
    if options["fix"]:
        _fix_files(options)
        return
    _check_options(options)
    token = secrets.token_hex(16)
    if options["annotate"]:
        echo(f"::stop-commands::{token}")  # text from the data could be a command for GitHub
    judged = open_existing_site(options["site"], options["database"]) if options["site"] else None
    embedder = _prepare_embedding(options["encoder"]) if options["encoder"] else None
    known = audit.read_baseline(options["baseline"]) if options["baseline"] else {}
    splits, omitted, details = _read_splits(options)
    corrected = _correct_keys(splits, options["errata"]) if options["errata"] else set()
    how = {
        "answers": _read_answers(splits, omitted, options) if options["answers"] else None,
        "draws": options["draws"],
        "probe_draws": 0 if options["no_probes"] else 200,
        "seed": options["seed"],
    }
    repairs: dict[str, Repair] = {}
    if out := options["repaired"]:
        own = {name: options[name] for name in ("set_aside", "least_kept", "force")}
        repairs = audit.repair_splits(splits, out, step=say, checked=corrected, **how, **own)
    found = audit.audit(
        splits,
        **how,
        **details,
        embedder=embedder,
        step=say,
    )
    broken = found.failures(options["rules"], known)
    new = found.get_new_findings(options["rules"], known)
    title, verdict = audit.make_title(found), audit.make_verdict(found)
    record = found.record() | {"verdict": verdict, "broken": broken}
    if options["check"]:
        from winosmith.cli._key_check import write_check

        record["check"] = write_check(
            found,
            options["check"],
            options["check_to"],
            suspect_count=options["suspects"],
            seed=options["seed"],
            secret=judged.secret if judged else None,
            force=options["force"],
        )
    Output(
        title,
        record | _make_repair_records(repairs),
        audit.make_sections(found, [*repairs.values()]),
        verdict=f"Before the repair: {verdict}" if repairs else verdict,
        signature=found.signature,
    ).show()
    if not is_json_requested():
        for name, one in repairs.items():
            path = Path(options["repaired"], name if len(repairs) > 1 else "", "kept.jsonl")
            echo(f"{len(one.dataset):,} items are in {path}", bold=True)
            echo(f"Audit them: winosmith audit {path}")
        if repairs and any(part.ids_are_rows for part in found.parts):
            echo("Their ids are row numbers from 0; unrecognised columns are in `extra`.")
    _write_files(found, new, options)
    if options["annotate"]:
        echo(f"::{token}::")
        for line in audit.format_annotations(new):
            echo(line)
        summary = audit.format_job_summary(title, verdict, new, only_new=bool(options["baseline"]))
        _append_for_github("GITHUB_STEP_SUMMARY", summary)
        _append_for_github("GITHUB_OUTPUT", f"findings={len(new)}\n")
    if broken:
        exit_with_reasons(broken)


def _check_options(options: Options) -> None:
    data, answers = options["data"], options["answers"]
    try:
        rules = {name for name, _ in audit.parse_rules(options["rules"])}
    except InputError as error:
        raise click.BadParameter(str(error), param_hint="--fail-on") from None
    if "probe" in rules and options["no_probes"]:
        raise click.UsageError("--fail-on probe needs the word models; omit --no-probes")
    if options["encoder"] and options["no_probes"]:
        raise click.UsageError("--embed needs the probes; omit --no-probes")
    if not options["check"] and (options["site"] or options["suspects"] is not None):
        raise click.UsageError("--to-judge and --suspects need a sample; add --check N")
    if options["check"] and len(data) > 1 and not options["pool"]:
        raise click.UsageError(
            f"--check draws from one data set, and there are {len(data)}; run it for each of them "
            "with its own --check-to, or for all together with --pool"
        )
    if options["set_aside"] is not None and not (answers and options["repaired"]):
        raise click.UsageError(
            "--set-aside needs both --repair DIR and models' answers; add --answers FILE"
        )
    if options["annotate"] and is_json_requested():
        raise click.UsageError("--annotate prints GitHub commands; omit --annotate or --json")
    read = {Path(path).resolve() for path in (*data, *answers)}
    for name in ("todo", "sarif"):
        if (path := options[name]) and Path(path).resolve() in read:
            raise click.UsageError(f"--{name} would overwrite the input {path}; use another name")
    if not options["repaired"]:
        return  # the rest is only for --repair
    names = [*map(formats.stem, data)]
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise click.UsageError(
            f"two files are named {name!r}, and --repair writes a folder for each; rename one"
        )
    words = [re.split("[^a-z]+", name.casefold()) for name in names]
    test = next((at for at, of in enumerate(words) if "test" in of), len(names))
    later = zip(names[test + 1 :], words[test + 1 :], strict=True)
    after = next((name for name, of in later if "train" in of), None)
    if after is not None:
        raise click.UsageError(
            f"{after!r} is after {names[test]!r}; an item in several splits stays only in the last "
            "one, so give the training set first and the test set last"
        )


def _prepare_embedding(name: str) -> TextEmbedder:
    from winosmith import embed

    if name == "light":
        return embed.OptionsEmbedder()
    encoder = embed.EncoderEmbedder(name)
    say(f"The encoder is in {encoder.folder}")
    return encoder


def _read_splits(options: Options) -> tuple[dict[str, Dataset], list[int], dict[str, Any]]:
    """Return the splits, the positions of omitted records, and further arguments of `audit`.

    The argument `refused` contains the omitted records of each split as texts with location and
    reason. `places` maps these texts, and the ids of items, to their locations.
    """
    data, pool = options["data"], options["pool"]
    splits: dict[str, Dataset] = {}
    omitted: list[int] = []
    details: dict[str, dict[str, Any]] = {"refused": {}, "places": {}}
    differ = pool or len({*map(formats.stem, data)}) == len(data)
    for path in [data] if pool else data:
        whole = os.path.commonpath(map(os.path.abspath, path)) if pool else path
        name = formats.stem(whole) if differ else whole
        contents = _read_contents(path, options)
        start = sum(map(len, splits.values())) + len(omitted)
        omitted += [start + at for at in contents.omitted]
        splits[name] = formats.to_dataset(contents)
        refused = {f"{entry.place}: {entry.reason}": entry.place for entry in contents.bad}
        places = dict(zip(splits[name].ids, contents.places, strict=True))
        details["refused"][name], details["places"][name] = [*refused], places | refused
    return splits, omitted, details


def _read_contents(path: str | tuple[str, ...], options: Options) -> Contents:
    pool = options["pool"]
    advance = audit.make_reporter(say, f"{path[0] if pool else path}: reading", 100, "%")
    try:
        return _options.read_contents(
            path,
            omit_bad=True,
            ids_are_places=pool,
            on_progress=lambda share: advance(int(100 * share)),
        )
    except FormatError as error:
        if len(options["data"]) > 1 and error.parameter == "answer_is" and not pool:
            advice = "; or read all files as one data set, with --pool"
            raise error.with_reason(error.reason + advice) from None
        raise


def _make_repair_records(repairs: Mapping[str, Repair]) -> dict[str, object]:
    records = {
        name: one.record() | {"verdict": audit.explain_repair(one)} for name, one in repairs.items()
    }
    if len(records) == 1:
        return {"repair": records.popitem()[1]}
    return {"repairs": records} if records else {}


def _read_answers(
    splits: Mapping[str, Dataset], omitted: Sequence[int], options: Options
) -> dict[str, Answers]:
    ids = Counter(problem.id for split in splits.values() for problem in split)
    name, times = ids.most_common(1)[0]
    if times > 1:
        raise DataError(
            f"answers are matched by id, and two of the files contain the id {name!r}; audit the "
            "files one by one, or give the items unique ids"
        )
    problems = (problem for split in splits.values() for problem in split)
    items = Dataset(problems, is_numbered=any(one.is_numbered for one in splits.values()))
    how = _options.get_answer_arguments() | {"filters": options["filters"], "omitted": omitted}
    found = read_answers(options["answers"], items, **how)
    for model, own in found.items():
        if others := sum(name not in ids for name in own.by_id):
            say(f"{model}: {others:,} of {len(own.by_id):,} answers match no item and are ignored")
    return found


def _correct_keys(splits: dict[str, Dataset], errata: str) -> set[str]:
    read = formats.read_errata(errata, (one for split in splits.values() for one in split))
    for name, split in splits.items():
        splits[name] = split.with_problems(formats.apply_errata(split, read))
    wrong = sum(one.old != one.new for one in read)
    say(f"{errata}: {wrong:,} keys corrected, {len(read) - wrong:,} confirmed")
    return {one.id for one in read}


def _write_files(found: Audit, new: Sequence[Finding], options: Options) -> None:
    if path := options["todo"]:
        every = [(part, one) for part in found.parts for one in audit.list_rewrites(part.dataset)]
        rewrites = [replace(one, id=part.get_label(one.id)) for part, one in every]
        flagged = {f"“{cue.cue}”": 1 for part in found.parts for cue in part.battery.flagged}
        now = f" (now: {join_names([*flagged])})" if flagged else ""
        with atomic_write(path) as file:
            audit.write_rewrites(rewrites, file)
        say(
            f"Wrote {path}: {format_count(len(rewrites), 'option')} to lengthen. The list covers "
            f"only “the longest, in characters”; other cues may stay flagged{now}, so audit again "
            "after the changes."
        )
    if path := options["sarif"]:
        with atomic_write(path) as file:
            file.write(audit.format_sarif(new))


def _append_for_github(variable: str, text: str) -> None:
    if path := os.environ.get(variable):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


def _fix_files(options: Options) -> None:
    paths = options["data"]
    measures = ("todo", "baseline", "annotate", "sarif", "check", "errata")
    if any(options[name] for name in ("answers", "rules", "repaired", *measures)):
        raise click.UsageError(
            "--fix changes files and measures nothing: run it without --answers, --fail-on, "
            f"--repair, --{', --'.join(measures)}"
        )
    if remote := next(filter(is_address, paths), None):
        raise click.UsageError(
            f"--fix changes files, and {remote} is not a file; `winosmith convert {remote} "
            "FILE` writes one"
        )
    how = _options.get_reading_arguments()
    del how["pair_by"]
    found = audit.shuffle_files(paths, options["seed"], **how)
    written = found.write()
    items = sum(file.items for file in found.files)
    changed = sum(file.changed for file in found.files)
    verdict = (
        f"{changed:,} of {items:,} items now have their options in a different order, in "
        f"{len(written):,} of {len(found.files):,} files."
    )
    note = (
        "Most at one position: the number of items whose correct option is at the most frequent "
        "position. Maximum by chance: the limit for 95 of 100 files with as many items in random "
        "orders."
    )
    tables = {
        "Files": make_table("Positions of the correct option", found.files, note=note),
        "Unchanged": make_table("Unchanged items", found.unchanged),
    }
    sections = [Section(title, [one]) for title, one in tables.items() if one.rows]
    Output("Options in random orders", found.record(), sections, verdict=verdict).show()
