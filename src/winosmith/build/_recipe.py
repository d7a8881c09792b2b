"""The recipe of a build: every parameter that determines its result, read from TOML.

Each table of the file is one dataclass; a key that is left out has its default, and `false`
switches off what can be switched off. An unknown key is an error that names the nearest known one.
"""

from __future__ import annotations

import difflib
import json
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from winosmith.dataset import Dataset
from winosmith.errors import RecipeError
from winosmith.escape import for_json, one_line
from winosmith.formats import Columns
from winosmith.records import is_file, read_toml
from winosmith.validate import StructureRules, VoteRules

Method = Literal["aflite", "mirror", "pmi", "random", "none"]


Copies = Literal["once", "keep"]
"""What a recipe says of copies."""


Disjoint = Literal["twin", "contributor", "source"]
"""What stays on one side of a split beside twins, families and copies: all that one contributor
wrote, all of one source, or nothing more."""


Files = str | tuple[str, ...]
"""What a recipe names: a file, or several."""


def paths_of(named: Files | None) -> tuple[str, ...]:
    """Return the files that a recipe names, none for None.

    >>> paths_of("twins.jsonl"), paths_of(None)
    (('twins.jsonl',), ())
    """
    if named is None:
        return ()
    return (named,) if isinstance(named, str) else tuple(named)


def names_of(named: Files | None) -> str | list[str] | None:
    """Return the files by their names alone, as a recipe is published.

    >>> names_of("pools/twins.jsonl"), names_of(("a/one.jsonl", "two.jsonl")), names_of(None)
    ('twins.jsonl', ['one.jsonl', 'two.jsonl'], None)
    """
    if named is None or isinstance(named, str):
        return named and Path(named).name
    return [Path(path).name for path in named]


@dataclass(frozen=True)
class EmbedRecipe:
    """`[embed]`: how problems become vectors (WinoGrande, section 3).

    Attributes:
        encoder: "light", or the hub id or folder of a Hugging Face encoder.
        array: a .npy or .npz file of vectors, in place of an encoder.
        combine: "difference" of the two filled-in sentences, or "concat".
        reads: "sentence" fills the options in; "options" reads them alone, without what is asked.
            None is "sentence" where all problems have two options and a blank, else "options":
            what a model guesses by a question and an option together may be known, and need not be
            given away.
            The light embedder reads sentences of two options alone.
        pooling: "mean" or "cls", for encoders; None is "cls" after fine-tuning, else "mean".
        dimensions: of the light embedder.
        finetune_train, finetune_dev: problems, in whole twins, that fine-tune the encoder and
            are then left out (the paper: 5,000 and 1,000); 0 uses the encoder as it is.
        finetune_weight_decay: of AdamW, on matrices; 0 or more (the released code: 0).
        finetune_dropout: the rate everywhere in the encoder, below 1; None is the encoder's own
            (as in the released code).
    """

    encoder: str = "light"
    array: str | None = None
    combine: Literal["difference", "concat"] = "difference"
    reads: Literal["sentence", "options"] | None = None
    pooling: Literal["mean", "cls"] | None = None
    dimensions: int = 512
    finetune_train: int = 0
    finetune_dev: int = 0
    finetune_weight_decay: float = 0.01
    finetune_dropout: float | None = 0.0

    def __post_init__(self) -> None:
        _refuse(self.dimensions < 2, f"dimensions is {self.dimensions}; it must be 2 or more")
        sizes = self.finetune_train, self.finetune_dev
        _refuse(min(sizes) < 0, "finetune_train and finetune_dev are numbers of problems")
        _refuse(
            bool(sizes[0]) != bool(sizes[1]),
            "finetune_train and finetune_dev go together; set both or neither",
        )
        _refuse(
            any(sizes) and (self.encoder == "light" or self.array is not None),
            "finetune_train needs a Hugging Face encoder in encoder",
        )
        _refuse(
            self.finetune_weight_decay < 0,
            f"finetune_weight_decay is {self.finetune_weight_decay}; it must be 0 or more",
        )
        _refuse(
            self.finetune_dropout is not None and not 0 <= self.finetune_dropout < 1,
            f"finetune_dropout is {self.finetune_dropout}; it must be 0 or more and below 1",
        )
        _refuse(
            self.reads == "options" and (any(sizes) or self.array is not None),
            "an encoder is fine-tuned on sentences, and a file of vectors has been read already; "
            'reads = "options" goes with neither',
        )


