"""Options that several commands share, and what they give a command."""

from __future__ import annotations

import glob
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from winosmith.cli._printing import say
from winosmith.errors import FormatError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from winosmith.dataset import Dataset
    from winosmith.formats import Columns
    from winosmith.humans import Declared

FILE = click.Path(exists=True, dir_okay=False)
FOLDER = click.Path(exists=True, file_okay=False)


class _Page(click.Path):
    """A file to write a page to; one that is there must be a page, too, not the data."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        given = super().convert(value, param, ctx)
        path = Path(os.fsdecode(given))
        if path.is_file():
            with path.open("rb") as file:
                start = file.read(64).lstrip().lower()
            if start and not start.startswith(b"<!doctype html"):
                self.fail(f"File {str(path)!r} is there, and is no page: name another.", param, ctx)
        return given


PAGE = _Page(dir_okay=False)


def _dropout(ctx: click.Context, param: click.Parameter, value: str | None) -> float | str | None:
    """Return a rate, or "own" for that of the model."""
    if value is None or value == "own":
        return value
    try:
        return float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a rate nor own", ctx, param) from None


def regularisation_options(function: Any) -> Any:
    """Add `--weight-decay` and `--dropout`; `regularisation` reads them."""
    dropout = click.option("--dropout", callback=_dropout, metavar="RATE|own", help="Dropout rate "
                           "everywhere in the network; own: the model's own. By default that of "
                           "--grid winogrande (own), otherwise 0.")  # fmt: skip
    decay = click.option("--weight-decay", type=float, help="Weight decay of AdamW, on matrices. "
                         "By default that of --grid winogrande (0), otherwise "
                         "0.01.")  # fmt: skip
    return decay(dropout(function))


def regularisation(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `TrainingSettings` that `--weight-decay` and `--dropout` set."""
    given = {name: options[name] for name in ("weight_decay", "dropout")}
    return {
        name: None if value == "own" else value
        for name, value in given.items()
        if value is not None
    }


_PAIR_BY, _ENCODING = "pair_by", "encoding"

_COLUMNS = {
    "question": (
        "COLUMN",
        "Column of the question, where rows of questions have another name for it; several, with "
        "commas, are joined.",
    ),
    "choices": (
        "COLUMN",
        "Column of the choices; or one a choice, such as A,B,C,D; or that of the "
        "answers, where its labels are all the choices (yes and no).",
    ),
    "answer": ("COLUMN", "Column of the right choice."),
    "answer_is": (
        "KIND",
        "What that holds: letter, 0 or 1 (numbers from there on), text or label; told by the whole "
        "file when left out.",
    ),
}
"""The options by which `read_data` finds the columns of questions."""


class _Data(click.Path):
    """A file, a folder or "-"; or a pattern of files, such as "part-*.jsonl"."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        is_pattern = glob.has_magic(value) and glob.glob(value, recursive=True)  # noqa: PTH207
        return str(value) if is_pattern else super().convert(value, param, ctx)


DATA = _Data(exists=True, allow_dash=True)


def data_argument(name: str = "data") -> Callable[[Any], Any]:
    """Add the argument DATA: problems in any known format, in any container of files."""
    return click.argument(name, metavar=name.upper(), type=DATA)


def columns_option(function: Any) -> Any:
    """Add the options of `_COLUMNS`, which `named_columns` gathers."""
    for name, (value, told) in reversed(_COLUMNS.items()):
        function = click.option(
            "--" + name.replace("_", "-"),
            f"of_{name}",
            metavar=value,
            expose_value=False,
            callback=_kept(name),
            help=told,
        )(function)
    return function


def encoding_option(function: Any) -> Any:
    """Add `--encoding`, which `how_read` returns."""
    return click.option(
        "--encoding",
        _ENCODING,
        metavar="NAME",
        expose_value=False,
        callback=_kept(_ENCODING),
        help="Encoding of the text, such as cp1252; UTF-8 if omitted, and UTF-16 or UTF-32 with a "
        "byte-order mark.",
    )(function)


def format_option(function: Any) -> Any:
    """Add `--from`, `--pair-by`, `--encoding` and `columns_option`'s: how `read_data` reads DATA.

    The command gets `format_name`; the others wait in click's context for `read_data`.
    """
    function = encoding_option(columns_option(function))
    function = click.option(
        "--pair-by",
        _PAIR_BY,
        metavar="COLUMN",
        expose_value=False,
        callback=lambda context, _, column: context.meta.update({_PAIR_BY: column}),
        help="A further column that both halves of a twin share; left out, twins are found by "
        "their ids, or else by their texts.",
    )(function)
    return click.option(
        "--from",
        "format_name",
        metavar="FORMAT",
        help="Format of the input; found from its content when left out.",
    )(function)


def _kept(name: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Return the callback that keeps an option's value in click's context."""

    def keep(context: click.Context, _: click.Parameter, value: Any) -> Any:
        context.meta[name] = value
        return value

    return keep


