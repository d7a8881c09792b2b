"""`winosmith train`: fine-tune an encoder in one run, over a grid, in sequence, or by size."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from winosmith import models, study
from winosmith.cli import _options
from winosmith.cli._output import print_table
from winosmith.cli._printing import echo, print_json_if_requested, progress, say
from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.models import GRIDS, Grid, TrainingSettings
from winosmith.recast import to_claims
from winosmith.report import Signature, percent
from winosmith.study import Trainable

Options = dict[str, Any]

_DECLARED_SETTINGS = ("weight_decay", "dropout", "split_point", "max_length", "sees")
"""Settings whose options are generated."""


@click.command()
@click.argument("train", metavar="TRAIN...", nargs=-1, required=True, type=_options.MORE_DATA)
@click.option("--dev", required=True, metavar="DATA|N", help="Development data used to select the "
              "epoch and the run: a file, or a number of problems to draw from TRAIN "
              "(twins stay whole).")  # fmt: skip
@click.option("--model", required=True, metavar="HUB_ID|FOLDER",
              help="Encoder to fine-tune, or a previously trained model.")  # fmt: skip
@click.option("--out", required=True, metavar="DIR", help="Output folder: the best model is in "
              "DIR/model, the record of all runs in DIR/runs.json.")  # fmt: skip
@click.option("--grid", type=click.Choice(list(GRIDS)), default="one", show_default=True,
              help="Grid of settings: winogrande is 3 learning rates × 4 numbers of epochs × 2 "
              "batch sizes × 3 seeds, with the released code's weight decay and dropout; evograd, "
              "for evolved data, is 3 learning rates × 4 numbers of epochs × 4 batch "
              "sizes.")  # fmt: skip
@click.option("--learning-rate", type=float, multiple=True, help="Learning rate to use instead of "
              "the grid's values; may be repeated.")  # fmt: skip
@click.option("--epochs", type=int, multiple=True, help="Number of epochs to use instead of the "
              "grid's values; may be repeated.")  # fmt: skip
@click.option("--batch-size", type=int, multiple=True, help="Batch size (number of problems) to "
              "use instead of the grid's values; may be repeated.")  # fmt: skip
@click.option("--seeds", type=click.IntRange(min=1), metavar="N", help="Use the seeds 0 to N − 1 "
              "instead of the grid's.")  # fmt: skip
@click.option("--on-all", is_flag=True, help="Finally train on train and dev with the settings "
              "selected on dev; this model is in DIR/all.")  # fmt: skip
@click.option("--curve", is_flag=True, help="Train on each file TRAIN separately, or on nested "
              "subsets of one file (160, 640, 2,560 … problems); winosmith curve reads "
              "DIR/curve.csv.")  # fmt: skip
@click.option("--claims", is_flag=True, help="Recast problems as true-or-false claims, as in "
              "SuperGLUE-WSC (not needed for a file of claims).")  # fmt: skip
@click.option("--local-context", is_flag=True, help="Show only the text from two words before the "
              "blank to the end.")  # fmt: skip
@_options.add_declared_options(TrainingSettings, only=_DECLARED_SETTINGS)
@_options.device_option
@click.option("--force", is_flag=True, help="Overwrite results of other settings in DIR.")
@_options.format_option
@_options.json_option
def command(**options: Any) -> None:
    """Fine-tune an encoder to choose between two options; keep the best run on dev.

    You can stop the command at any time, even with kill; run it again to resume. Runs at chance are
    listed, and excluded from means. Several TRAIN files are combined. Use the result with:
    winosmith solve DATA --solver encoder --model DIR --out FILE.jsonl

    \b
    Example:
        winosmith train train_xl.jsonl --dev dev.jsonl --out tuned \\
            --model FacebookAI/roberta-large --grid winogrande
        winosmith train train_xl.jsonl --dev dev.jsonl --out tuned --model minilm --seeds 3
    """  # noqa: D301
    report = _train(options)
    if print_json_if_requested(report):
        return
    if "curve" in report:
        printed = {
            row.system.split("(")[1].rstrip(")").replace(",", ""): row.printed
            for row in study.get_published(4, "winogrande-dev")
        }
        rows = [
            (
                f"{size['n_train']:,}",
                percent(size["dev_accuracy"]),
                f"{sum(run['at_chance'] for run in size['runs'])} of {len(size['runs'])}",
                printed.get(str(size["n_train"]), ""),
            )
            for size in report["sizes"]
        ]
        print_table("Learning curve", ("size", "best, dev", "runs at chance", "WinoGrande's"), rows)
        for size in report["sizes"]:
            echo(f"Signature: {size['signature']}")
        echo(f"Fit and extrapolate it with: winosmith curve {report['curve']}", bold=True)
        return
    _print_training(report)


def _train(options: Options) -> dict[str, Any]:
    if options["curve"] and options["on_all"]:
        raise InputError("--curve can't be combined with --on-all")
    parts = [_read_trainable(path, options) for path in options["train"]]
    if options["curve"]:
        return _train_curve(parts, options)
    joined = study.join_data(parts, Path(options["train"][0]).stem)
    train, dev = _choose_dev(joined, options["dev"], options)
    return _train_once(train, dev, options)


def _make_run_arguments(options: Options, advance: Callable[[int, str], None]) -> dict[str, Any]:
    base, given = GRIDS[options["grid"]], _options.find_given_options(click.get_current_context())
    grid = Grid(
        options["learning_rate"] or base.learning_rates,
        options["epochs"] or base.epochs,
        options["batch_size"] or base.batch_sizes,
        tuple(range(options["seeds"])) if options["seeds"] else base.seeds,
        {name: value for name, value in base.fixed.items() if name not in given},
    )
    settings = TrainingSettings(
        local=2 if options["local_context"] else None,
        **{name: options[name] for name in _DECLARED_SETTINGS},
    )
    runs, current = len(list(grid.iter_runs(settings))), 1

    def on_run(number: int, total: int, run: models.TrainingRun) -> None:
        nonlocal current
        current = number + 1
        if total > 1:
            say(f"Run {number} of {total}, {run.settings.name}: {run.message}")

    def on_step(done: int, total: int, note: str) -> None:
        advance(done, f"of {total}, {note}" + (f", run {current} of {runs}" if runs > 1 else ""))

    return {
        "grid": grid,
        "settings": settings,
        "device": options["device"],
        "force": options["force"],
        "on_step": on_step,
        "on_run": on_run,
    }


def _train_once(train: Trainable, dev: Trainable, options: Options) -> dict[str, Any]:
    model, out = options["model"], Path(options["out"])
    with progress("Training, step") as advance:
        arguments = _make_run_arguments(options, advance)
        found = models.train_grid(train, dev, model=model, out=out, **arguments)
        on_all = None
        if options["on_all"]:
            say("Training again, on train and dev")
            on_all = study.train_on_all(
                found,
                train,
                dev,
                model=model,
                out=out / "all",
                device=options["device"],
                on_step=arguments["on_step"],
            )
    return _make_report(found, dev, model, on_all)


def _train_curve(parts: list[Trainable], options: Options) -> dict[str, Any]:
    only = parts[0]
    dev = options["dev"]
    if len(parts) == 1:
        whole, measured = _choose_dev(only, dev, options)
        if not isinstance(whole, Dataset):
            raise InputError(
                "--curve can't draw subsets of true-or-false claims; give one file for each size"
            )
        sizes: list[Trainable] = list(study.draw_nested_parts(whole))
    else:
        if dev.isdigit():
            raise InputError(
                "--curve with several files needs a common dev file; give it with --dev"
            )
        sizes, measured = sorted(parts, key=len), _choose_dev(only, dev, options)[1]
    out = Path(options["out"])
    reports: list[dict[str, Any]] = []
    with progress("Training, step") as advance:
        points = study.make_curve_runs(
            sizes,
            measured,
            out=out,
            model=options["model"],
            on_size=lambda size, found: reports.append(
                _make_report(found, measured, options["model"], None)
            ),
            **_make_run_arguments(options, advance),
        )
    study.write_curve(points, out / "curve.csv")
    return {"curve": str(out / "curve.csv"), "sizes": reports}


def _read_trainable(path: str, options: Options, as_claims: bool = False) -> Trainable:
    items = _options.read_items(path)
    if isinstance(items, Dataset) and (as_claims or options["claims"]):
        return to_claims(items)
    return items


def _choose_dev(train: Trainable, dev: str, options: Options) -> tuple[Trainable, Trainable]:
    """Return the training data and the dev set.

    `dev` is the path of the dev set, or the number of problems to draw from the training data.
    """
    if dev.isdigit() and not Path(dev).exists():
        return study.hold_out(train, int(dev))
    if not Path(dev).is_file():
        raise InputError(f"the dev set {dev!r} is neither a file nor a number of problems")
    dev_set = _read_trainable(dev, options, as_claims=isinstance(train, tuple))
    shared = study.find_shared_sentences(train, dev_set)
    if shared:
        say(
            f"Warning: {len(shared):,} texts of {dev} are also in the training data, such as "
            f"{shared[0]!r}; the accuracy on this data will be overestimated"
        )
    return train, dev_set


def _make_report(
    grid: models.GridResult, dev: Trainable, model: str, on_all: models.FinishedRun | None
) -> dict[str, Any]:
    digest = models.read_questions(dev, "measure on").digest
    parameters = {
        "model": models.digest_weights(models.find_model_folder(model))[:12],
        "runs": len(grid.runs),
        "kept": grid.settings.name,
        **_get_fields(grid.settings, "split_point", "sees", "weight_decay"),
        "dropout": "own" if grid.settings.dropout is None else grid.settings.dropout,
        "n_train": grid.n_train,
    }
    return {
        "folder": str(grid.folder),
        **_get_fields(grid, "n_train", "n_dev", "message", "dev_accuracy", "p_value", "at_chance"),
        "epoch_kept": grid.kept_epoch + 1,
        "epochs": [asdict(epoch) for epoch in grid.epochs],
        "settings": asdict(grid.settings),
        "runs": [
            {
                "name": run.settings.name,
                "epoch_kept": run.kept_epoch + 1,
                **_get_fields(run, "dev_accuracy", "p_value", "at_chance"),
            }
            for run in grid.runs
        ],
        "by_setting": _group_by_setting(grid.runs),
        "on_all": on_all and {"folder": str(on_all.folder), "at_chance": on_all.at_chance},
        "signature": str(Signature(digest, len(dev), parameters, grid.settings.seed)),
    }


def _get_fields(instance: object, *names: str) -> dict[str, Any]:
    return {name: getattr(instance, name) for name in names}


def _group_by_setting(runs: Sequence[models.TrainingRun]) -> list[dict[str, Any]]:
    """Return a row per setting, with the accuracy by seed and the mean of those above chance."""
    settings: dict[str, list[models.TrainingRun]] = {}
    for run in runs:
        settings.setdefault(run.settings.name.rpartition("-")[0], []).append(run)
    rows = []
    for own in settings.values():
        above = [run.dev_accuracy for run in own if not run.at_chance]
        rows.append(
            {
                **_get_fields(own[0].settings, "learning_rate", "epochs", "batch_size"),
                "accuracies": {str(run.settings.seed): run.dev_accuracy for run in own},
                "mean_above_chance": sum(above) / len(above) if above else None,
                "at_chance": [run.settings.seed for run in own if run.at_chance],
            }
        )
    return rows


def _print_training(report: dict[str, Any]) -> None:
    echo(f"{report['n_train']:,} training problems, {report['n_dev']:,} development problems\n")
    if len(report["runs"]) == 1:
        rows = [
            (at, f"{epoch['loss']:.3f}", percent(epoch["dev_correct"] / report["n_dev"]),
             f"{epoch['p_value']:.2g}")
            for at, epoch in enumerate(report["epochs"], start=1)
        ]  # fmt: skip
        print_table("Epochs", ("epoch", "loss", "dev", "p of guessing"), rows)
    else:
        settings = [
            (
                f"{row['learning_rate']:g}",
                row["epochs"],
                row["batch_size"],
                " ".join(
                    percent(accuracy) + ("!" if int(seed) in row["at_chance"] else "")
                    for seed, accuracy in row["accuracies"].items()
                ),
                "—" if row["mean_above_chance"] is None else percent(row["mean_above_chance"]),
            )
            for row in report["by_setting"]
        ]
        by_seed = "dev, by seed (! at chance)"
        head = ("learning rate", "epochs", "batch", by_seed, "mean of the others")
        print_table("Runs", head, settings)
    message = report["message"][0].upper() + report["message"][1:]
    echo(textwrap.fill(message, 79, break_on_hyphens=False))
    if report["on_all"]:
        echo(f"Trained on train and dev: {report['on_all']['folder']}")
        if report["on_all"]["at_chance"]:
            echo("AT CHANCE on its own training data: the training collapsed", fg="red")
    echo(f"Signature: {report['signature']}")
    echo(f"The model is in {report['folder']}", bold=True)
