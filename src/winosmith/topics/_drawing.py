"""Draws among numbered topics, past those that can't be used."""

from __future__ import annotations

from collections.abc import Callable

from winosmith.errors import InputError
from winosmith.topics._topic import Topic, rng_of

__all__ = ["drawn"]

MOST_TRIES = 50
"""Topics that can't be used in a row before the source is given up."""


def drawn(count: int, read: Callable[[int], Topic], seed: int, where: str) -> Topic:
    """Return one of `count` topics, each that can be used as likely as another.

    Args:
        count: how many there are.
        read: gives the topic of a number below `count`; raises InputError when it can't be used.
        seed: 0 or more.
        where: the source, for the message.

    Raises:
        InputError: none of those that were tried can be used; the first reason is given.
    """
    if not count:
        raise InputError(f"{where} holds no topics")
    reason = ""
    for number in rng_of(seed).permutation(count)[:MOST_TRIES]:
        try:
            return read(int(number)).with_anchors(seed)
        except InputError as error:
            reason = reason or str(error)
    raise InputError(f"{where} holds no topic that can be used: {reason}")
