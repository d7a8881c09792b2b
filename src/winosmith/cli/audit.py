"""`winosmith audit`: find artifacts that give answers away in a multiple-choice data set."""

from __future__ import annotations

import os
import re
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from winosmith.audit import MIN_CHECKS, RepairSettings
from winosmith.cli._declared import declared_options
from winosmith.cli._options import (
    FILE,
    OutputFile,
    format_option,
    get_answer_arguments,
    get_reading_arguments,
    json_option,
    page_option,
    read_contents,
)
from winosmith.cli._output import Output
from winosmith.cli._predictions import filter_option
from winosmith.cli._printing import echo, exit_with_reasons, is_json_asked, say
from winosmith.cli.admin import database_option, open_existing_site
from winosmith.dataset import Dataset
from winosmith.errors import DataError, FormatError, InputError
from winosmith.problem import Problem

if TYPE_CHECKING:
    from winosmith.answers import Answers
    from winosmith.audit import Audit, Declarations, Finding, Overlap, Repair
    from winosmith.data import Place
    from winosmith.embed import TextEmbedder


def _check_paths(
    ctx: click.Context, param: click.Parameter, paths: tuple[str, ...]
) -> tuple[str, ...]:
    """Reject paths that are not files, and suggest files instead."""
    if ctx.params.get("pool") or ctx.params.get("fix"):
        return paths
    for path in paths:
        if path == "-":
            raise click.BadParameter(
                "standard input can't be audited, because a split is named after its file; write "
                "it to a file, such as quiz.jsonl"
            )
        if path and Path(path).is_dir():
            from winosmith.formats import stem

            names = [(file.name, stem(file)) for file in Path(path).iterdir() if file.is_file()]
            endings = Counter(name.removeprefix(own) for name, own in names).most_common()
            common = next((end for end, _ in endings if end.startswith(_SUFFIXES)), None)
            if common is None:
                raise click.BadParameter(
                    f"{path} is a folder, and no file in it ends in {', '.join(_SUFFIXES)}; name "
                    "the files, each of which is a split"
                )
            raise click.BadParameter(
                f"{path} is a folder; name its files, each of which is a split: "
                f"{Path(path) / f'*{common}'}"
            )
        from winosmith.data import is_address, strip_sheet

        if is_address(path):
            continue
        if not (path and Path(strip_sheet(path)).exists()):
            raise click.BadParameter(f"there is no file {path!r}")
    return paths


_SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".xlsx", ".parquet")


@click.command()
@click.argument("data", nargs=-1, required=True, metavar="DATA...", callback=_check_paths)
@format_option
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
@click.option("--drop-copies", is_flag=True, help="With --fix, also remove each item that has the "
              "same question, options and key as an earlier item.")  # fmt: skip
@declared_options(RepairSettings, only=("draws", "seed"))
@click.option("--no-probes", is_flag=True, help="Skip the word models (probes).")
@click.option("--sample", default=0, type=click.IntRange(0), metavar="N", help="Number of items, "
              "drawn at random from each file, for the word and vector models.  [default: "
              "all]")  # fmt: skip
@click.option("--embed", "encoder", metavar="light|minilm|HUB_ID|FOLDER",
              help="Also train models on this encoder's vectors, in addition to word models; light "
              "uses hashed words and needs no download.")  # fmt: skip
@click.option("--fail-on", "rules", default="", metavar="RULES",
              help="Exit with code 1 if one of these comma-separated rules is broken: cue=3pt, "
              "borderline, probe=3pt, duplicates, contradictions, leak, options, unfilled, "
              "refused, texts, licence, canary.")  # fmt: skip
@click.option("--baseline", type=FILE, metavar="OLD.json",
              help="Output of an earlier audit with --json: only new findings break rules and "
              "appear in annotations, --sarif and --badge.")  # fmt: skip
@click.option("--annotate", type=click.Choice(["github"]),
              help="Print findings as annotations of a pull request's lines, and add a table to "
              "the job summary on GitHub.")  # fmt: skip
@click.option("--sarif", type=OutputFile("{", "a JSON file"), metavar="FILE.sarif",
              help="Write the findings as SARIF 2.1.0, for example for GitHub's code "
              "scanning.")  # fmt: skip
@click.option("--badge", type=OutputFile("<svg", "an SVG file"), metavar="FILE.svg",
              help="Write a badge with the number of findings.")  # fmt: skip
