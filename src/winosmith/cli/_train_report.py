"""What `winosmith train` reports: runs, means over seeds, runs at chance; as text and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from winosmith.cli._printing import print_table
from winosmith.report import Signature

if TYPE_CHECKING:
    from winosmith.models import FineTuned, Trained, TrainingRun
    from winosmith.study import Trainable

__all__ = ["print_report", "report_of"]


def report_of(
    found: Trained, dev: Trainable, model: str, on_all: FineTuned | None
) -> dict[str, Any]:
    """Return the report of one training, as JSON can hold it."""
    from winosmith.models import model_folder, weights_digest

    told = {
        "model": weights_digest(model_folder(model))[:12],
        "runs": len(found.runs),
        "kept": found.settings.name,
        "split_point": found.settings.split_point,
        "sees": found.settings.sees,
        "n_train": found.n_train,
    }
    return {
        "folder": str(found.folder),
        "n_train": found.n_train,
        "n_dev": found.n_dev,
        "message": found.message,
        "dev_accuracy": found.dev_accuracy,
        "p_value": found.p_value,
        "at_chance": found.at_chance,
        "epoch_kept": found.best + 1,
        "epochs": [asdict(epoch) for epoch in found.epochs],
        "settings": asdict(found.settings),
        "runs": [
            {
                "name": run.settings.name,
                "dev_accuracy": run.dev_accuracy,
                "epoch_kept": run.best + 1,
                "p_value": run.p_value,
                "at_chance": run.at_chance,
            }
            for run in found.runs
        ],
        "by_setting": _by_setting(found.runs),
        "on_all": on_all and {"folder": str(on_all.folder), "at_chance": on_all.at_chance},
        "signature": str(Signature(_digest(dev), len(dev), told, found.settings.seed)),
    }


def _digest(dev: Trainable) -> str:
    from winosmith.models import questions

    return questions(dev, "measure on").digest


def _by_setting(runs: Sequence[TrainingRun]) -> list[dict[str, Any]]:
    """Return, for each setting, the accuracies by seed and their mean without those at chance."""
    together: dict[tuple[float, int, int], list[TrainingRun]] = {}
    for run in runs:
        known = run.settings
        key = (known.learning_rate, known.epochs, known.batch_size)
        together.setdefault(key, []).append(run)
    rows = []
    for (rate, epochs, size), own in together.items():
        above = [run.dev_accuracy for run in own if not run.at_chance]
        rows.append(
            {
                "learning_rate": rate,
                "epochs": epochs,
                "batch_size": size,
                "accuracies": {str(run.settings.seed): run.dev_accuracy for run in own},
                "mean_above_chance": sum(above) / len(above) if above else None,
                "at_chance": [run.settings.seed for run in own if run.at_chance],
            }
        )
    return rows


def print_report(report: dict[str, Any]) -> None:
    """Print the report of a training, of two in sequence, or of a curve."""
    if "curve" in report:
        _print_curve(report)
        return
    _print_training(report)
    if "then" in report:
        click.echo()
        _print_training(report["then"])
    known = report.get("forgetting")
    if known:
        before, after = (100 * known[f"right_{when}"] / known["n"] for when in ("before", "after"))
        click.echo(
            f"On the first dev part ({known['n']:,}): {before:.2f} % before the second training, "
            f"{after:.2f} % after"
        )


def _print_training(report: dict[str, Any]) -> None:
    click.echo(f"{report['n_train']:,} problems to train on, {report['n_dev']:,} to choose by\n")
    if len(report["runs"]) == 1:
        rows = [
            (at, f"{epoch['loss']:.3f}", _percent(epoch["dev_correct"] / report["n_dev"]),
             f"{epoch['p_value']:.2g}")
            for at, epoch in enumerate(report["epochs"], start=1)
        ]  # fmt: skip
        print_table("Epochs", ("epoch", "loss", "dev", "p of guessing"), rows)
    else:
        _print_grid(report)
    said = report["message"][0].upper() + report["message"][1:]
    click.echo(textwrap.fill(said, 79, break_on_hyphens=False))
    if report["on_all"]:
        click.echo(f"Trained on train and dev: {report['on_all']['folder']}")
        if report["on_all"]["at_chance"]:
            click.secho("AT CHANCE on what it was trained on: it collapsed", fg="red")
    click.echo(f"Signature: {report['signature']}")
    click.secho(f"The model is {report['folder']}", bold=True)


def _print_grid(report: dict[str, Any]) -> None:
    rows = [
        (
            f"{row['learning_rate']:g}",
            row["epochs"],
            row["batch_size"],
            " ".join(
                _percent(accuracy) + ("!" if int(seed) in row["at_chance"] else "")
                for seed, accuracy in row["accuracies"].items()
            ),
            "—" if row["mean_above_chance"] is None else _percent(row["mean_above_chance"]),
        )
        for row in report["by_setting"]
    ]
    head = ("learning rate", "epochs", "batch", "dev, by seed (! at chance)", "mean of the others")
    print_table("Runs", head, rows)


def _print_curve(report: dict[str, Any]) -> None:
    from winosmith.study import published

    printed = {
        row.system.split("(")[1].rstrip(")").replace(",", ""): row.printed
        for row in published(4, "winogrande-dev")
    }
    rows = []
    for size in report["sizes"]:
        low = [run["name"] for run in size["runs"] if run["at_chance"]]
        rows.append(
            (
                f"{size['n_train']:,}",
                _percent(size["dev_accuracy"]),
                f"{len(low)} of {len(size['runs'])}",
                printed.get(str(size["n_train"]), ""),
            )
        )
    print_table("Learning curve", ("size", "best, dev", "runs at chance", "WinoGrande's"), rows)
    for size in report["sizes"]:
        click.echo(f"Signature: {size['signature']}")
    click.secho(f"Continue it: winosmith curve {report['curve']}", bold=True)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
