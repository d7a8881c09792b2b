"""Backups hold the recipes and the finished rounds of a site, and nothing that leads elsewhere."""

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
    """Return the folder of a site with a recipe, a finished round, and one under way."""
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


def test_finished_rounds_and_recipes_come_back(kept: Path, tmp_path: Path) -> None:
    """Every file of a finished round is there again, byte for byte; what is under way is not."""
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
def test_a_file_elsewhere_is_refused(kept: Path, tmp_path: Path, name: str) -> None:
    """An archive whose manifest names a file that no backup of ours holds is none."""
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