@click.option("--answers", multiple=True, type=click.Path(exists=True), metavar="FILE",
              help="Models' answers, in any form that `winosmith score` reads; may be "
              "repeated.")  # fmt: skip
@filter_option
@click.option("--texts", multiple=True, type=click.Path(exists=True, dir_okay=False),
              metavar="FILE", help="Texts that may contain the items, as JSON Lines or plain text, "
              "gzipped or not; may be repeated.")  # fmt: skip
@click.option("--suspects", default=100, show_default=True, type=click.IntRange(1, 10_000),
              help="Number of suspects, that is, keys that models doubt most and that people "
              "should check.")  # fmt: skip
@click.option("--to-judge", "site", type=click.Path(exists=True, file_okay=False), metavar="DIR",
              help="Send the suspects to the judges of the site in this folder.")  # fmt: skip
@click.option("--to-sheet", "sheet", type=click.Path(dir_okay=False), metavar="FILE.jsonl",
              help="Write the suspects to this file, for `winosmith humans sheets`.")  # fmt: skip
@click.option("--check", type=click.IntRange(MIN_CHECKS), metavar="N",
              help="Select N items whose keys people will check: a quarter are the first suspects, "
              "the rest are drawn at random. `winosmith humans keys` then estimates the number of "
              "wrong keys. With --to-judge, the site's judges get these items in place of the "
              "suspects.")  # fmt: skip
@click.option("--check-to", default="check", show_default=True, metavar="DIR",
              type=click.Path(file_okay=False), help="With --check: folder for the forms that "
              "people fill in.")  # fmt: skip
@click.option("--errata", type=FILE, metavar="FILE",
              help="Table of corrected keys, which are applied first; its columns are id, old, new "
              "and evidence. A repair does not set aside the items in this table.")  # fmt: skip
@click.option("--repair", "repaired", type=click.Path(file_okay=False), metavar="DIR",
              help="Remove items until no cue predicts the answers, and write the remaining items "
              "to this folder, with the removed items and the reasons; each of several files gets "
              "its own subfolder. Items that occur in several files stay only in the last file, so "
              "give the test set last.")  # fmt: skip
@declared_options(RepairSettings, only=("set_aside", "least_kept"), prefix="With --repair: ")
@click.option("--todo", type=click.Path(dir_okay=False), metavar="FILE.md|FILE.csv",
              help="Write a work list of the fewest options to lengthen so that the longest option "
              "is correct only by chance, starting with those that need the fewest "
              "characters.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite a different repair or check in the folder.")