def many_options(dataset: Dataset) -> bool:
    """Tell whether a problem has more than two options: then each option has a vector."""
    return any(len(problem.options) > 2 for problem in dataset)


def reading(chosen: EmbedRecipe, dataset: Dataset) -> str:
    """Return what an embedder reads, "sentence" or "options"; see `EmbedRecipe.reads`."""
    if chosen.reads is not None or chosen.array is not None:
        return chosen.reads or "sentence"
    asks = any(problem.blank is None for problem in dataset)
    return "options" if asks or many_options(dataset) else "sentence"


@dataclass(frozen=True)
class FilterRecipe:
    """`[filter]`: what is taken out (WinoGrande, section 3, Algorithm 1; or `debias.mirror`).

    Attributes:
        method: "aflite", "mirror", "pmi", "random" or "none".
        aim: of "mirror": "error" finds what gives its answer away, at a stated share of others
            among it; "chance" leaves as many that agree with a model as disagree, at every margin.
        error: of "mirror" with the aim "error": that share, above 0 and at most 0.2.
        folds: of "mirror": parts of the problems; each is guessed by a model of the others.
        repeats: of "mirror": how often they are dealt to folds; the margins are averaged.
        ensemble_size: n, the linear classifiers of a phase.
        train_size: m; None takes the paper's share of the data (10,000 of 47,000 at most).
        cutoff: k, the most that one phase removes: a number of problems, or a share of those
            left, above 0 and below 1; None takes the paper's share of all, as a number.
        threshold: tau, the score from which on a problem may be removed, 0–1.
        C: the inverse strength of the classifiers' penalty, of "mirror" too.
        target_size: stop when so many problems are left; None sets no such end.
        remove: "problems" one by one, or "twins" whole, with the copies of their halves, but not
            their families; each of these is then on one side of every partition.
        null: "off"; "report": say in every phase how many problems reach the threshold by chance.
        whole_twins: both halves, and the rest of their block (copies, families, look-alikes),
            fall on one side of each partition; with remove = "twins", the halves and copies alone.
        keep: how many problems "random" and "pmi" keep; None keeps as many as AFLite would.
        pmi: the variant of "pmi", which scores twins; singles are drawn at the same rate.
        pmi_label: the correct option that counts as y = 1 of "pmi": "first-mentioned" in the
            sentence, or "option-1", as in the paper, whose result depends on the order of options.
        null_draws: draws of twin-flipped labels for every null.
        again: also filter with another seed, and with vectors shaken by a ten-thousandth, and say
            how much of what was removed goes again; the filter takes three times as long.
    """

    method: Method = "aflite"
    aim: Literal["error", "chance"] = "error"
    error: float = 0.1
    folds: int = 10
    repeats: int = 1
    ensemble_size: int = 64
    train_size: int | None = None
    cutoff: int | float | None = None
    threshold: float = 0.75
    C: float = 1.0
    target_size: int | None = None
    remove: Literal["problems", "twins"] = "problems"
    null: Literal["off", "report"] = "off"
    whole_twins: bool = False
    keep: int | None = None
    pmi: Literal["signed", "absolute", "max", "pairwise"] = "signed"
    pmi_label: Literal["first-mentioned", "option-1"] = "first-mentioned"
    null_draws: int = 20
    again: bool = True

    def __post_init__(self) -> None:
        for name in ("ensemble_size", "train_size", "target_size", "keep"):
            value = getattr(self, name)
            _refuse(value is not None and value < 1, f"{name} is {value}; it must be 1 or more")
        _refuse(
            self.cutoff is not None and not _is_cutoff(self.cutoff),
            f"cutoff is {self.cutoff}; it must be a whole number, 1 or more, or a share of the "
            "problems left, above 0 and below 1",
        )
        _refuse(
            not 0 < self.threshold <= 1,
            f"threshold is {self.threshold}; it must be above 0 and at most 1",
        )
        _refuse(not self.C > 0, f"C is {self.C}; it must be above 0")
        _refuse(
            not 0 < self.error <= 0.2, f"error is {self.error}; it must be above 0, at most 0.2"
        )
        _refuse(self.folds < 2, f"folds is {self.folds}; it must be 2 or more")
        _refuse(self.repeats < 1, f"repeats is {self.repeats}; it must be 1 or more")
        _refuse(
            self.null_draws < 20, f"null_draws is {self.null_draws}; an interval needs 20 or more"
        )


