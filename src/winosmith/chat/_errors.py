"""What can go wrong with a chat model: for the caller, and between us and the server."""

from __future__ import annotations

from winosmith.errors import InputError

__all__ = ["OFTEN", "Again", "BudgetError", "ChatError"]

OFTEN = 1_000_000
"""Attempts without a limit of their own; the client's patience ends them."""


class ChatError(InputError):
    """A chat model can't be asked as it is; the message says what the server said, and what to do.

    What was received before is kept where the client has a cache.
    """


class BudgetError(ChatError):
    """The next request might exceed the budget, so it was not sent."""


class Again(Exception):  # noqa: N818 - a wish to try again, which the caller never sees
    """A failure that may pass.

    Attributes:
        reason: for the user, should it not pass.
        after: seconds that the server asks us to wait; None when it doesn't.
        tries: attempts in all, from which on it is not worth another.
        charged: whether the server may have done, and charged, the work.
    """

    def __init__(
        self, reason: str, *, after: float | None = None, tries: int = OFTEN, charged: bool = False
    ):
        super().__init__(reason)
        self.reason = reason
        self.after = after
        self.tries = tries
        self.charged = charged