@page_option
@json_option
@database_option
def command(
    data: tuple[str, ...],
    answers: tuple[str, ...],
    filters: tuple[str, ...],
    texts: tuple[str, ...],
    rules: str,
    site: str | None,
    sheet: str | None,
    repaired: str | None,
    **options: Any,
) -> None:
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
        winosmith audit items.jsonl --answers answers.csv --to-judge mysite
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
    from winosmith import audit, formats
    from winosmith.cli._key_check import write_check
    from winosmith.data import find_files, is_address

    if options["pool"] or options["fix"]:
        files = (file for path in data for file in find_files(path))
        data = tuple({Path(file).resolve(): file for file in files}.values())
    if options["fix"]:
        measures = ("todo", "baseline", "annotate", "sarif", "badge", "check", "errata")
        if answers or texts or rules or repaired or any(options[name] for name in measures):
            raise click.UsageError(
                "--fix changes files and measures nothing: run it without --answers, --texts, "
                f"--fail-on, --repair, --{', --'.join(measures)}"
            )
        if remote := next(filter(is_address, data), None):
            raise click.UsageError(
                f"--fix changes files, and {remote} is not a file; `winosmith convert {remote} "
                "FILE` writes one"
            )
        _fix_files(data, options)
        return
    if options["drop_copies"]:
        raise click.UsageError("--drop-copies needs --fix; --repair DIR also removes copies")
    _check_rules(rules, probes=not options["no_probes"], texts=bool(texts))
    if options["encoder"] and options["no_probes"]:
        raise click.UsageError("--embed needs the probes; omit --no-probes")
    if (sheet or (site and not options["check"])) and not answers:
        raise click.UsageError("--to-judge and --to-sheet need models' answers; add --answers FILE")
    if options["check"] and len(data) > 1 and not options["pool"]:
        raise click.UsageError(
            f"--check draws from one data set, and there are {len(data)}; run it for each of them "
            "with its own --check-to, or for all together with --pool"
        )
    if options["set_aside"] is not None and not (answers and repaired):
        raise click.UsageError(
            "--set-aside needs both --repair DIR and models' answers; add --answers FILE"
        )
    if options["annotate"] and is_json_asked():
        raise click.UsageError("--annotate prints GitHub commands; omit --annotate or --json")
    read = {Path(path).resolve() for path in (*data, *answers, *texts)}
    for option in ("--to-sheet", "--todo", "--sarif", "--badge"):
        path = sheet if option == "--to-sheet" else options[option[2:]]
        if path and Path(path).resolve() in read:
            raise click.UsageError(f"{option} would overwrite the input {path}; use another name")
    if repaired:
        _check_splits([*map(formats.stem, data)])
    token = secrets.token_hex(16)
    if options["annotate"]:
        echo(f"::stop-commands::{token}")  # text from the data could be a command for GitHub
    judged = open_existing_site(site, options["database"]) if site else None
    embedder = _make_embedder(options["encoder"]) if options["encoder"] else None
    splits: dict[str, Dataset] = {}
    refused: dict[str, list[str]] = {}
    declared: dict[str, Declarations] = {}
    places: dict[str, dict[str, Place]] = {}
    known = audit.read_baseline(options["baseline"]) if options["baseline"] else {}
    omitted: list[int] = []
    differ = options["pool"] or len({*map(formats.stem, data)}) == len(data)
    for path in [data] if options["pool"] else data:
        paths = [path] if isinstance(path, str) else [*path]
        first = paths[0]
        whole = first if isinstance(path, str) else os.path.commonpath(map(os.path.abspath, paths))
        name = formats.stem(whole) if differ else whole
        try:
            dataset, own, bad, where = _read_split(path)
        except FormatError as error:
            if len(data) > 1 and "`answer_is=" in error.reason and not options["pool"]:
                advice = "; or read all files as one data set, with --pool"
                raise error.with_reason(error.reason + advice) from None
            raise
        start = sum(map(len, splits.values())) + len(omitted)
        splits[name], refused[name], places[name] = dataset, bad, where
        omitted += [start + at for at in own]
        if not is_address(first):
            declared[name] = audit.find_declarations(first, splits[name])
    corrected = _correct_keys(splits, options["errata"]) if options["errata"] else set()
    how = {
        "answers": _read_answers(answers, splits, filters, omitted) if answers else None,
        "draws": options["draws"],
        "probe_draws": 0 if options["no_probes"] else 200,
        "seed": options["seed"],
    }
    of_repair = {name: options[name] for name in ("set_aside", "least_kept", "force")}
    of_repair["checked"] = corrected
    repairs = _repair_splits(splits, repaired, {**how, **of_repair}) if repaired else {}
    found = audit.audit(
        splits,
        **how,
        embedder=embedder,
        sample=options["sample"],
        refused=refused,
        texts=_match_texts(splits, texts) if texts else None,
        declared=declared,
        places=places,
        step=say,
    )
    broken = found.failures(rules, known)
    new = found.judge(rules, known)
    record = found.record() | {"verdict": audit.make_verdict(found), "broken": broken}
    if options["check"]:
        secret = judged.secret if judged else None
        how = {name: options[name] for name in ("seed", "force")}
        record["check"] = write_check(
            found, options["check"], options["check_to"], secret=secret, **how
        )
    Output(
        audit.make_title(found),
        record | _make_repair_records(repairs),
        audit.make_sections(found, [*repairs.values()]),
        verdict=audit.make_verdict(found),
        signature=found.signature,
        spaced=True,
    ).show()
    if not is_json_asked():
        why = "; ".join(filter(None, (part.inconclusive for part in found.parts)))
        echo(f"No line for a README: {why}" if why else f"For a README: {found.readme_line}")
        for name, one in repairs.items():
            folder = Path(repaired or "", name if len(repairs) > 1 else "")
            echo(f"{len(one.dataset):,} items are in {folder / 'kept.jsonl'}", bold=True)
    if judged is not None and not options["check"]:
        _send_to_judges(found, options["suspects"], judged.secret)
    if sheet:
        _write_suspects(found, options["suspects"], sheet)
    if options["todo"]:
        _write_worklist(splits, options["todo"])
    _write_findings(new, options["sarif"], options["badge"])
    if options["annotate"]:
        echo(f"::{token}::")
        for line in audit.format_annotations(new):
            echo(line)
        of = audit.make_title(found), audit.make_verdict(found), new
        summary = audit.format_job_summary(*of, only_new=bool(options["baseline"]))
        _append_for_github("GITHUB_STEP_SUMMARY", summary)
        _append_for_github("GITHUB_OUTPUT", f"findings={len(new)}\n")
    if broken:
        exit_with_reasons(broken)