@dataclass(frozen=True)
class MeasureRecipe:
    """`[measure]`: how it is found out what a machine can still guess after the filter.

    Attributes:
        splits: how often the problems are dealt to two halves that are filtered apart (see
            `winosmith.debias.verify`): the filter runs twice for each. 0 measures nothing, and
            the report then says so and tells no success.
    """

    splits: int = 5

    def __post_init__(self) -> None:
        _refuse(self.splits < 0, f"splits is {self.splits}; it must be 0 or more")


@dataclass(frozen=True)
class SplitRecipe:
    """`[split]`: the shares of the kept problems that become dev and test.

    The defaults are the paper's: 1,267 and 1,767 of 12,282.

    Attributes:
        dev: share of the kept problems, 0 or more; whole blocks, so that it is met as nearly as
            they allow.
        test: share of the kept problems; with `dev` less than 1. The rest is for training.
        disjoint: what train, dev and test never share: "twin" (a twin, a family, copies), or in
            addition whatever one "contributor" wrote, or all of one "source".
    """

    dev: float = 0.103
    test: float = 0.144
    disjoint: Disjoint = "twin"

    def __post_init__(self) -> None:
        _refuse(
            self.dev < 0 or self.test < 0 or self.dev + self.test >= 1,
            f"dev is {self.dev} and test {self.test}; they are shares, 0 or more, and must leave "
            "something to train on",
        )


@dataclass(frozen=True)
class FilesRecipe:
    """`[files]`: the format of the published files.

    Attributes:
        format: "winosmith" with everything known of a problem, or "winogrande", which its tools
            read.
    """

    format: Literal["winosmith", "winogrande"] = "winosmith"


@dataclass(frozen=True)
class Recipe:
    """Everything that determines a build.

    Attributes:
        name: of the benchmark; the prefix of the new ids.
        data: the file of raw twins, or a list of files; relative to the recipe's own folder. What
            is in two of them, the same in both, counts once.
        format: its format, when its content does not tell.
        pair_by: a further column of each file that the halves of a twin share. If a column looks
            like one and is not named here, the build asks; an empty text reads no such column.
        votes_file: the judges' votes, in a file or a list of files; None checks no votes.
        planted: a JSON file that maps the ids of problems known to hold an artifact to its
            kinds, as `winosmith practice` writes it; the report then says how many were found.
        seed: of every draw.
        copies: "once" keeps one of each problem that is there more than once, in whole twins, and
            none whose copies have different answers; "keep" keeps them all, to build a published
            set again.
        columns: the columns of questions, if the files don't name them as others do,
            `winosmith.formats.Columns`.
        structure: the rules for twins, `winosmith.validate.StructureRules`.
        votes: the rules for votes, `winosmith.validate.VoteRules`.
        embed, filter, measure, split, files: the tables above.
    """

    name: str
    data: Files
    format: str | None = None
    pair_by: str | None = None
    votes_file: Files | None = None
    planted: str | None = None
    seed: int = 0
    copies: Copies = "once"
    columns: Columns = field(default_factory=Columns)
    structure: StructureRules = field(default_factory=StructureRules)
    votes: VoteRules = field(default_factory=VoteRules)
    embed: EmbedRecipe = field(default_factory=EmbedRecipe)
    filter: FilterRecipe = field(default_factory=FilterRecipe)
    measure: MeasureRecipe = field(default_factory=MeasureRecipe)
    split: SplitRecipe = field(default_factory=SplitRecipe)
    files: FilesRecipe = field(default_factory=FilesRecipe)

    def __post_init__(self) -> None:
        named = self.name.replace("-", "").replace("_", "").isalnum()
        _refuse(not named, f"name is {self.name!r}; it must be letters, digits, - and _")
        for key in ("data", "votes_file"):
            _refuse_files(key, getattr(self, key))
        _refuse(self.seed < 0, f"seed is {self.seed}; it must be 0 or more")


