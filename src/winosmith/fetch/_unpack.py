"""Unpack a zip archive that is not trusted."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path, PurePosixPath

from winosmith.errors import OutputError
from winosmith.outputs import write_aside

__all__ = ["unpack"]

_CHUNK = 1 << 20


def unpack(
    archive: str | Path, folder: str | Path, *, most_bytes: int = 1 << 30, most_files: int = 10_000
) -> list[Path]:
    """Unpack a zip archive into a folder; return the files, sorted.

    Everything is checked before anything is written: no path may lead out of the folder, nothing
    but plain files and folders is taken, and the sizes that the archive states may not pass the
    limits. While unpacking, no file may be longer than stated. What macOS adds is left out.

    Raises:
        OutputError: the archive is damaged, encrypted, or breaks a rule.
    """
    archive, folder = Path(archive), Path(folder)
    try:
        with zipfile.ZipFile(archive) as opened:
            members = [member for member in opened.infolist() if _is_wanted(member)]
            _check(members, archive, most_bytes, most_files)
            return sorted(_extract(opened, member, folder) for member in members)
    except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        raise OutputError(f"{archive}: this archive can't be unpacked: {error}") from error


def _is_wanted(member: zipfile.ZipInfo) -> bool:
    name = PurePosixPath(member.filename)
    return not (member.is_dir() or "__MACOSX" in name.parts or name.name == ".DS_Store")


def _check(members: list[zipfile.ZipInfo], archive: Path, most_bytes: int, most_files: int) -> None:
    if len(members) > most_files:
        raise OutputError(
            f"{archive}: it holds {len(members)} files; at most {most_files} are taken"
        )
    total = sum(member.file_size for member in members)
    if total > most_bytes:
        raise OutputError(f"{archive}: it holds {total} bytes; at most {most_bytes} are taken")
    seen: set[str] = set()
    for member in members:
        reason = _what_is_wrong(member, seen)
        if reason:
            raise OutputError(
                f"{archive}: its file {member.filename!r} {reason}; nothing is unpacked"
            )
        seen.add(member.filename.casefold())


def _what_is_wrong(member: zipfile.ZipInfo, seen: set[str]) -> str | None:
    name = member.filename
    parts = PurePosixPath(name).parts
    mode = stat.S_IFMT(member.external_attr >> 16)
    if not parts or ".." in parts or name.startswith("/") or "\\" in name or ":" in name:
        return "has a path that leads out of the folder"
    if any(ord(character) < 32 for character in name):
        return "has a control character in its name"
    if mode not in (0, stat.S_IFREG):
        return "is no plain file"
    if member.flag_bits & 1:
        return "is encrypted"
    return "occurs twice" if name.casefold() in seen else None


def _extract(opened: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path) -> Path:
    target = folder / member.filename
    target.parent.mkdir(parents=True, exist_ok=True)
    left = member.file_size
    with opened.open(member) as packed, write_aside(target, "wb") as file:
        while chunk := packed.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                raise OutputError(f"{member.filename!r} is longer than its archive states")
            file.write(chunk)
    return target