def _make_embedder(name: str) -> TextEmbedder:
    from winosmith import embed

    if name == "light":
        return embed.OptionsEmbedder()
    encoder = embed.EncoderEmbedder(name)
    say(f"The encoder is in {encoder.folder}")
    return encoder


def _check_rules(rules: str, *, probes: bool, texts: bool) -> None:
    from winosmith import audit

    try:
        names = {name for name, _ in audit.parse_rules(rules)}
    except InputError as error:
        raise click.BadParameter(str(error), param_hint="--fail-on") from None
    if "probe" in names and not probes:
        raise click.UsageError("--fail-on probe needs the word models; omit --no-probes")
    if "texts" in names and not texts:
        raise click.UsageError("--fail-on texts needs texts; add --texts FILE")


def _check_splits(names: Sequence[str]) -> None:
    """Reject splits with the same name, and a test set that would lose items to a later split."""
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


def _repair_splits(
    splits: Mapping[str, Dataset], out: str, kwargs: Mapping[str, Any]
) -> dict[str, Repair]:
    from winosmith import audit

    if len(splits) > 1:
        return audit.repair_splits(splits, out, step=say, **kwargs)
    return {
        name: audit.repair_to_folder(split, out, step=say, **kwargs)
        for name, split in splits.items()
    }


def _make_repair_records(repairs: Mapping[str, Repair]) -> dict[str, object]:
    from winosmith import audit

    records = {
        name: one.record() | {"verdict": audit.explain_repair(one)} for name, one in repairs.items()
    }
    if len(records) == 1:
        return {"repair": records.popitem()[1]}
    return {"repairs": records} if records else {}


def _read_answers(
    paths: Sequence[str],
    splits: Mapping[str, Dataset],
    filters: Sequence[str],
    omitted: Sequence[int],
) -> dict[str, Answers]:
    """Read the models' answers to the items of all splits; the items must have distinct ids."""
    from winosmith.answers import read

    ids = Counter(problem.id for split in splits.values() for problem in split)
    name, times = ids.most_common(1)[0]
    if times > 1:
        raise DataError(
            f"answers are matched by id, and two of the files contain the id {name!r}; audit the "
            "files one by one, or give the items unique ids"
        )
    items = Dataset(problem for split in splits.values() for problem in split)
    found = read(paths, items, filters=filters, omitted=omitted, **get_answer_arguments())
    for model, own in found.items():
        if others := sum(name not in ids for name in own.by_id):
            say(f"{model}: {others:,} of {len(own.by_id):,} answers match no item and are ignored")
    return found


def _correct_keys(splits: dict[str, Dataset], errata: str) -> set[str]:
    from winosmith import formats

    read = formats.read_errata(errata, (one for split in splits.values() for one in split))
    for name, split in splits.items():
        splits[name] = Dataset(formats.apply_errata(split, read), split.name)
    wrong = sum(one.old != one.new for one in read)
    say(f"{errata}: {wrong:,} keys corrected, {len(read) - wrong:,} confirmed")
    return {one.id for one in read}


def _match_texts(splits: Mapping[str, Dataset], paths: Sequence[str]) -> Mapping[str, Overlap]:
    from winosmith import audit

    say(f"reading {', '.join(paths)}")
    return audit.find_overlap(splits, paths)


def _select_suspects(result: Audit, limit: int, *, plain: bool) -> Dataset:
    """Return the suspects of all splits as problems for judges; print the omitted ones."""
    from winosmith import audit

    asked: list[Problem] = []
    for part in result.parts:
        ids = [suspect.id for suspect in part.triage.suspects[:limit]] if part.triage else []
        split = Dataset(part.dataset, part.name)
        passed = audit.make_problems_for_people(split, ids, site=plain)
        asked += passed.kept
        for left in passed.dropped:
            say(f"Not sent to judges: {left.problem.id}: {left.reason}")
    if not asked:
        raise DataError("none of the suspects can be sent to judges")
    return Dataset(asked, "+".join(part.name for part in result.parts))