def _refuse_files(key: str, named: Files | None) -> None:
    if named is None or isinstance(named, str):
        return
    _refuse(not named, f"{key} names no file")
    names = list(names_of(named) or ())
    twice = next((name for name in names if names.count(name) > 1), None)
    _refuse(
        twice is not None,
        f"{key} has two files named {twice!r}; a recipe is published with names alone, so give "
        "one of them another",
    )


def _is_cutoff(value: int | float) -> bool:
    return value >= 1 if isinstance(value, int) else 0 < value < 1


def _refuse(wrong: bool, reason: str) -> None:
    if wrong:
        raise RecipeError(reason)


def read_recipe(path: str | Path) -> Recipe:
    """Read a recipe; the files that it names are made relative to where the recipe lies.

    Raises:
        RecipeError: not TOML, an unknown key (the nearest known one is named), a value of the
            wrong type or out of range, or a file that does not exist.
    """
    path = Path(path)
    table = read_toml(path)
    try:
        return recipe_of(table, folder=path.parent)
    except RecipeError as error:
        raise RecipeError(f"{path}: {error}") from None


def recipe_of(table: Mapping[str, Any], *, folder: Path | None = None) -> Recipe:
    """Return the recipe of a table; with `folder`, its file names are found from there.

    >>> recipe_of({"name": "mine", "data": "pool.jsonl", "filter": {"threshold": 0.8}}).filter.C
    1.0
    """
    if folder is not None:
        table = {**table, **_found_files(table, folder)}
        if "array" in (embed := dict(table.get("embed", {}))):
            table["embed"] = {**embed, **_found_files(embed, folder, keys=("array",))}
    return constructed(Recipe, table)


