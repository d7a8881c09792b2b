"""Archives are checked before anything of them is written."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from winosmith import fetch
from winosmith.errors import OutputError


def a_zip(folder: Path, files: Mapping[str | zipfile.ZipInfo, bytes]) -> Path:
    """Return an archive of these files."""
    path = folder / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return path


def a_link(name: str) -> zipfile.ZipInfo:
    """Return the entry of a symbolic link."""
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def test_files_are_unpacked(tmp_path: Path) -> None:
    """Files come out in their folders; what macOS adds stays behind."""
    archive = a_zip(
        tmp_path, {"a/b.txt": b"one", "c.txt": b"two", "__MACOSX/a/._b.txt": b"x", "d/": b""}
    )
    found = fetch.unpack(archive, tmp_path / "out")
    assert found == [tmp_path / "out/a/b.txt", tmp_path / "out/c.txt"]
    assert [path.read_bytes() for path in found] == [b"one", b"two"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("../evil.txt", "has a path that leads out of the folder"),
        ("a/../../evil.txt", "has a path that leads out of the folder"),
        ("/etc/evil.txt", "has a path that leads out of the folder"),
        ("C:/evil.txt", "has a path that leads out of the folder"),
        ("a\x01b.txt", "has a control character in its name"),
        (a_link("link"), "is no plain file"),
    ],
)
def test_a_file_that_is_not_wanted_spoils_the_archive(
    tmp_path: Path, name: str | zipfile.ZipInfo, told: str
) -> None:
    """One path that leads out, one link or one odd name, and nothing at all is unpacked."""
    archive = a_zip(tmp_path, {"good.txt": b"good", name: b"evil"})
    with pytest.raises(OutputError, match=f"{told}; nothing is unpacked"):
        fetch.unpack(archive, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_names_that_are_equal_on_some_disks_are_refused(tmp_path: Path) -> None:
    """Two names that differ in case alone would overwrite each other."""
    archive = a_zip(tmp_path, {"a.txt": b"1", "A.txt": b"2"})
    with pytest.raises(OutputError, match=r"'A\.txt' occurs twice"):
        fetch.unpack(archive, tmp_path / "out")


def test_a_bomb_is_refused_by_its_stated_size(tmp_path: Path) -> None:
    """An archive that says that it is too long, or has too many files, is not unpacked."""
    archive = a_zip(tmp_path, {"zeros": bytes(3_000_000), "more": b"x"})
    with pytest.raises(OutputError, match="holds 3000001 bytes; at most 1000000 are taken"):
        fetch.unpack(archive, tmp_path / "out", most_bytes=1_000_000)
    with pytest.raises(OutputError, match="holds 2 files; at most 1 are taken"):
        fetch.unpack(archive, tmp_path / "out", most_files=1)
    assert not (tmp_path / "out").exists()


def test_a_lie_about_the_size_is_found_out(tmp_path: Path) -> None:
    """A file that is longer than its archive states is not kept."""
    archive = a_zip(tmp_path, {"zeros": bytes(100_000)})
    raw = archive.read_bytes()
    size = (100_000).to_bytes(4, "little")
    assert raw.count(size) == 2
    archive.write_bytes(raw.replace(size, (10).to_bytes(4, "little")))
    with pytest.raises(OutputError):
        fetch.unpack(archive, tmp_path / "out")
    assert not (tmp_path / "out/zeros").exists()


def test_a_damaged_archive_is_told(tmp_path: Path) -> None:
    """What is no archive, or a broken one, is told with its name."""
    path = tmp_path / "a.zip"
    path.write_bytes(b"no archive")
    with pytest.raises(OutputError, match=r"a\.zip: this archive can't be unpacked"):
        fetch.unpack(path, tmp_path / "out")
    broken = a_zip(tmp_path, {"a.txt": b"abc" * 1000}).read_bytes().replace(b"\x4b", b"\x4c", 1)
    path.write_bytes(broken[:40] + b"\xff\xff" + broken[42:])
    with pytest.raises(OutputError):
        fetch.unpack(path, tmp_path / "out")
