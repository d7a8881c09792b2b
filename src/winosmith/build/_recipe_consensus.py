"""The recipe's table `[consensus]`: several embedders vote on what AFLite drops."""

from __future__ import annotations

from dataclasses import dataclass

from winosmith.errors import RecipeError

ARRAYS = (".npy", ".npz")
"""What the names of files of vectors end in."""


@dataclass(frozen=True)
class ConsensusRecipe:
    """`[consensus]`: several embedders vote on what AFLite drops, above a floor.

    Attributes:
        embedders: who joins the one of `[embed]`: "light", the hub id or folder of an encoder
            (with ":concat" or ":difference" after it, where that differs from `[embed]`), or a
            .npy or .npz file. `[embed]` says the rest, fine-tuning too.
        least: how many embedders must find a problem predictable; None takes more than half.
        floor: of the problems that people agree on, the share that is kept at the least, 0–1: 1
            keeps all of them. Needs `votes_file`.
        agreed: the share of judges who must choose the answer for people to agree on it; 1 is all.
    """

    embedders: tuple[str, ...] = ()
    least: int | None = None
    floor: float = 0.0
    agreed: float = 1.0

    def __post_init__(self) -> None:
        most = len(self.embedders) + 1
        if self.least is not None and not 1 <= self.least <= most:
            raise RecipeError(
                f"least is {self.least}; it is 1 to {most}, the number of embedders with that of "
                "[embed]"
            )
        if not 0 <= self.floor <= 1:
            raise RecipeError(f"floor is {self.floor}; it is a share from 0 to 1")
        if not 0 < self.agreed <= 1:
            raise RecipeError(f"agreed is {self.agreed}; it is a share above 0, at most 1")

    def __bool__(self) -> bool:
        """Whether there is anything to vote on, or a floor."""
        return bool(self.embedders) or self.floor > 0

    @property
    def arrays(self) -> list[str]:
        """The files of vectors among the embedders."""
        return [text for text in self.embedders if text.endswith(ARRAYS)]