def _found_files(
    table: Mapping[str, Any],
    folder: Path,
    keys: tuple[str, ...] = ("data", "votes_file", "planted"),
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in keys:
        named = table.get(key)
        if isinstance(named, str):
            found[key] = _found(key, named, folder)
        elif isinstance(named, list) and all(isinstance(one, str) for one in named):
            found[key] = [_found(key, one, folder) for one in named]
    return found


def _found(key: str, named: str, folder: Path) -> str:
    path = folder / named
    if not is_file(path):
        raise RecipeError(f"{key} is {named!r}, but there is no file {path}")
    return str(path)


def recipe_table(recipe: Recipe) -> dict[str, Any]:
    """Return the recipe as a table, every default written out, files by their names alone."""
    table = asdict(recipe)
    for key in ("data", "votes_file", "planted"):
        table[key] = names_of(table[key])
    table["embed"]["array"] = table["embed"]["array"] and Path(table["embed"]["array"]).name
    return table


def recipe_toml(recipe: Recipe) -> str:
    """Return the TOML of a recipe, every default written out, files by their names alone.

    `read_recipe` reads it, once the files that it names lie beside it.

    >>> text = recipe_toml(Recipe("mine", "pools/twins.jsonl", seed=3))
    >>> [line for line in text.splitlines() if line.startswith(("data", "seed", "votes_file"))]
    ['data = "twins.jsonl"', 'votes_file = false', 'seed = 3']
    """
    table = recipe_table(recipe)
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    lines = _assigned({key: value for key, value in table.items() if key not in tables})
    for key, inner in tables.items():
        lines += ["", f"[{key}]", *_assigned(inner)]
    return "\n".join(lines) + "\n"


def again_toml(recipe: Recipe, shown: Mapping[str, Any]) -> str:
    """Return the recipe as a file, with what it takes to build the same again."""
    keys = ("data", "votes_file", "planted")
    names = [Path(path).name for key in keys for path in paths_of(getattr(recipe, key))]
    names += [shown["embed"]["array"]] if shown["embed"]["array"] else []
    last, again = "", "winosmith build recipe.toml --out again"
    if "last" in shown:
        again = "winosmith build recipe.toml --out again --last LAST"
        last = (
            "# LAST is the folder of the build before, whose checksums.sha256 has the SHA-256\n"
            f"# {shown['last']}.\n"
        )
    return (
        f"# winosmith {shown['version']} built this benchmark from the recipe below.\n"
        f"# To build it again, put beside this file: {one_line(', '.join(names))}\n"
        f"# (the SHA-256 of the problems, without answers, is {shown['problems']}), then run\n"
        f"#     {again}\n{last}\n{recipe_toml(recipe)}"
    )


def _assigned(table: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {_toml(value)}" for key, value in table.items()]


def _toml(value: Any) -> str:
    """Return a value as TOML; what is switched off is `false`."""
    if value is None or isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):  # TOML's escapes are JSON's
        return for_json(json.dumps(value, ensure_ascii=False))
    return repr(value)


Kind = TypeVar("Kind")


_LARGEST = 2**1000
"""Whole numbers from here on, or soon after, are no floats."""


def constructed(
    kind: type[Kind], table: Mapping[str, Any], where: str = "", whole: Any = None
) -> Kind:
    """Construct a dataclass from a table, and the dataclasses of its fields from the tables in it.

    Args:
        kind: the dataclass.
        table: as TOML gives it.
        where: the table's place in the whole, for messages ("filter.").
        whole: the outermost dataclass, whose tables a misplaced key may belong to.

    Raises:
        RecipeError: an unknown or missing key, or a value that does not fit.
    """
    whole = whole or kind
    hints = typing.get_type_hints(kind)
    known = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise RecipeError(_unknown(key, known, where, whole))
    needed = [f.name for f in fields(kind) if _is_needed(f) and f.name not in table]  # type: ignore[arg-type]
    if needed:
        raise RecipeError(f"the key {where}{needed[0]!r} is missing")
    values = {key: _value(hints[key], value, where + key, whole) for key, value in table.items()}
    try:
        return kind(**values)
    except RecipeError as error:
        raise RecipeError(f"[{where.rstrip('.')}] {error}" if where else str(error)) from None


def _is_needed(known: Any) -> bool:
    return known.default is MISSING and known.default_factory is MISSING


def _unknown(key: str, known: list[str], where: str, whole: Any) -> str:
    elsewhere = {
        inner.name: table
        for table, kind in typing.get_type_hints(whole).items()
        if is_dataclass(kind)
        for inner in fields(kind)
    }
    near = difflib.get_close_matches(key, known, n=1)
    far = difflib.get_close_matches(key, elsewhere, n=1)
    if near:
        hint = f"did you mean {near[0]!r}?"
    elif far:
        hint = f"did you mean {far[0]!r} in the table [{elsewhere[far[0]]}]?"
    else:
        hint = f"the keys are {', '.join(known)}"
    return f"unknown key {where + key!r}; {hint}"


def _value(hint: Any, value: Any, where: str, whole: Any) -> Any:
    """Return a value of TOML as the field's type, or say that it does not fit."""
    if is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise RecipeError(f"{where} must be a table: [{where}]")
        return constructed(typing.cast("type[Any]", hint), value, f"{where}.", whole)
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    kinds = typing.get_args(hint) if is_union else (hint,)
    if types.NoneType in kinds and value is False:
        return None
    for kind in kinds:
        fitting = _fitting(kind, value)
        if fitting is not None:
            return fitting
    wanted = " or ".join(_in_words(kind) for kind in kinds if kind is not types.NoneType)
    raise RecipeError(f"{where} is {value!r}; it must be {wanted}")


def _fitting(kind: Any, value: Any) -> Any:
    """Return the value as this one type, or None when it does not fit."""
    if typing.get_origin(kind) is Literal:
        return value if value in typing.get_args(kind) else None
    if typing.get_origin(kind) is tuple:
        inner = typing.get_args(kind)
        if isinstance(value, list) and inner[-1] is Ellipsis:
            inner = inner[:1] * len(value)
        if isinstance(value, list) and len(value) == len(inner):
            items = tuple(_fitting(kind, item) for kind, item in zip(inner, value, strict=True))
            return None if None in items else items
        return None
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) < _LARGEST else None
    if isinstance(value, bool) and kind is not bool:
        return None
    return value if isinstance(value, kind) else None


def _in_words(kind: Any) -> str:
    if typing.get_origin(kind) is Literal:
        return "one of " + ", ".join(typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        return "a list of texts" if str in typing.get_args(kind) else "a list such as [15, 30]"
    words = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    return words[kind]
