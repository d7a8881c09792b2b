"""How far judges agree about the public problems."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Agreement", "agreement"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of judges.

    Attributes:
        problems: public problems that were judged here.
        votes: how many judgements they have.
        right: the share of them that chose the contributor's answer, in percent.
        unanimous: the share of the problems about which all did, in percent.
    """

    problems: int
    votes: int
    right: float
    unanimous: float


def agreement() -> Agreement | None:
    """Return the agreement about public problems; None where nobody judged."""
    return None
