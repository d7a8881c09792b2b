"""`winosmith admin`: look after a site from a terminal, while it is served or not."""

from __future__ import annotations

import click

from winosmith.cli._lazy import LazyGroup

__all__ = ["command"]

COMMANDS = {
    "backup": "the whole site into one archive, while people work",
    "restore": "a site out of an archive, into a new folder",
    "export": "the whole set as files: problems, judgements, states, the log",
    "import": "problems of a file into the site, or beside it to compare with",
    "gold": "questions with a known answer, which check attention",
    "round": "what is public filtered, solved, and compared with the last round",
    "test": "problems tried on the people of the site, and the results",
    "study": "paid work for people of crowd markets, and what they were paid",
    "invite": "a one-time link for a contributor, judge, moderator or admin",
    "people": "how many people there are, by role",
    "models": "how the site's models stand, and another try for what failed",
    "tidy": "delete what is older than the site keeps",
}
"""The commands, each with its one line."""


@click.command(cls=LazyGroup, lines=COMMANDS, modules="winosmith.cli._admin_")
def command() -> None:
    """Look after a site: keep it safe, fill it, let people in.

    \b
    Start with:  winosmith admin backup DIR site.tar.gz
    """  # noqa: D301
