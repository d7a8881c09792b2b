"""Backups contain a site's recipes and finished rounds, and no path outside the site."""

import io
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import everything
from tests.web.rounds.conftest import Carried
from winosmith.errors import InputError
from winosmith.web import Site, _backup


@pytest.fixture
def kept(prepared_site: Path, carried: Carried, tmp_path: Path) -> Path:
    """Return the folder of a site with recipes, a finished round and an unfinished one."""
    folder = tmp_path / "site"
    shutil.copytree(prepared_site, folder)
    shutil.copytree(carried.found.folder, folder / "rounds" / "spring" / "results")
    shutil.copytree(carried.found.folder, folder / "rounds" / "summer" / "results")
    (folder / "rounds" / "summer" / "results" / "round.json").unlink()
    (folder / "rounds" / "lock").write_bytes(b"\0" * 4096)
    (folder / "recipes").mkdir()
    (folder / "recipes" / "hard.toml").write_text("[filter]\ncutoff = 5\n")
    (folder / "recipes" / "übung.toml").write_text("[filter]\n")
    (folder / "recipes" / "secret.toml").symlink_to("/etc/passwd")
    return folder


def test_finished_rounds_and_recipes_are_restored(kept: Path, tmp_path: Path) -> None:
    """Unfinished rounds and symbolic links are omitted."""
    _backup.backup(Site.open(kept), tmp_path / "site.tar.gz")
    _backup.restore(tmp_path / "site.tar.gz", tmp_path / "again")
    again = tmp_path / "again"
    assert everything(again / "rounds") == {
        f"spring/{name}": data for name, data in everything(kept / "rounds" / "spring").items()
    }
    assert everything(again / "recipes") == {
        "hard.toml": b"[filter]\ncutoff = 5\n",
        "übung.toml": b"[filter]\n",
    }
    modes = {path.stat().st_mode & 0o077 for path in (again / "rounds").rglob("*")}
    assert modes == {0}


@pytest.mark.parametrize(
    "name",
    [
        "rounds/../secret2", "/rounds/a/b", "rounds/a/../../b", "rounds/a//b", "rounds/.a/b",
        "roundsx/a", "recipes/x.py", "recipes/a/b.toml", "rounds/lock", "static/x.js",
        "rounds/a/b\n",
    ],
)  # fmt: skip
def test_unexpected_file_in_the_manifest_is_refused(kept: Path, tmp_path: Path, name: str) -> None:
    _backup.backup(Site.open(kept), tmp_path / "site.tar")
    with (
        tarfile.open(tmp_path / "site.tar") as old,
        tarfile.open(tmp_path / "bad.tar", "w") as new,
    ):
        for member in old:
            data = old.extractfile(member).read()
            if member.name == "manifest.json":
                about: dict[str, Any] = json.loads(data)
                about["files"][name] = about["files"]["site.toml"]
                data = json.dumps(about).encode()
                member.size = len(data)
            new.addfile(member, io.BytesIO(data))
    with pytest.raises(InputError, match="is not a backup of a site"):
        _backup.restore(tmp_path / "bad.tar", tmp_path / "again")
    assert not (tmp_path / "again").exists()
