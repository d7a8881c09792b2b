"""How the link of a study is printed, as its market needs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from winosmith.cli._common import say

if TYPE_CHECKING:
    from winosmith.web.market.models import Study

__all__ = ["address_option", "print_link"]


def address_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--address`, with which printed links begin."""
    return click.option(
        "--address",
        metavar="URL",
        default="http://127.0.0.1:8000",
        show_default=True,
        help="Under which people come: the link begins with it.",
    )(function)


def print_link(study: Study, token: str, address: str) -> None:
    """Print what is given to the market: a link, or the XML of an ExternalQuestion.

    Raises:
        InputError: the market takes https addresses alone, and this is none.
    """
    from winosmith.web.market.mturk import external_question
    from winosmith.web.market.providers import PROVIDERS

    if study.provider == "mturk":
        click.echo(external_question(address, f"/study/{token}/frame/"))
        say("That is the Question of the HIT. Keep it secret: whoever has it can pretend to work.")
        return
    query = PROVIDERS[study.provider].query
    click.echo(f"{address.rstrip('/')}/study/{token}/?{query}")
    say("Keep the link secret: whoever has it can pretend to be a worker. It is shown this once.")