def named_columns() -> Columns | None:
    """Return the columns of questions that the options name; None without any."""
    from winosmith.formats import Columns

    meta = click.get_current_context().meta
    given = {name: meta.get(name) for name in _COLUMNS}
    if not any(given.values()):
        return None
    several = {
        name: tuple(part.strip() for part in (given[name] or "").split(",") if part.strip())
        for name in ("question", "choices")
    }
    return Columns(**several, answer=given["answer"], answer_is=given["answer_is"])


def read_data(path: str, format_name: str | None) -> Dataset:
    """Read a command's DATA as its options say; see `format_option`.

    Raises:
        FormatError: see `winosmith.formats.read`; of a bad record, it says how to go on without.
    """
    from winosmith import formats

    how = how_read()
    try:
        return formats.read(path, format_name, **how)
    except FormatError as error:
        if error.line is None or not formats.scan(path, format_name, **how).bad:
            raise
        meta = click.get_current_context().meta
        kept = (_PAIR_BY, _ENCODING, *_COLUMNS)
        options = {"from": format_name, **{name: meta.get(name) for name in kept}}
        named = [(f"--{name.replace('_', '-')}", value) for name, value in options.items() if value]
        way = shlex.join(["winosmith", "convert", path, "good.jsonl", *chain(*named)])
        raise error.because(
            f"{error.reason}; to go on without such records, set them aside first: {way} "
            "--skip-bad bad.jsonl"
        ) from None


def how_read() -> dict[str, Any]:
    """Return what the command's options say of how DATA is read, beside its format."""
    encoding = click.get_current_context().meta.get(_ENCODING)
    return {"pair_by": pairing_column(), "columns": named_columns(), "encoding": encoding}


def pairing_column() -> str | None:
    """Return the column that `--pair-by` names; None without it."""
    column: str | None = click.get_current_context().meta.get(_PAIR_BY)
    return column


def skip_bad_option(function: Any) -> Any:
    """Add `--skip-bad FILE`."""
    return click.option(
        "--skip-bad",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Set records that can't be used aside in FILE, and go on.",
    )(function)


def with_skip_bad(error: FormatError) -> FormatError:
    """Return the error of a bad record, with what `--skip-bad` would do."""
    hint = "add `skip_bad='bad.jsonl'` to set such records aside and continue"
    return error.because(f"{error.reason}; {hint}")


def unmarked_twins(dataset: Dataset) -> tuple[int, str]:
    """Return how many pairs look like twins though nothing marks them, and what to do; or ""."""
    from winosmith import formats

    pairs = formats.alike(dataset.problems)
    if not pairs:
        return 0, ""
    first, second = (dataset[row].id for row in pairs[0])
    one = len(pairs) == 1
    return len(pairs), (
        f"{len(pairs):,} pair{'s' * (not one)} of singles look{'s' * one} like {'a ' * one}"
        f"twin{'s' * (not one)}, though nothing marks {'it' if one else 'them'} (as {first!r} and "
        f"{second!r}): name a column that both halves share with `pair_by=`, or give both one "
        "twin_id"
    )


def json_option(function: Any) -> Any:
    """Add `--json`: print the report as JSON instead of text."""
    return click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")(
        function
    )


def asked(text: str) -> Declared:
    """Return what `--ask NAME=QUESTION` asks for."""
    from winosmith.humans import Declared

    name, _, question = text.partition("=")
    if not name.isidentifier() or not question.strip():
        raise click.BadParameter(
            f"{text!r}: a name and a question are needed, such as age='How old are you?'",
            param_hint="--ask",
        )
    return Declared(name, question.strip())


def cluster_option(function: Any) -> Any:
    """Add `--cluster ADDRESS`."""
    return click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Spread the work over the workers of a Dask scheduler, such as tcp://head:8786; only "
        "in a network that you trust.",
    )(function)


@contextmanager
def on_cluster(address: str | None) -> Iterator[Executor | None]:
    """Open the executor over a cluster while the block runs; None without an address."""
    if address is None:
        yield None
        return
    from winosmith import cluster

    with cluster.connect(address) as executor:
        say(f"{executor.workers} threads of workers at {address}")
        yield executor
