"""How problems become vectors, what is removed, and how the rest is measured.

A recipe has these tables, and `winosmith debias` these options.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from winosmith.options._declaration import OrFalse, declaration

File = Annotated[str, Field(json_schema_extra={"format": "path"})]
"""A file that exists."""

Method = Literal["aflite", "mirror", "pmi", "random", "none"]


@declaration
class EmbedRecipe:
    """`[embed]`: how problems become vectors (WinoGrande, section 3)."""

    encoder: str = "light"
    """The light embedder ("light"), or the hub id or folder of a Hugging Face encoder."""
    array: OrFalse[File] = None
    """A .npy or .npz file of vectors, in place of an encoder."""
    combine: Literal["difference", "concat"] = "difference"
    """How two filled-in sentences become one vector: their "difference", or both ("concat")."""
    reads: OrFalse[Literal["sentence", "options"]] = None
    """What the embedder reads: "sentence" fills the options in; "options" reads only the options,
    without the question. By default "sentence" if all problems have two options and a blank,
    otherwise "options": a model may know the answer from a question and an option together, which
    is not an artifact. The light embedder reads sentences only for two options."""
    pooling: OrFalse[Literal["mean", "cls"]] = None
    """Pooling of an encoder; by default "cls" after fine-tuning, otherwise "mean"."""
    dimensions: Annotated[int, Field(ge=2)] = 512
    """Dimensions of the light embedder."""
    finetune_train: Annotated[int, Field(ge=0)] = 0
    """Number of problems, in whole twins, that fine-tune the encoder and are then removed (the
    paper: 5,000); 0 uses the encoder as it is."""
    finetune_dev: Annotated[int, Field(ge=0)] = 0
    """Number of problems, in whole twins, that choose the best epoch of the fine-tuning and are
    then removed (the paper: 1,000)."""
    finetune_weight_decay: Annotated[float, Field(ge=0)] = 0.01
    """Weight decay of AdamW, on matrices (the released code: 0)."""
    finetune_dropout: OrFalse[Annotated[float, Field(ge=0, lt=1)]] = 0.0
    """Dropout rate everywhere in the encoder; false is the encoder's own (as in the released
    code)."""

    def __post_init__(self) -> None:
        tuned = bool(self.finetune_train)
        if tuned != bool(self.finetune_dev):
            raise ValueError("finetune_train and finetune_dev go together; set both or neither")
        if tuned and (self.encoder == "light" or self.array is not None):
            raise ValueError("finetune_train needs a Hugging Face encoder in encoder")
        if self.reads == "options" and (tuned or self.array is not None):
            raise ValueError(
                "an encoder is fine-tuned on sentences, and a file of vectors has been read "
                'already; reads = "options" goes with neither'
            )


@declaration
class FilterRecipe:
    """`[filter]`: what is removed (WinoGrande, section 3, Algorithm 1; or `debias.mirror`)."""

    method: Method = "aflite"
    """The filter."""
    aim: Literal["error", "chance"] = "error"
    """Objective of "mirror": "error" finds problems that give their answer away, with a stated
    fraction of sound ones among them; "chance" keeps as many that agree with a model as disagree,
    at every margin."""
    error: Annotated[float, Field(gt=0, le=0.2)] = 0.1
    """Fraction of sound problems among those that "mirror" removes, with the aim "error"."""
    folds: Annotated[int, Field(ge=2)] = 10
    """Number of parts of the problems for "mirror"; each is predicted by a model of the others."""
    repeats: Annotated[int, Field(ge=1)] = 1
    """Number of times that "mirror" draws the folds; the margins are averaged."""
    ensemble_size: Annotated[int, Field(ge=1)] = 64
    """n, the number of linear classifiers of a phase."""
    train_size: OrFalse[Annotated[int, Field(ge=1)]] = None
    """m, the number of problems that train each classifier; by default the paper's 10,000, or the
    same fraction of fewer than 47,000."""
    cutoff: OrFalse[Annotated[int, Field(ge=1)] | Annotated[float, Field(gt=0, lt=1)]] = None
    """k, the most that one phase removes: a number of problems, or a fraction of the remaining
    ones; by default the paper's 500, or the same fraction of fewer than 47,000."""
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.75
    """tau, the score from which on a problem may be removed."""
    C: Annotated[float, Field(gt=0)] = 1.0
    """Inverse strength of the penalty of AFLite's and mirror's classifiers."""
    target_size: OrFalse[Annotated[int, Field(ge=1)]] = None
    """Number of problems at which the filter stops; by default none."""
    remove: Literal["problems", "twins"] = "problems"
    """Units that are removed: "problems" one by one, or "twins" whole, with the copies of their
    halves, but not their families; each twin is then on one side of every partition."""
    null: Literal["off", "report"] = "off"
    """Whether to "report", for every phase, how many problems reach the threshold by chance (with
    the answers of whole blocks flipped)."""
    whole_twins: bool = False
    """Both halves, and the rest of their block (copies, families, look-alikes), are on one side of
    each partition; with remove = "twins", only the halves and copies."""
    keep: OrFalse[Annotated[int, Field(ge=1)]] = None
    """Number of problems that "random" and "pmi" keep; by default as many as AFLite would."""
    pmi: Literal["signed", "absolute", "max", "pairwise"] = "signed"
    """Variant of "pmi", which scores twins; singles are drawn at the same rate."""
    pmi_label: Literal["first-mentioned", "option-1"] = "first-mentioned"
    """Correct option that counts as y = 1 of "pmi": "first-mentioned" in the sentence, or
    "option-1", as in the paper, whose result depends on the order of options."""
    null_draws: Annotated[int, Field(ge=20)] = 20
    """Number of draws of twin-flipped labels for every null; an interval needs 20. With the null
    "report" a phase takes this many times longer."""
    again: bool = True
    """Filter also with another seed, and with vectors perturbed by a ten-thousandth, and report how
    much of what was removed is removed again; the filter takes three times as long."""


@declaration
class MeasureRecipe:
    """`[measure]`: how the build measures what a model can still predict after the filter."""

    splits: Annotated[int, Field(ge=0)] = 5
    """Number of times that the problems are split at random into two halves, which are filtered
    separately (see `winosmith.debias.verify`): the filter runs twice for each. 0 measures nothing,
    and the report then says so and claims no success."""
