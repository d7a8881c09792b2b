"""Get a published data set into a folder."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from winosmith.errors import OutputError
from winosmith.fetch._download import download
from winosmith.fetch._published import Published, Remote
from winosmith.fetch._unpack import unpack
from winosmith.outputs import OutputFolder, sha256

__all__ = ["Fetched", "get"]

_MOST_BYTES = 256 << 20


@dataclass(frozen=True)
class Fetched:
    """One file that is here now.

    Attributes:
        path: where it is.
        sha256: what its bytes hash to.
        checked: whether that was compared with a published checksum, its own or its archive's.
    """

    path: Path
    sha256: str
    checked: bool


def get(
    data: Published,
    folder: str | Path,
    *,
    context: ssl.SSLContext | None = None,
    on_progress: Callable[[Remote, int, int | None], None] | None = None,
) -> tuple[Fetched, ...]:
    """Download the files of a data set into a folder, and unpack archives there.

    The folder is new, empty, or one that this function wrote for the same data set: finished
    files stay, and a download that broke off goes on.

    Args:
        data: what to get; see `published`.
        folder: where to.
        context: whom to trust; the system's certificates when None.
        on_progress: called with the file, the bytes so far and the bytes in all.

    Raises:
        OutputError: as `download` and `unpack`, or the folder holds something else.
    """
    folder = Path(folder)
    opened = OutputFolder.open(folder, {"data": data.name, "from": [r.url for r in data.remotes]})
    for remote in data.remotes:
        if opened.finished(remote.name):
            continue
        target = folder / remote.name
        if not (target.is_file() and remote.sha256 == sha256(target)):
            download(
                remote.url,
                target,
                sha256=remote.sha256,
                most_bytes=remote.size or _MOST_BYTES,
                context=context,
                on_progress=_for(remote, on_progress),
            )
        if remote.is_archive:
            for path in unpack(target, folder, most_bytes=_MOST_BYTES):
                _check_member(data, path, path.relative_to(folder).as_posix())
                opened.add(path.relative_to(folder).as_posix())
        opened.add(remote.name)  # last: an archive in the manifest is one that was unpacked
    checked = all(remote.sha256 for remote in data.remotes)
    known = {remote.name: bool(remote.sha256) for remote in data.remotes}
    return tuple(
        Fetched(folder / name, digest, known.get(name, checked))
        for name, digest in sorted(opened.files.items())
    )


def _for(
    remote: Remote, on_progress: Callable[[Remote, int, int | None], None] | None
) -> Callable[[int, int | None], None] | None:
    if on_progress is None:
        return None
    return lambda done, total: on_progress(remote, done, total)


def _check_member(data: Published, path: Path, name: str) -> None:
    wanted = data.members.get(name)
    if wanted is not None and sha256(path) != wanted:
        path.unlink()
        raise OutputError(
            f"{path}: this file of the archive is not the published one, and is not kept"
        )
