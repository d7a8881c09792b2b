"""Options that several commands share, and options generated from declarations."""

from __future__ import annotations

import csv
import glob
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from winosmith.cli._printing import say
from winosmith.errors import FormatError
from winosmith.text import format_count

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from winosmith.dataset import Dataset
    from winosmith.formats import Contents, Entry
    from winosmith.problem import Claim

COMMANDLINE = ParameterSource.COMMANDLINE
FILE = click.Path(exists=True, dir_okay=False)
FOLDER = click.Path(exists=True, file_okay=False)


class OutputFile(click.Path):
    """A click type for an output file, which never overwrites a file of another kind.

    Args:
        starts: first characters of a file of this kind, in lower case.
        extensions: allowed extensions; empty to allow any. A name without an extension is allowed.
    """

    def __init__(self, starts: str, kind: str, extensions: Sequence[str] = ()):
        super().__init__(dir_okay=False)
        self.starts, self.kind, self.extensions = starts, kind, extensions

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        given = super().convert(value, param, ctx)
        path = Path(os.fsdecode(given))
        if self.extensions and path.suffix.lower() not in ("", *self.extensions):
            named = path.with_suffix(self.extensions[0])
            self.fail(f"The output is {self.kind}; name it {str(named)!r}.", param, ctx)
        if path.is_file():
            with path.open("rb") as file:
                start = file.read(64).lstrip().lower()
            if start and not start.startswith(self.starts.encode()):
                self.fail(f"File {str(path)!r} exists and is not {self.kind}; use another name.",
                          param, ctx)  # fmt: skip
        return given


PAGE = OutputFile("<!doctype html", "an HTML page", (".html", ".htm"))


