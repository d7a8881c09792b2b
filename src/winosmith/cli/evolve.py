"""`winosmith evolve`: perturb problems into families, with lineage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import click

from winosmith import answers, evolve, formats, report
from winosmith.cli import _options, _solvers
from winosmith.cli._output import Output, Rows
from winosmith.cli._printing import progress, say
from winosmith.dataset import Dataset, Dropped
from winosmith.errors import DataError, InputError
from winosmith.evolve import Evolution, Perturber, Roots, draw_roots, find_unsolved_ids
from winosmith.language import WordNet, find_wordnet_folder
from winosmith.outputs import OutputFolder
from winosmith.parallel import count_processors
from winosmith.prediction import Prediction
from winosmith.records import dump_json
from winosmith.report import signature_of
from winosmith.text import format_count

KINDS = ("wordnet", "wordnet-paper", "chat")

_WORDNET = {"wordnet", "wordnet-paper"}

_MIN_PROBLEMS_FOR_PROCESSES = 500
"""Number of problems below which starting processes takes longer than it saves."""

Options = Mapping[str, Any]


@click.command()
@click.argument("data", nargs=-1, required=True, metavar="DATA...", type=_options.MORE_DATA)
@click.option("--with", "kinds", multiple=True, required=True, type=click.Choice(KINDS),
              help="Perturber; may be repeated: each perturber also perturbs the results of the "
              "previous one.")  # fmt: skip
@click.option("--out", required=True, metavar="DIR", type=click.Path(file_okay=False),
              help="Output folder.")  # fmt: skip
@click.option("--roots", type=click.IntRange(min=1), multiple=True, metavar="N",
              help="Number of roots to draw from each DATA; give it once for all files, or once "
              "for each file.")  # fmt: skip
@click.option("--right", multiple=True, metavar="PREDICTIONS", type=click.Path(exists=True),
              help="Draw only problems that a solver answers correctly. PREDICTIONS contains the "
              "solver's answers, in any format that `winosmith score` reads. May be "
              "repeated.")  # fmt: skip
@click.option("--sets", is_flag=True, help="Write the sets small, medium and large, split by root; "
              "the first --with creates the medium set, the second creates the large "
              "set.")  # fmt: skip
@click.option("--people", metavar="FILE", type=_options.MORE_DATA, help="With --sets: problems "
              "that people made from the roots, with lineage, for the small set.")  # fmt: skip
@click.option("--grow", type=click.Choice(["roots", "small"]), default="roots", show_default=True,
              help="With --sets: problems from which the medium set is grown.")  # fmt: skip
@click.option("--augment", type=click.Choice(["train+dev", "all"]), default="train+dev",
              show_default=True,
              help="With --sets: splits of the medium set from which the large set is "
              "grown.")  # fmt: skip
@click.option("--split", type=click.IntRange(min=1), nargs=3, default=(10, 2, 2),
              show_default=True, metavar="TRAIN DEV TEST",
              help="With --sets: ratio of the roots in train, dev and test.")  # fmt: skip
@_options.add_declared_options(
    evolve.WordNetPerturber.__init__, prefix="For wordnet and wordnet-paper: "
)
@click.option("--wordnet", "wordnet_folder", metavar="FOLDER", type=_options.FOLDER,
              help="For wordnet and wordnet-paper: folder of the dictionary files; by default, the "
              "usual folders are searched.")  # fmt: skip
@click.option("--wide", is_flag=True, help="For wordnet: also use less certain synonyms, which "
              "doubles the number of children but makes more of them incorrect.")  # fmt: skip
@click.option("--model", metavar="NAME", help="For chat: name of the model on the server; by "
              "default OPENAI_MODEL.")  # fmt: skip
@_solvers.BASE_URL
@_options.add_declared_options(
    evolve.DialogueRules, only=("wanted", "batches"), prefix="For chat: "
)
@click.option("--temperature", type=click.FloatRange(min=0), default=1.0, show_default=True,
              help="For chat: sampling temperature of the replies.")  # fmt: skip
@_solvers.declared_option("key_variable")
@_solvers.max_spent_option
@click.option("--workers", type=click.IntRange(min=1), default=count_processors(),
              help="For wordnet and wordnet-paper: number of processes; by default one per "
              "core.")  # fmt: skip
@_options.cluster_option
@_options.seed_option()
@click.option("--force", is_flag=True, help="Overwrite a different recipe's files in DIR.")
@_options.format_option
@_options.json_option
def command(**options: Any) -> None:
    """Perturb the problems in DATA into families, and record every step.

    Each child differs from its parent by a few tokens and names its root, its parent and the
    edits. It is marked as not validated until judges have voted (`winosmith check --votes`). You
    can stop the command at any time; run it again to resume.

    \b
    Perturbers:
        wordnet        a synonym with the same sense, inflected       needs WordNet
        wordnet-paper  any synonym of any word, as in EvoGrad         needs WordNet
        chat           a chat model, asked as an expert, row by row   --model --base-url

    \b
    Example:
        winosmith evolve twins.jsonl --with wordnet --out evolved
        winosmith evolve wsc.xml dev.jsonl --roots 7 --right a.jsonl --right b.jsonl \\
            --with chat --model qwen3:8b --base-url http://localhost:11434/v1 \\
            --with wordnet --sets --out evograd
    """  # noqa: D301
    if _WORDNET & set(options["kinds"]):
        find_wordnet_folder(options["wordnet_folder"])  # fails before a folder is created
    if "chat" in options["kinds"]:
        evolve.DialogueRules(wanted=options["wanted"], batches=options["batches"])
        options["model"] = _make_client(options).model
    if options["sets"] and len(options["kinds"]) != 2:
        raise InputError("--sets needs --with twice: for medium, then for large")
    roots = _draw_roots(options)
    small = _make_small_set(roots.dataset, options["people"])
    signature = signature_of(small, options["seed"], **_make_parameters(options))
    recipe = {"command": "evolve", "signature": str(signature)}
    folder = OutputFolder.open(options["out"], recipe, force=options["force"])
    stages: list[Evolution] = []
    if options["sets"]:
        parts, families, dropped = _make_evograd_sets(roots, small, stages, options, folder)
    else:
        data = small
        for number, kind in enumerate(options["kinds"]):
            stages.append(_run_generation(number, kind, data, small, options, folder))
            data = stages[-1].dataset
        parts, families, dropped = {"evolved": data}, data, ()
    omitted = [*(left for stage in stages for left in stage.repeated), *dropped]
    reasons = Counter(
        "it repeats another problem" if one.reason.startswith("it repeats") else one.reason
        for one in omitted
    )
    if barren := sum(len(stage.barren) for stage in stages):
        reasons["no perturbed problem was made"] = barren
    record = {
        "roots": len(roots.dataset),
        "sources": {name: list(ids) for name, ids in roots.sources.items()},
        "perturbed": sum(len(stage.dataset) - len(stage.children) for stage in stages),
        "made": sum(len(stage.children) for stage in stages),
        "parts": {name: evolve.describe_part(part, families) for name, part in parts.items()},
        "left_out": dict(reasons.most_common()),
        "signature": str(signature),
    }
    for name, part in parts.items():
        folder.write_lines(f"{name}.jsonl", formats.to_lines(part))
    folder.write_lines("left-out.jsonl", (one.to_json_line() for one in omitted))
    folder.write_lines("report.json", [dump_json(record) + "\n"])
    output = _make_output(record)
    folder.write_lines("report.html", [output.render_page()])
    names = ", ".join(f"{name}.jsonl" for name in parts)
    say(f"Wrote {folder.path}: {names}, left-out.jsonl, report.json and report.html.")
    output.show()


def _make_output(record: Mapping[str, Any]) -> Output:
    made, perturbed = record["made"], record["perturbed"]
    title = f"{format_count(made, 'child', 'children')} of {format_count(perturbed, 'problem')}"
    parts = record["parts"]
    answers = {letter for part in parts.values() for letter in part["answers"]} - {"—"}
    letters = ascii_uppercase[: ascii_uppercase.index(max(answers | {"B"})) + 1]
    rows: Rows = [
        [
            name,
            part["problems"],
            part["families"],
            " / ".join(str(part["answers"].get(place, 0)) for place in letters),
            "—" if part["mean_edit_depth"] is None else f"{part['mean_edit_depth']:.1f}",
            part["unvalidated"],
        ]
        for name, part in parts.items()
    ]
    heads = ["set", "problems", "families", " / ".join(letters), "mean depth", "not judged"]
    blocks: list[report.Block] = [report.Table(title, heads, rows)]
    if record["left_out"]:
        rows = [[count, reason] for reason, count in record["left_out"].items()]
        blocks.append(report.Table("Omitted", ["problems", "because"], rows))
    if record["sources"]:
        sentence = (
            f"Roots come from the data {', '.join(record['sources'])}: after training on these "
            "families, accuracy on that data is no longer a test."
        )
        blocks.append(report.Text([sentence]))
    sections = [report.Section("Families", blocks)]
    return Output(title, record, sections, signature=record["signature"])


def _make_client(options: Options) -> Any:
    return _solvers.make_chat_client(options, options["model"], max_tokens=evolve.REPLY_TOKENS)


_NOT_IN_RECIPE = {"out", "force", "workers", "cluster", "key_variable",
                  "max_spent", "base_url"}  # fmt: skip
"""Options that do not affect the perturbed problems."""

_PERTURBERS = {
    "count": {"wordnet", "wordnet-paper"},
    "wordnet_folder": {"wordnet", "wordnet-paper"},
    "wide": {"wordnet"},
    "model": {"chat"},
    "wanted": {"chat"},
    "batches": {"chat"},
    "temperature": {"chat"},
}
"""Maps options to the perturbers that use them."""

_SET_OPTIONS = {"grow", "augment", "split"}


def _make_parameters(options: Options) -> dict[str, Any]:
    given = {name: value for name, value in options.items() if name not in _NOT_IN_RECIPE}
    names = {"data", "kinds", "right", "people", "seed"}
    names |= {name for name, kinds in _PERTURBERS.items() if kinds.isdisjoint(options["kinds"])}
    names |= set() if options["sets"] else _SET_OPTIONS
    kept = {
        name: ",".join(map(str, value)) if isinstance(value, tuple | list) else value
        for name, value in sorted(given.items())
        if value and name not in names
    }
    return {"with": "+".join(options["kinds"]), **kept}


def _make_small_set(roots: Dataset, people: str | None) -> Dataset:
    if people is None:
        return roots
    made = formats.read(people)
    ids = set(roots.ids)
    mine = [p for p in made if p.lineage is not None and p.root in ids]
    if not mine:
        raise DataError(f"{people} contains no problem whose root was drawn")
    if len(mine) < len(made):
        say(f"{people}: {len(made) - len(mine):,} of {len(made):,} problems have no drawn root")
    return evolve.merge_children(roots, [mine, *([] for _ in roots[1:])]).dataset


def _run_generation(
    number: int, kind: str, data: Dataset, existing: Dataset, options: Options, folder: OutputFolder
) -> Evolution:
    """Perturb the problems once. The kind "chat" does not repeat the `existing` problems."""
    name = f"generation-{number + 1}.jsonl"
    workers: AbstractContextManager[Executor | None] = nullcontext()
    if options["cluster"] and kind != "chat":
        workers = _options.connect_cluster(options["cluster"])
    elif kind in _WORDNET and options["workers"] > 1 and len(data) >= _MIN_PROBLEMS_FOR_PROCESSES:
        workers = ProcessPoolExecutor(options["workers"])
    with (
        folder.scratch(name) as path,
        progress(f"Perturbing with {kind}", len(data)) as advance,
        workers as executor,
    ):
        finished = 0

        def show_children(done: int, made: int) -> None:
            nonlocal finished
            finished = done
            advance(done, f"children: {made:,}")

        def show_rows(accepted: int, wanted: int, note: str) -> None:
            advance(finished, f"{accepted} of {wanted} {note}")

        perturber: Perturber
        if kind in _WORDNET:
            perturber = evolve.WordNetPerturber(
                options["count"],
                WordNet(find_wordnet_folder(options["wordnet_folder"])),
                wide=options["wide"] and kind == "wordnet",
                as_published=kind == "wordnet-paper",
            )
        else:
            perturber = evolve.ChatPerturber(
                _make_client(options),
                wanted=options["wanted"],
                batches=options["batches"],
                taken=existing.problems,
                folder=folder.path / "dialogues",
                on_progress=show_rows,
            )
        made = evolve.resume_children(
            data.problems,
            perturber,
            options["seed"] + number,  # the same perturber must not repeat its children
            Path(path),
            executor=executor,
            on_progress=show_children,
        )
    return evolve.merge_children(data, made)


def _make_evograd_sets(
    roots: Roots, small: Dataset, stages: list[Evolution], options: Options, folder: OutputFolder
) -> tuple[dict[str, Dataset], Dataset, Sequence[Dropped]]:
    """Run both generations, and return the sets by name, all families, and the dropped problems."""
    parts = evolve.split_roots(roots.dataset, options["split"], options["seed"])
    start = small if options["grow"] == "small" else roots.dataset
    medium = _run_generation(0, options["kinds"][0], start, small, options, folder)
    stages.append(medium)
    grows = [p for p in medium.dataset if options["augment"] == "all" or parts[p.root] != "test"]
    large = _run_generation(1, options["kinds"][1], Dataset(grows), small, options, folder)
    stages.append(large)
    everything = Dataset({p.id: p for p in (*medium.dataset, *large.children)}.values())
    made = evolve.assemble(
        small, medium.dataset, everything, parts, extend_test=options["augment"] == "all"
    )
    sets = {
        "small": made.small,
        **{f"medium-{name}": part for name, part in made.medium.items()},
        **{f"large-{name}": part for name, part in made.large.items()},
    }
    return sets, Dataset({p.id: p for p in (*small, *everything)}.values()), made.dropped


_CHAT_OPTION_COUNT = 2
"""Number of options that chat models require, because EvoGrad's table has two."""


