"""What the commands of `winosmith admin` share: the site that they act on."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from winosmith.web import Site

__all__ = ["database_option", "existing_site", "site_argument"]


def site_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument DIR, a site's folder."""
    return click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False))(
        function
    )


def database_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--database`, as the server takes it."""
    return click.option(
        "--database",
        envvar="WINOSMITH_DATABASE",
        metavar="URL",
        help="postgresql://…, as given to `winosmith serve`; also read from WINOSMITH_DATABASE.",
    )(function)


def existing_site(folder: str, database: str | None, *, public_url: str | None = None) -> Site:
    """Return the site of a folder with Django set up.

    Raises:
        InputError: the folder holds no site, or its tables are those of another version.
    """
    from pathlib import Path

    from winosmith.errors import InputError
    from winosmith.web import Site, hosting

    if not (Path(folder) / "secret").exists():
        raise InputError(f"{folder} holds no site; name the folder given to `winosmith serve`")
    os.umask(0o077)
    return hosting.opened(Site.open(folder, database=database or None, public_url=public_url))
