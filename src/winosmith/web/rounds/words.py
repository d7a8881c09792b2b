"""What the pages of rounds call things: steps, stages, figures, reasons."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from winosmith.web.rounds.telling import POOL, STORING

__all__ = ["figure", "stage", "step"]

_STEPS = {
    POOL: gettext_lazy("the public problems are handed over"),
    "reading": gettext_lazy("the pool is read"),
    "checking": gettext_lazy("structure and votes are checked"),
    "embedding": gettext_lazy("problems become vectors"),
    "filtering": gettext_lazy("the filter looks for what linear models can guess"),
    "measuring": gettext_lazy("figures are found"),
    "writing": gettext_lazy("files are written"),
    STORING: gettext_lazy("the results are stored"),
}

_STAGES = {
    "": gettext_lazy("kept"),
    "embargo": gettext_lazy("embargo"),
    "structure": gettext_lazy("structure"),
    "votes": gettext_lazy("votes"),
    "copies": gettext_lazy("there more than once"),
    "embed split": gettext_lazy("taught the encoder"),
    "aflite": gettext_lazy("filter (AFLite)"),
    "pmi": gettext_lazy("filter (word association)"),
    "random": gettext_lazy("filter (drawn by lot)"),
    "none": gettext_lazy("filter (none)"),
}

_FIGURES = {
    "collected": gettext_lazy("public problems handed over"),
    "valid share of what was collected": gettext_lazy("share that is well formed"),
    "kept": gettext_lazy("kept"),
    "train_xl": gettext_lazy("for training, whole"),
    "dev": gettext_lazy("for development"),
    "test": gettext_lazy("for testing"),
    "a linear model on what was collected": gettext_lazy("a linear model guesses before"),
    "a linear model on what was kept": gettext_lazy("a linear model guesses after"),
    "KL along the first component, kept": gettext_lazy(
        "how far the answers lie apart (KL, first component)"
    ),
    "judges agree with a kept answer": gettext_lazy("judges agree with a kept answer"),
    "kept with all judges agreeing": gettext_lazy("kept with all judges agreeing"),
    "people who had not judged are right": gettext_lazy("people who had not judged are right"),
    "accuracy on this round's dev and test": gettext_lazy("accuracy"),
    "whole twins right": gettext_lazy("whole twins right"),
    "mean depth of its errors": gettext_lazy("mean depth of its errors"),
    "families without an error": gettext_lazy("families without an error"),
}


def step(title: str) -> str:
    """Return the words for a step of a round."""
    if title.startswith("solving with "):
        return _("%s answers") % title.removeprefix("solving with ")
    return str(_STEPS.get(title, title))


def stage(name: str) -> str:
    """Return the words for a stage of the funnel."""
    return str(_STAGES.get(name, name))


def figure(what: str) -> str:
    """Return the words for a figure; that of a solver begins with its name."""
    solver, colon, rest = what.rpartition(": ")
    if colon and rest in _FIGURES:
        return f"{solver}: {_FIGURES[rest]}"
    return str(_FIGURES.get(what, what))
