"""The embedders that vote on what AFLite drops, as the recipe's table `[consensus]` names them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from winosmith.build._recipe import EmbedRecipe
from winosmith.build._recipe_consensus import ARRAYS, ConsensusRecipe
from winosmith.outputs import OutputFolder, sha256

COMBINES = ("difference", "concat")


@dataclass(frozen=True, eq=False)
class Panel:
    """Several embedders' vectors of one pool, and what people agree on.

    Attributes:
        vote: how they vote.
        Xs: by name of the embedder, (n, d) vectors; that of `[embed]` first.
        agreement: (n,) the share of judges who chose the answer, NaN without any; None where
            there are no votes.
    """

    vote: ConsensusRecipe
    Xs: Mapping[str, NDArray[Any]]
    agreement: NDArray[Any] | None = None


def embedders(first: EmbedRecipe, vote: ConsensusRecipe) -> dict[str, EmbedRecipe]:
    """Return the embedders by name, that of `[embed]` first.

    The others are embedded as `[embed]` says: combined, pooled and fine-tuned like the first.

    >>> found = embedders(EmbedRecipe(), ConsensusRecipe(("light:concat", "other/v.npz")))
    >>> list(found), found["light:concat"].combine, found["v.npz"].array
    (['light', 'light:concat', 'v.npz'], 'concat', 'other/v.npz')
    """
    listed = [(_name(first.array or first.encoder), first)]
    listed += [(_name(text), _embedder(first, text)) for text in vote.embedders]
    found: dict[str, EmbedRecipe] = {}
    for name, chosen in listed:
        number = sum(other == name or other.startswith(f"{name} (") for other in found) + 1
        found[name if number == 1 else f"{name} ({number})"] = chosen
    return found


def _name(text: str) -> str:
    return Path(text).name


def _embedder(first: EmbedRecipe, text: str) -> EmbedRecipe:
    if text.endswith(ARRAYS):
        return replace(first, encoder="light", array=text, finetune_train=0, finetune_dev=0)
    encoder, _, combine = text.rpartition(":")
    if combine not in COMBINES:
        encoder, combine = text, first.combine
    tuned = {"finetune_train": 0, "finetune_dev": 0} if encoder == "light" else {}
    return replace(first, encoder=encoder, array=None, combine=combine, **tuned)  # type: ignore[arg-type]


def described(chosen: EmbedRecipe) -> str:
    """Return an embedder in a word, for a signature.

    >>> described(EmbedRecipe(dimensions=64))
    'light/64/difference'
    """
    if chosen.array is not None:
        return sha256(chosen.array)[:12]
    if chosen.encoder == "light":
        return f"light/{chosen.dimensions}/{chosen.combine}"
    return "/".join(filter(None, [Path(chosen.encoder).name, chosen.pooling, chosen.combine]))


def place_of(name: str, place: int) -> str:
    """Return the file of one embedder's work, beside that of the first.

    >>> place_of("private/embeddings.npy", 0), place_of("private/embeddings.npy", 1)
    ('private/embeddings.npy', 'private/embeddings.2.npy')
    """
    stem, dot, suffix = name.rpartition(".")
    return name if not place else f"{stem}.{place + 1}{dot}{suffix}"


@contextmanager
def lent(folder: OutputFolder, name: str, count: int) -> Iterator[Path]:
    """Lend the files that hold the unfinished runs of several embedders; yields the first's."""
    with ExitStack() as stack:
        paths = [stack.enter_context(folder.scratch(place_of(name, at))) for at in range(count)]
        yield paths[0]