def _draw_roots(options: Options) -> Roots:
    datasets = [_options.read_data(path) for path in options["data"]]
    wanted = options["roots"]
    if not wanted:
        if options["right"]:
            raise InputError("--right limits which roots may be drawn, so it needs --roots N")
        if options["sets"]:
            raise InputError("--sets needs roots; add --roots N")
        if len(datasets) > 1:
            raise InputError(
                "with several data sets, add --roots N, which gives their problems distinct ids"
            )
        (dataset,) = datasets
        others = [problem.id for problem in dataset if len(problem.options) != _CHAT_OPTION_COUNT]
        if "chat" in options["kinds"] and others:
            raise InputError(
                f"{len(others):,} of {len(dataset):,} problems have more than two options (first: "
                f"{others[0]!r}), which a chat model can't perturb; draw from the others with "
                "--roots N, or use --with wordnet"
            )
        return Roots(dataset, {}, ())
    if len(wanted) not in (1, len(datasets)):
        raise InputError(
            f"--roots is given {len(wanted)} times for {len(datasets)} data sets; give it once, "
            "or once for each"
        )
    solvers: list[list[Sequence[Prediction]]] = [[] for _ in datasets]
    for path in options["right"]:
        at, found = _match_answers(datasets, path)
        solvers[at] += found
    return draw_roots(
        datasets,
        wanted * len(datasets) if len(wanted) == 1 else wanted,
        [
            find_unsolved_ids(dataset, own) if own else frozenset()
            for dataset, own in zip(datasets, solvers, strict=True)
        ],
        options["seed"],
        options=_CHAT_OPTION_COUNT if "chat" in options["kinds"] else None,
    )


def _match_answers(
    datasets: Sequence[Dataset], path: str
) -> tuple[int, list[tuple[Prediction, ...]]]:
    """Return the index of the data set that the answers are for, and each model's answers."""
    fits: dict[int, list[answers.Answers]] = {}
    errors: list[InputError] = []
    for at, dataset in enumerate(datasets):
        try:
            read = answers.read(path, dataset, **_options.get_answer_arguments())
            fits[at] = [own.align_with(dataset) for own in read.values()]
        except InputError as error:
            errors.append(error)
    made_for = [
        at for at, own in fits.items() if {one.data for one in own} == {datasets[at].blind().digest}
    ]
    among = made_for or [*fits]
    if len(among) != 1:
        names = ", ".join(datasets[at].name for at in among)
        why = "no data set: "
        if among:
            why = (
                f"several data sets ({names}), which have the same ids or the same number of "
                "problems; draw from one data set at a time"
            )
        raise DataError(f"{path} has answers to {why}{'; '.join(map(str, errors)) * (not among)}")
    return among[0], [own.predictions for own in fits[among[0]]]