def _store_in_context(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    ctx.meta[str(param.name)] = value


page_option = click.option(
    "--out",
    "page",
    type=PAGE,
    metavar="FILE.html",
    expose_value=False,
    callback=_store_in_context,
    help="Write the report with its charts to this file.",
)

device_option = click.option(
    "--device", metavar="NAME", help="Device in PyTorch's notation; by default the GPU, if any."
)


def seed_option(text: str = "Random seed.") -> Callable[[Any], Any]:
    seed = click.IntRange(min=0)
    return click.option("--seed", type=seed, default=0, show_default=True, help=text)


def find_given_options(ctx: click.Context) -> set[str]:
    return {name for name in ctx.params if ctx.get_parameter_source(name) is COMMANDLINE}


_COLUMNS = ("question", "choices", "answer", "answer_is", "id")

_READING_OPTIONS = {
    "pair_by": (
        "COLUMN",
        "Column with the same value in both halves of a twin; by default, twins are detected by "
        "their ids, otherwise by their texts.",
    ),
    "question": (
        "COLUMN",
        "Column of the question, if its name is not recognised; several columns, separated by "
        "commas, are joined.",
    ),
    "choices": (
        "COLUMN",
        "Column of the choices, or one column per choice, such as A,B,C,D. If the labels of the "
        "answers are the choices (yes and no), name the answer column.",
    ),
    "answer": ("COLUMN", "Column of the correct choice."),
    "answer_is": (
        "KIND",
        "Content of the answer column: letter (A for the first choice), letter2 (in the script's "
        "alternative order, such as イ ロ ハ), 0 or 1 (the number of the first choice), text (of "
        "the choice) or label (name of the choice's column); by default detected from the whole "
        "file.",
    ),
    "id": ("COLUMN", "Column of the ids, if its name is not recognised; in any format."),
    "encoding": (
        "NAME",
        "Encoding of data and answers that are not UTF-8, such as cp1252; UTF-16 and UTF-32 are "
        "detected by their byte-order mark.",
    ),
    "skip_bad": (
        "FILE",
        "Omit records that can't be used, and write them to FILE with the reasons.",
    ),
}
"""The metavar and the help of each option of `read_contents`."""


class _DataPath(click.Path):
    """Path of data: a file, folder, "-", pattern ("a-*.jsonl"), sheet ("quiz.xlsx#One") or URL."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        from winosmith.data import is_address, strip_sheet

        is_pattern = glob.has_magic(value) and glob.glob(value, recursive=True)  # noqa: PTH207
        if is_pattern or is_address(value):
            return str(value)
        found = super().convert(file := strip_sheet(value), param, ctx)
        return found if file == value else str(value)


DATA = _DataPath(exists=True, allow_dash=True)
MORE_DATA = _DataPath(exists=True)
"""The path of additional data, which can't be read from standard input."""


def data_argument(name: str = "data") -> Callable[[Any], Any]:
    return click.argument(name, metavar=name.upper(), type=DATA)


def format_option(function: Any, without: str = "") -> Any:
    """Add the options of `read_contents`, except `without`; click's context stores their values."""
    for name in reversed(_READING_OPTIONS):
        if name != without:
            function = reading_option(name)(function)
    return click.option(
        "--from",
        "of_format_name",
        metavar="FORMAT",
        expose_value=False,
        callback=_store_in_context,
        help="Format of the data; by default detected from its content.",
    )(function)


def reading_option(name: str) -> Callable[[Any], Any]:
    value, text = _READING_OPTIONS[name]
    return click.option(
        "--" + name.replace("_", "-"),
        f"of_{name}",
        metavar=value,
        type=OutputFile('{"file": ', "a list of omitted records") if value == "FILE" else str,
        expose_value=False,
        callback=_store_in_context,
        help=text,
    )


def _split_names(text: str) -> tuple[str, ...]:
    try:
        names = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:  # a name with a line break
        names = text.split(",")
    return tuple(filter(None, map(str.strip, names)))


def read_data(path: str) -> Dataset:
    from winosmith import formats

    return formats.to_dataset(read_contents(path))


def read_items(path: str) -> Dataset | tuple[Claim, ...]:
    from winosmith import formats
    from winosmith.problem import Claim

    contents = read_contents(path)
    claims = tuple(item for item in contents.items if isinstance(item, Claim))
    if claims and contents.problems:
        raise FormatError("the file contains both problems and true-or-false claims", path)
    return claims or formats.to_dataset(contents)


def read_training_data(options: Mapping[str, Any]) -> Dataset | None:
    return read_data(options["train"]) if options["train"] else None


def read_contents(
    path: str | Sequence[str],
    *,
    detect_format: bool = False,
    omit_bad: bool = False,
    ids_are_places: bool = False,
    on_progress: Callable[[float], object] | None = None,
) -> Contents:
    """Read a file, or several files as one data set, according to the options of `format_option`.

    With `detect_format`, the format is detected even if `--from` is given. With `omit_bad`, bad
    records are accepted even without `--skip-bad`. The file of `--skip-bad` contains the bad
    records of all calls.
    """
    from winosmith import formats

    how = get_reading_arguments() | {"ids_are_places": ids_are_places}
    if detect_format:
        how["format_name"] = None
    contents = formats.scan(path, **how, on_progress=on_progress)
    skip_bad = get_bad_records_file()
    if contents.bad and skip_bad:
        bad: list[Entry] = click.get_current_context().meta.setdefault("bad", [])
        bad += contents.bad
        formats.write_bad_records(bad, skip_bad)
        say(f"{contents.path}: {format_count(len(contents.bad), 'record')} omitted; see {skip_bad}")
    contents.raise_if_bad(skip_bad=omit_bad or skip_bad is not None)
    if contents.bad and not skip_bad:
        count, of = len(contents.bad), f"{len(contents.bad) + len(contents.items):,} rows"
        why = "; ".join(f"{one.place}: {one.reason}" for one in contents.bad[:3])
        why += f"; and {count - 3:,} more; add --skip-bad FILE to list all" * (count > 3)
        say(f"Warning: {count:,} of the {of} in {contents.path} can't be used: {why}")
    contents.warn()
    return contents


def get_reading_arguments() -> dict[str, Any]:
    """Return the arguments for `formats.scan`."""
    given = {name: _get_reading_option(name) for name in ("format_name", "pair_by")}
    return given | get_answer_arguments()


def get_answer_arguments() -> dict[str, Any]:
    """Return the arguments for `answers.read`, except `filters`."""
    from winosmith.formats import Columns

    given = {name: _get_reading_option(name) for name in _COLUMNS}
    several = {name: _split_names(given[name]) for name in ("question", "choices") if given[name]}
    columns = Columns(
        **several, answer=given["answer"], answer_is=given["answer_is"], id=given["id"]
    )
    return {
        "columns": columns if any(given.values()) else None,
        "encoding": _get_reading_option("encoding"),
    }


def _get_reading_option(name: str) -> Any:
    return click.get_current_context().meta.get(f"of_{name}")


def get_bad_records_file() -> str | None:
    path: str | None = _get_reading_option("skip_bad")
    return path


def detect_unmarked_twins(dataset: Dataset) -> tuple[int, str]:
    """Return the number of pairs that look like unmarked twins, and advice ("" if none)."""
    from winosmith import formats

    pairs = formats.find_unmarked_pairs(dataset.problems)
    if not pairs:
        return 0, ""
    first, second = (dataset[row].id for row in pairs[0])
    look = "pair of singles looks like an unmarked twin"
    if len(pairs) > 1:
        look = "pairs of singles look like unmarked twins"
    return len(pairs), (
        f"{len(pairs):,} {look} (such as {first!r} and {second!r}): use `pair_by=` to name a "
        "column with the same value in both halves, or give both the same twin_id"
    )


json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    expose_value=False,
    callback=_store_in_context,
    help="Print the report as JSON.",
)


cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Distribute the work to the workers of the Dask scheduler at this address, such as "
    "tcp://head:8786; use it only in a trusted network.",
)

new_ids_option = click.option(
    "--new-ids", is_flag=True, help="Give the problems new, unique ids that reveal nothing."
)


@contextmanager
def connect_cluster(address: str | None) -> Iterator[Executor | None]:
    if address is None:
        yield None
        return
    from winosmith import cluster

    with cluster.connect(address) as executor:
        say(f"{executor.workers} worker threads at {address}")
        yield executor


def parse_number(value: str) -> int | float:
    try:
        return int(value) if value.isdecimal() else float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a number") from None


def add_declared_options(
    kind: Any,
    *,
    only: Collection[str] = (),
    option_names: Mapping[str, str] | None = None,
    prefix: str = "",
) -> Callable[[Any], Any]:
    """Add an option for each field of a declaration, with its range, default and description.

    The command receives each value under the field's name.

    Args:
        kind: the declaration, or a function decorated with `checked`.
        only: names of the fields that get an option; empty for all fields.
        option_names: maps a field to its option if their names differ ("pmi": "--pmi-variant").
        prefix: beginning of each help text ("For chat: ").
    """
    from winosmith.options import build_schema  # here, so that `admin --help` starts fast

    def decorate(function: Any) -> Any:
        for name, key in reversed(build_schema(kind)["properties"].items()):
            if name in only or not only:
                option = (option_names or {}).get(name, f"--{name.replace('_', '-')}")
                if prefix:
                    text = key["description"]
                    key = {**key, "description": f"{prefix}{text[0].lower()}{text[1:]}"}
                function = make_option(name, option, key)(function)
        return function

    return decorate


def make_option(name: str, option: str, field: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Return a click option; `field` is the JSON schema of the value."""
    default = field.get("default")
    settings: dict[str, Any] = {"default": default, "show_default": default is not None}
    if default is False:
        settings = {"is_flag": True}
    elif default is True:
        option = f"{option}/--no-{option.removeprefix('--')}"
    else:
        settings["type"] = _choose_click_type(field)
    if "off" in field:
        settings["metavar"] = f"RATE|{field['off']}"
    if metavar := {(int, int): "MIN MAX", parse_number: "NUMBER"}.get(settings.get("type")):
        settings["metavar"] = metavar
    if field.get("items", {}).get("type") == "integer":
        settings |= {"default": ",".join(map(str, default or ())), "metavar": "N,N,…"}
        settings["callback"] = _parse_whole_numbers
    if values := field.get("items", {}).get("enum"):
        settings = {"multiple": True, "type": click.Choice(values)}
    return click.option(option, name, help=" ".join(field["description"].split()), **settings)


def _parse_whole_numbers(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        return tuple(map(int, value.split(",")))
    except ValueError:
        raise click.BadParameter("use whole numbers separated by commas") from None


class _RateOrWord(click.FloatRange):
    """A click type for a number in a range, or a word that means None."""

    def __init__(self, word: str, limits: click.FloatRange):
        super().__init__(limits.min, limits.max, limits.min_open, limits.max_open)
        self.word = word

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return None if value == self.word else super().convert(value, param, ctx)


def _choose_click_type(field: Mapping[str, Any]) -> Any:
    choices = [one for one in field.get("anyOf", [field]) if one.get("type") != "null"]
    if field.get("type") == "array":
        return str
    if len(choices) > 1:
        return parse_number
    (one,) = choices
    if "enum" in one:
        return click.Choice(one["enum"])
    if "prefixItems" in one:
        return (int, int)
    if one.get("format") == "path":
        return click.Path(exists=True, dir_okay=False)
    if one["type"] == "string":
        return str
    limits: Any = {"integer": click.IntRange, "number": click.FloatRange}[one["type"]](
        one.get("minimum", one.get("exclusiveMinimum")),
        one.get("maximum", one.get("exclusiveMaximum")),
        min_open="exclusiveMinimum" in one,
        max_open="exclusiveMaximum" in one,
    )
    return _RateOrWord(field["off"], limits) if "off" in field else limits
