"""`winosmith solve`: answer the problems in a data set with a solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from winosmith import solve
from winosmith.answers import Answers
from winosmith.blocks import normalize_tokens
from winosmith.cli import _options, _solvers
from winosmith.cli._output import print_blocks, print_table
from winosmith.cli._printing import echo, print_json_if_requested, progress, say
from winosmith.dataset import Dataset
from winosmith.metrics import round_count
from winosmith.problem import Problem
from winosmith.report import Signature, percent
from winosmith.results import make_tables
from winosmith.solve import Interview
from winosmith.solver_rule import KINDS

Options = dict[str, Any]


@click.command()
@_options.data_argument()
@click.option("--solver", required=True, type=click.Choice(list(KINDS)), help="Kind of solver.")
@click.option("--out", required=True, metavar="FILE.jsonl", help="Output file for the predictions.")
@click.option("--train", metavar="DATA", help="Solved problems to learn from, or to draw --shots "
              "from, in the same format as DATA.",
              type=_options.MORE_DATA)  # fmt: skip
@_solvers.solver_options
@click.option("--local-context", is_flag=True, help="Show the solver only the text from two "
              "words before the blank to the end, also in training.")  # fmt: skip
@_options.cluster_option
@click.option("--force", is_flag=True, help="Overwrite FILE.jsonl, even if it is unfinished.")
@_options.format_option
@_options.json_option
def command(**options: Any) -> None:
    """Solve the problems in DATA, with a score for each option.

    The solver does not see the answers; if they are known, the accuracy is printed at the end, and
    `winosmith score` adds intervals, twins and more. You can stop the command at any time; run it
    again to resume.

    \b
    Solvers:
        majority     the position that is correct most often --train
        random       chance                                  --seed
        association  PMI of words with answers               --train
        hunting      evidence found in texts                 --collection
        causal       likelihood by a language model          --model --scoring
        masked       likelihood by a masked language model   --model --scoring
        encoder      trained by winosmith train              --model
        chat         asked through an OpenAI-compatible API  --model --base-url

    \b
    Example:
        winosmith solve dev.jsonl --solver association --train train.jsonl \\
            --out association.jsonl
        winosmith solve dev.jsonl --solver causal --model openai-community/gpt2 \\
            --out gpt2.jsonl
        winosmith solve dev.jsonl --solver chat --model qwen3:8b --train train.jsonl \\
            --base-url http://localhost:11434/v1 --out qwen.jsonl
    """  # noqa: D301
    _solvers.check_options(options["solver"])
    if options["cluster"] and options["solver"] in ("chat", "hunting"):
        raise click.UsageError(f"{options['solver']} runs only on this machine; omit --cluster")
    dataset = _options.read_data(options["data"])
    train = _options.read_training_data(options)
    if train:
        known = {*map(_make_content_key, train)}
        if seen := sum(_make_content_key(problem) in known for problem in dataset):
            say(
                f"Warning: {seen:,} of {len(dataset):,} problems of {dataset.name} are also in "
                "--train; the accuracy on these does not show how well new problems are solved"
            )
        most, learnt = (max((len(p.options) for p in of), default=0) for of in (dataset, train))
        if options["solver"] == "majority" and learnt < most:
            say(
                f"Warning: the problems of {dataset.name} have up to {most} options, and those of "
                f"--train {learnt}; the solver never chooses option {learnt + 1} or later"
            )
    sees = _solvers.choose_input(options, dataset, train)
    if options["sees"] is None and sees == "pronoun":
        say("Problems differ only in the pronoun, so the solver sees the pronoun (--sees pronoun)")
        options["sees"] = sees
    bar = _ProgressBar()
    solver = _solvers.make_solver(options, train, bar.show_texts)  # may show a bar of its own
    with (
        _options.connect_cluster(options["cluster"]) as executor,
        progress("Solving", len(dataset)) as bar.advance,
    ):
        predictions = solve.predict_to_file(
            solver,
            dataset,
            options["out"],
            parameters={} if train is None else {"train": train.digest[:12]},
            force=options["force"],
            on_progress=bar.show_problems,
            executor=executor,
        )
    _print_result(dataset, predictions, _solvers.collect_replies(solver, dataset), options)


def _make_content_key(problem: Problem) -> tuple[str, frozenset[str]]:
    return normalize_tokens(problem.sentence), frozenset(map(normalize_tokens, problem.options))


@dataclass
class _ProgressBar:
    """A progress bar for solved problems, and for the texts read for the next problems."""

    advance: Callable[[int, str], None] = lambda done, note: None
    done: int = 0

    def show_problems(self, done: int) -> None:
        self.done = done
        self.advance(done, "")

    def show_texts(self, done: int, total: int) -> None:
        self.advance(self.done, f"text {done} of {total}")


def _print_result(
    dataset: Dataset, answers: Answers, interview: Interview | None, options: Options
) -> None:
    answered = [
        (problem.answer, prediction)
        for problem, prediction in zip(dataset, answers.predictions, strict=True)
        if problem.answer is not None
    ]
    right = round_count(sum(prediction.credit(answer) for answer, prediction in answered))
    ties = sum(len(prediction.chosen) > 1 for prediction in answers.predictions)
    parameters = {"solver": answers.solver, **answers.parameters}
    signature = Signature(str(answers.data), len(dataset), parameters)
    report = {
        "file": options["out"],
        "solver": answers.solver,
        "problems": len(dataset),
        "answers_known": len(answered),
        "correct": right if answered else None,
        "accuracy": right / len(answered) if answered else None,
        "ties": ties,
        **({"interview": interview.record()} if interview else {}),
        "signature": str(signature),
    }
    if print_json_if_requested(report):
        return
    accuracy = "the answers are withheld"
    if answered:
        accuracy = f"{percent(right / len(answered))} ({right:,.7g} of {len(answered):,})"
    rows = [("problems", f"{len(dataset):,}"), ("accuracy", accuracy)]
    if ties:
        rows.append(("undecided", f"{ties:,} ties (each counts 1 / options tied)"))
    print_table(f"{dataset.name} by {answers.solver}", ("", ""), rows)
    if interview:
        print_blocks(make_tables(interview, "Replies"))
    echo(f"Signature: {signature}")
    echo(f"Written to {options['out']}", bold=True)
    if answered:
        score = f"winosmith score {options['data']} {Path(options['out'])}"
        echo(f"For confidence intervals, run: {score}")
