"""The command group, and the handling of errors and interrupts."""

from __future__ import annotations

import difflib
import importlib
import io
import traceback
import warnings
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import click

from winosmith._version import __version__
from winosmith.cli._printing import echo, say, translate_settings
from winosmith.errors import Interrupted, WinosmithError

_FAILED_COMMANDS: WeakKeyDictionary[WinosmithError, click.Command] = WeakKeyDictionary()
"""The command that raised each error, so that the message can suggest the command's options."""


class Group(click.Group):
    """A group that keeps the order of its commands and suggests names for misspelt ones."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except WinosmithError as error:
            failed = self.get_command(ctx, ctx.invoked_subcommand or "")
            if failed is not None and not isinstance(failed, click.Group):
                _FAILED_COMMANDS[error] = failed
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        # Click rejects an option here itself, and suggests similar ones.
        if not (ctx.resilient_parsing or name.startswith("-") or self.get_command(ctx, name)):
            known = self.list_commands(ctx)
            near = " or ".join(difflib.get_close_matches(name, known))
            hint = f"did you mean {near}?" if near else f"there are {', '.join(known)}"
            ctx.fail(f"there is no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)


class LazyGroup(Group):
    """A group that imports a command's module only when the command or its help is needed.

    Args:
        sections: maps the title of each help section to commands with their summaries.
        locations: maps a command to its location in this package, "module:name". The default is
            `command` in the module with the command's name.
    """

    def __init__(
        self,
        *args: Any,
        sections: Mapping[str, Mapping[str, str]],
        locations: Mapping[str, str] = {},
        **kwargs: Any,
    ):
        super().__init__(*args, **kwargs)
        self.sections, self.locations = sections, locations

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for lines in self.sections.values() for name in lines]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module, _, name = self.locations.get(cmd_name, f"{cmd_name}:command").partition(":")
        command: click.Command = getattr(importlib.import_module(f"{__package__}.{module}"), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            frames = traceback.walk_tb(error.__traceback__)
            if any(frame.f_code is click.echo.__code__ for frame, _ in frames):
                raise  # the pipe to which click prints was closed
            raise WinosmithError(f"a connection broke: {error}") from error  # click would hide it

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.list_commands(ctx)))  # one column for all sections
        for title, lines in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), line) for name, line in lines.items()])


SECTIONS = {
    "Build a benchmark": {
        "demo": "build a benchmark from the practice corpus in about a minute",
        "practice": "write the practice corpus or the hand-written twins",
        "build": "turn raw twins into a filtered benchmark with a report",
        "round": "build a release from a pool, measure it, and choose the next round's roots",
        "check": "validate twins by their structure and votes",
        "stats": "count problems, and find fields that give the answer away",
        "audit": "find artifacts in any multiple-choice data set, in a minute",
        "debias": "filter a data set with AFLite, mirror, PMI or at random",
        "embed": "compute embedding vectors of problems",
        "evolve": "perturb problems with WordNet or a chat model, and record the lineage",
    },
    "Measure models": {
        "train": "fine-tune an encoder to choose between options: one run, a grid, "
        "or several sizes",
        "solve": "solve problems with a model or a baseline",
        "score": "measure the accuracy of predictions, with intervals that account for twins",
        "compare": "compare solvers, and test whether differences are due to chance",
        "curve": "fit a learning curve, and extrapolate it to human accuracy",
        "leaderboard": "score a leaderboard submission: accuracies and area under the curve",
        "transfer": "solve published data sets, and compare with the published results",
        "exposure": "test whether models have seen a keyed release, using its secret coins",
        "data": "list and download the published data sets",
    },
    "People": {
        "humans": "test problems on people: sheets, answers, results, the reliable subset",
        "serve": "run the web platform, where people write, judge and moderate",
        "work": "run a site's background jobs (imports, backups, mail); started by `serve`",
        "admin": "manage a site: backup, restore, export, import, invitations",
    },
    "Publish": {
        "release": "make a release folder to publish: cards, Croissant, checksums, credit",
        "verify": "verify a release",
        "convert": "convert a data set to another format",
    },
}

LOCATIONS = {
    "practice": "demo:practice",
    "leaderboard": "curve:leaderboard",
    "verify": "release:verify",
    "work": "serve:work",
}
"""Locations that differ from the default; see `LazyGroup`."""


@click.command(
    cls=LazyGroup,
    sections=SECTIONS,
    locations=LOCATIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="winosmith")
def group() -> None:
    """Find artifacts that give away the answers of a benchmark, and build benchmarks without them.

    \b
    Any multiple-choice set:     winosmith audit questions.csv
    A benchmark from twins:      winosmith demo
    """  # noqa: D301


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code: 2 for invalid input, 130 after Ctrl-C."""
    warnings.showwarning = _show_warning
    try:
        code = group.main(arguments, prog_name="winosmith", standalone_mode=False)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        say(shown.getvalue().rstrip())
        return 2
    except Interrupted as error:
        echo(f"\nStopped. {error}", err=True, fg="yellow")
        return 130
    except (KeyboardInterrupt, click.Abort):
        advice = "The same command continues from them, or from the start if there are none."
        echo(f"\nStopped. Finished files are kept. {advice}", err=True, fg="yellow")
        return 130
    except WinosmithError as error:
        return _print_error(translate_settings(str(error), _FAILED_COMMANDS.get(error)))
    except SystemExit:  # from click, if help is printed to a closed pipe
        return 0
    except OSError as error:
        return _print_error(f"{error.filename or 'the system'}: {error.strerror or error}")
    except MemoryError as error:
        why = f" ({error})" if str(error) else ""
        return _print_error(f"out of memory{why}; use fewer items or a machine with more memory")
    return code if isinstance(code, int) else 0  # the code of `ctx.exit(1)` is the result


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    echo("Warning: ", err=True, fg="yellow", nl=False)
    echo(message, err=True)


def _print_error(message: str) -> int:
    echo("Error: ", err=True, fg="red", bold=True, nl=False)
    echo(message, err=True)
    return 2
