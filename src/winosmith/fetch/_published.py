"""The published data sets: what they are, where they live, and what their bytes hash to."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources

from winosmith.errors import OutputError

__all__ = ["PUBLISHED", "Published", "Remote", "published"]


@dataclass(frozen=True)
class Remote:
    """One file on a server.

    Attributes:
        url: its https address.
        sha256: what its bytes hash to; None when nobody has said.
        size: its length in bytes; None when it is not known.
    """

    url: str
    sha256: str | None = None
    size: int | None = None

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.url.rsplit("/", 1)[-1]

    @property
    def is_archive(self) -> bool:
        """Whether it is to be unpacked."""
        return self.name.endswith(".zip")


@dataclass(frozen=True)
class Published:
    """A data set that others have published.

    Attributes:
        name: what `winosmith data get` takes.
        title: what it is, with its size.
        licence: as its authors state it.
        home: the page or paper that presents it.
        remotes: the files to download.
        members: what files inside an archive hash to, by path, where it is known.
    """

    name: str
    title: str
    licence: str
    home: str
    remotes: tuple[Remote, ...]
    members: Mapping[str, str] = field(default_factory=dict)


def published(name: str) -> Published:
    """Return the data set of that name.

    Raises:
        OutputError: there is none; the message lists the names.
    """
    for known in PUBLISHED:
        if known.name == name:
            return known
    names = ", ".join(known.name for known in PUBLISHED)
    raise OutputError(f"there is no published data set {name!r}; there are {names}")


def _loaded() -> tuple[Published, ...]:
    text = resources.files(__package__).joinpath("published.toml").read_text("utf-8")
    return tuple(
        Published(
            name=data["name"],
            title=data["title"],
            licence=data["licence"],
            home=data["home"],
            remotes=tuple(Remote(**file) for file in data["files"]),
            members=data.get("members", {}),
        )
        for data in tomllib.loads(text)["data"]
    )


PUBLISHED = _loaded()
"""The data sets that `winosmith data` knows, from `published.toml`."""
