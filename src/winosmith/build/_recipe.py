"""The recipe of a build: every parameter that determines its result, read from TOML.

Each table of the file is one dataclass; a key that is left out has its default, and `false`
switches off what can be switched off. An unknown key is an error that names the nearest known one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from winosmith.build._copies import Copies
from winosmith.build._pool import Files, names_of
from winosmith.build._recipe_consensus import ARRAYS, ConsensusRecipe
from winosmith.build._split import Disjoint
from winosmith.build._tables import constructed
from winosmith.errors import RecipeError
from winosmith.records import read_toml
from winosmith.validate import StructureRules, VoteRules

Method = Literal["aflite", "mirror", "pmi", "random", "none"]


@dataclass(frozen=True)
class EmbedRecipe:
    """`[embed]`: how problems become vectors (WinoGrande, section 3).

    Attributes:
        encoder: "light", or the hub id or folder of a Hugging Face encoder.
        array: a .npy or .npz file of vectors, in place of an encoder.
        combine: "difference" of the two filled-in sentences, or "concat".
        pooling: "mean" or "cls", for encoders; None is "cls" after fine-tuning, else "mean".
        dimensions: of the light embedder.
        finetune_train, finetune_dev: problems, in whole twins, that fine-tune the encoder and
            are then left out (the paper: 5,000 and 1,000); 0 uses the encoder as it is.
    """

    encoder: str = "light"
    array: str | None = None
    combine: Literal["difference", "concat"] = "difference"
    pooling: Literal["mean", "cls"] | None = None
    dimensions: int = 512
    finetune_train: int = 0
    finetune_dev: int = 0

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
        classifier: "logistic" regression, "ridge" (least squares) or "svm" (squared hinge).
        kernel: "numba", or "torch", on its GPU if there is one ("torch:cpu", "torch:cuda:1").
        target_size: stop when so many problems are left; None sets no such end.
        remove: "problems" one by one, or "twins" whole, with the copies of their halves, but not
            their families; each of these is then on one side of every partition.
        null: "off"; "report": say in every phase how many problems reach the threshold by
            chance; "stop": also end before the first phase that finds no more than that.
        whole_twins: both halves, and the rest of their block (copies, families, look-alikes),
            fall on one side of each partition; with remove = "twins", the halves and copies alone.
        keep: how many problems "random" and "pmi" keep; None keeps as many as AFLite would.
        pmi: the variant of "pmi", which scores twins; singles are drawn at the same rate.
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
    classifier: Literal["logistic", "ridge", "svm"] = "logistic"
    kernel: str = "numba"
    target_size: int | None = None
    remove: Literal["problems", "twins"] = "problems"
    null: Literal["off", "report", "stop"] = "off"
    whole_twins: bool = False
    keep: int | None = None
    pmi: Literal["signed", "absolute", "max", "pairwise"] = "signed"
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
            self.kernel.partition(":")[0] not in ("numba", "torch"),
            f'kernel is {self.kernel!r}; it must be "numba", or "torch" with or without a device',
        )
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
        votes_file: the judges' votes, in a file or a list of files; None checks no votes.
        planted: a JSON file that maps the ids of problems known to hold an artifact to its
            kinds, as `winosmith practice` writes it; the report then says how many were found.
        seed: of every draw.
        copies: "once" keeps one of each problem that is there more than once, in whole twins, and
            none whose copies have different answers; "keep" keeps them all, to build a published
            set again.
        structure: the rules for twins, `winosmith.validate.StructureRules`.
        votes: the rules for votes, `winosmith.validate.VoteRules`.
        embed, filter, consensus, measure, split, files: the tables above.
    """

    name: str
    data: Files
    format: str | None = None
    votes_file: Files | None = None
    planted: str | None = None
    seed: int = 0
    copies: Copies = "once"
    structure: StructureRules = field(default_factory=StructureRules)
    votes: VoteRules = field(default_factory=VoteRules)
    embed: EmbedRecipe = field(default_factory=EmbedRecipe)
    filter: FilterRecipe = field(default_factory=FilterRecipe)
    consensus: ConsensusRecipe = field(default_factory=ConsensusRecipe)
    measure: MeasureRecipe = field(default_factory=MeasureRecipe)
    split: SplitRecipe = field(default_factory=SplitRecipe)
    files: FilesRecipe = field(default_factory=FilesRecipe)

    def __post_init__(self) -> None:
        named = self.name.replace("-", "").replace("_", "").isalnum()
        _refuse(not named, f"name is {self.name!r}; it must be letters, digits, - and _")
        for key in ("data", "votes_file"):
            _refuse_files(key, getattr(self, key))
        _refuse(self.seed < 0, f"seed is {self.seed}; it must be 0 or more")
        _refuse(
            bool(self.consensus) and self.filter.method != "aflite",
            f'[consensus] is a vote on what AFLite drops; filter.method is "{self.filter.method}"',
        )
        _refuse(
            self.consensus.floor > 0 and self.votes_file is None,
            "consensus.floor keeps what people agree on; name their votes in votes_file",
        )


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
        if isinstance(vote := table.get("consensus"), Mapping) and "embedders" in vote:
            table["consensus"] = {**vote, "embedders": _found_arrays(vote["embedders"], folder)}
    return constructed(Recipe, table)


def _found_arrays(embedders: Any, folder: Path) -> Any:
    """Return the embedders with the files of vectors as they are found from a folder."""
    if not isinstance(embedders, list):
        return embedders
    return [
        _found("consensus.embedders", text, folder)
        if isinstance(text, str) and text.endswith(ARRAYS)
        else text
        for text in embedders
    ]


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
    if not path.is_file():
        raise RecipeError(f"{key} is {named!r}, but there is no file {path}")
    return str(path)
