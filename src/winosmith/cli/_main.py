"""The group of commands, and what every command does with an error or an interrupt.

What is misspelt gets a suggestion, and only what is called is loaded.
"""

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
from winosmith.cli._advice import advised
from winosmith.cli._printing import echo, say
from winosmith.errors import Interrupted, WinosmithError

_FAILED: WeakKeyDictionary[WinosmithError, click.Command] = WeakKeyDictionary()
"""The command in which an error was raised, whose options its advice names."""


class Group(click.Group):
    """Lists its commands in the order of their definition, and names the nearest to a misspelt."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except WinosmithError as error:
            failed = self.get_command(ctx, ctx.invoked_subcommand or "")
            if failed is not None and not isinstance(failed, click.Group):
                _FAILED[error] = failed
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        # An option in its place is click's to refuse: it knows those that are nearest.
        if not (ctx.resilient_parsing or name.startswith("-") or self.get_command(ctx, name)):
            known = self.list_commands(ctx)
            near = " or ".join(difflib.get_close_matches(name, known))
            told = f"did you mean {near}?" if near else f"there are {', '.join(known)}"
            ctx.fail(f"there is no command {name!r}; {told}")
        return super().resolve_command(ctx, args)


class LazyGroup(Group):
    """Loads a command's module only when that command is called or asked for help.

    Args:
        sections: by its title, the commands of each part of the help, each with its one line.
        places: where in this folder a command is, as "module:name"; one that is not named is
            `command` in the module of its own name.
    """

    def __init__(
        self,
        *args: Any,
        sections: Mapping[str, Mapping[str, str]],
        places: Mapping[str, str] = {},
        **kwargs: Any,
    ):
        super().__init__(*args, **kwargs)
        self.sections, self.places = sections, places

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for lines in self.sections.values() for name in lines]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module, _, name = self.places.get(cmd_name, f"{cmd_name}:command").partition(":")
        command: click.Command = getattr(importlib.import_module(f"{__package__}.{module}"), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            if _is_output(error):
                raise
            raise WinosmithError(f"a connection broke: {error}") from error  # click would hide it

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.list_commands(ctx)))  # the sections' lines begin in one column
        for title, lines in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), line) for name, line in lines.items()])


AGAIN = "Run the same command again: nothing is half-written, and what was written is kept."

SECTIONS = {
    "Build a benchmark": {
        "demo": "build a benchmark from the practice corpus, in a minute",
        "practice": "write the practice corpus or the hand-written twins",
        "build": "raw twins in, a debiased benchmark and its report out",
        "round": "a pool in; a release, its difficulty, and the next round's roots out",
        "check": "validate twins: structure and votes, with a funnel by reason",
        "stats": "count a data set, and find fields that give the answer away",
        "audit": "what gives the answers of any multiple-choice set away, in a minute",
        "debias": "filter a data set: AFLite, mirror, PMI or at random",
        "embed": "turn problems into vectors",
        "evolve": "perturb problems, with lineage: WordNet or a chat model",
    },
    "Measure models": {
        "train": "fine-tune an encoder to choose between options: one run, a grid, "
        "or several sizes",
        "solve": "let a solver answer problems, with a score for each option",
        "score": "accuracy of predictions, with intervals that know of twins",
        "compare": "which of several solvers is better, and whether that is chance",
        "curve": "accuracy by the size of the training set, and where it would reach people",
        "leaderboard": "the accuracies and the area under the curve of a leaderboard file",
        "transfer": "solve other data sets, beside what has been published about them",
        "data": "list and download the published data sets",
    },
    "People": {
        "humans": "test the materials on people: sheets, answers, results, the reliable subset",
        "serve": "open the platform: people write, judge and moderate, and download the set",
        "work": "do the jobs of a site: imports, backups, mail; `serve` starts it by itself",
        "admin": "look after a site: backup, restore, export, import, invitations",
    },
    "Publish": {
        "release": "make the folder that is published: cards, Croissant, checksums, credit",
        "verify": "prove a release, or find what is wrong with it",
        "convert": "read one published format and write another",
    },
}
"""The commands in the order of the help, by what they are for; each with its one line."""

PLACES = {
    "practice": "demo:practice",
    "leaderboard": "curve:leaderboard",
    "verify": "release:verify",
}
"""Where those are that have no module of their own name."""


@click.command(
    cls=LazyGroup,
    sections=SECTIONS,
    places=PLACES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="winosmith")
def group() -> None:
    """Find what gives the answers of a benchmark away, and build one that does not give its own.

    \b
    Any multiple-choice set:     winosmith audit questions.csv
    A benchmark out of twins:    winosmith demo
    """  # noqa: D301


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return 0, a command's own code, 2 for bad input, 130 after Ctrl-C."""
    warnings.showwarning = _show_warning
    try:
        code = group.main(arguments, prog_name="winosmith", standalone_mode=False)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        say(shown.getvalue().rstrip())
        return 2
    except Interrupted as told:
        echo(f"\nStopped. {told}", err=True, fg="yellow")
        return 130
    except (KeyboardInterrupt, click.Abort):
        echo(f"\nStopped. {AGAIN}", err=True, fg="yellow")
        return 130
    except WinosmithError as error:
        return _fail(advised(str(error), _FAILED.get(error)))
    except SystemExit:  # click ends so if nobody reads the help that it prints
        return 0
    except OSError as error:
        return _fail(f"{error.filename or 'the system'}: {error.strerror or error}")
    except MemoryError as error:
        why = f" ({error})" if str(error) else ""
        return _fail(f"the memory is too small for this{why}: give it fewer items, or more memory")
    return code if isinstance(code, int) else 0  # what `ctx.exit(1)` asks for arrives as a result


def _is_output(error: BaseException) -> bool:
    """Return whether the error is of printing: help, say, of which the reader needed no more."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code is click.echo.__code__ for frame, _ in frames)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    echo("Warning: ", err=True, fg="yellow", nl=False)
    echo(message, err=True)


def _fail(message: str) -> int:
    echo("Error: ", err=True, fg="red", bold=True, nl=False)
    echo(message, err=True)
    return 2