def _write_worklist(splits: Mapping[str, Dataset], path: str) -> None:
    from winosmith import audit
    from winosmith.outputs import atomic_write

    rewrites = [one for split in splits.values() for one in audit.list_rewrites(split)]
    with atomic_write(path) as file:
        audit.write_rewrites(rewrites, file, as_csv=path.endswith(".csv"))
    say(f"Wrote {path}: {len(rewrites):,} options to lengthen.")


def _write_findings(findings: Sequence[Finding], sarif: str | None, badge: str | None) -> None:
    from winosmith import audit
    from winosmith.outputs import atomic_write

    for path, made in ((sarif, audit.format_sarif), (badge, audit.render_badge)):
        if path:
            with atomic_write(path) as file:
                file.write(made(findings))


def _append_for_github(variable: str, text: str) -> None:
    """Append text to the file named by an environment variable on GitHub, if it is set."""
    if path := os.environ.get(variable):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


def _send_to_judges(result: Audit, limit: int, secret: str) -> None:
    from winosmith.web import hosting

    asked = hosting.with_new_ids(_select_suspects(result, limit, plain=True), secret)
    made = hosting.import_problems(asked, "judging", embargo=True)
    say(f"Added to the site for judging: {made.added:,}; already there: {made.known:,}.")


def _write_suspects(result: Audit, limit: int, path: str) -> None:
    from winosmith import formats

    asked = _select_suspects(result, limit, plain=False)
    formats.write(asked.problems, path)
    say(f"Wrote {path}, {len(asked):,} problems: winosmith humans sheets {path} --out DIR")


def _read_split(
    path: str | tuple[str, ...],
) -> tuple[Dataset, list[int], list[str], dict[str, Place]]:
    """Read the items of a split from one or several files; also return the omitted records.

    Omitted records are returned as positions, and as texts with location and reason. The last value
    maps the ids of items and the texts of omitted records to their locations.
    """
    from winosmith import audit, formats

    is_pool = not isinstance(path, str)
    advance = audit.make_reporter(say, f"{path[0] if is_pool else path}: reading", 100, "%")
    contents = read_contents(
        path,
        omit_bad=True,
        ids_are_places=is_pool,
        on_progress=lambda share: advance(int(100 * share)),
    )
    refused = {f"{entry.place}: {entry.reason}": entry.place for entry in contents.bad}
    dataset = formats.to_dataset(contents)
    known = dict(zip(dataset.ids, contents.places, strict=True))
    return dataset, contents.omitted, [*refused], known | refused


def _fix_files(paths: Sequence[str], options: Mapping[str, Any]) -> None:
    from winosmith import audit
    from winosmith.report import Section, Table
    from winosmith.text import count_noun

    how = get_reading_arguments()
    found = audit.shuffle_files(
        paths,
        options["seed"],
        drop_copies=options["drop_copies"],
        format_name=how["format_name"],
        columns=how["columns"],
        encoding=how["encoding"],
    )
    written = found.write()
    items = sum(file.items for file in found.files)
    changed = sum(file.changed for file in found.files)
    verdict = (
        f"{changed:,} of {items:,} items now have their options in a different order, in "
        f"{len(written):,} of {len(found.files):,} files."
    )
    columns = ["file", "items", "changed", "most at one position", "maximum by chance"]
    rows: list[list[str | int]] = [
        [f.path, f.items, f.changed, f.most, f.chance] for f in found.files
    ]
    note = (
        "Most at one position: the number of items whose correct option is at the most frequent "
        "position. Maximum by chance: the limit for 95 of 100 files with as many items in random "
        "orders."
    )
    sections = [Section("Files", [Table("Positions of the correct option", columns, rows, note)])]
    if found.unchanged:
        left = [[str(one.place), one.reason] for one in found.unchanged]
        table = Table("Unchanged items", ["place", "reason"], left)
        sections.append(Section("Unchanged", [table]))
    if found.dropped:
        copies = [[str(one.place), str(one.first)] for one in found.dropped]
        table = Table("Removed copies", ["place before", "same as"], copies)
        sections.append(Section("Copies", [table]))
        was = "was" if len(copies) == 1 else "were"
        verdict += f" {count_noun(len(copies), 'copy', 'copies')} {was} removed."
    Output(
        "Options in random orders", found.record(), sections, verdict=verdict, spaced=True
    ).show()
