"""`Half`: what checks need to know of a half, whether it is a draft, a row or a problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class AnyHalf(Protocol):
    """A sentence with its options and answer: `Half`, `winosmith.Problem`, the model `Problem`."""

    @property
    def sentence(self) -> str: ...  # noqa: D102

    @property
    def options(self) -> Sequence[str]: ...  # noqa: D102

    @property
    def answer(self) -> int | None: ...  # noqa: D102


class Half(NamedTuple):
    """A half as somebody is writing it; nothing about it need be complete.

    Attributes:
        sentence: perhaps without a blank yet.
        options: perhaps empty.
        answer: the 0-based index of the right option; None when it was not told yet.
    """

    sentence: str
    options: tuple[str, ...] = ()
    answer: int | None = None
