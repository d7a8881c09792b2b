"""Backups that are asked for in the browser."""

import sqlite3
import tarfile
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from tests.web.making import fresh
from tests.web.run.conftest import job_of
from tests.web.working import work_off
from winosmith.web.run import backups


def test_a_backup_is_made_on_the_server_and_sent_to_nobody(
    database: Any, adam: Any, send: Any, kept: Path, visit: Any
) -> None:
    """The form leads to a page that waits; the archive lies in the folder, for its owner alone."""
    job = job_of(send("/admin/backups/"))
    work_off()
    assert (fresh(job).state, job.error) == ("done", "")
    path = kept / "backups" / job.came["file"]
    assert path.stat().st_mode & 0o077 == 0
    with tarfile.open(path) as archive:
        assert {"secret", "site.toml", "manifest.json"} <= set(archive.getnames())
    browser = visit(adam)
    assert job.came["file"] in browser.get("/admin/backups/").content.decode()
    for place in (f"/admin/backups/{path.name}", f"/admin/backups/{path.name}/",
                  f"/backups/{path.name}", f"/static/../backups/{path.name}"):  # fmt: skip
        assert browser.get(place).status_code == 404


def test_the_newest_backups_are_kept(
    db: Any, adam: Any, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond seven the oldest go, and what is of an interrupted one; other files stay."""
    folder = kept / "backups"
    folder.mkdir()
    for day in range(10, 19):
        (folder / f"site-202601{day}-120000.tar.gz").write_text("x")
    (folder / ".site-20260109-120000.tar.gz-x").mkdir()
    (folder / "mine.tar.gz").write_text("x")
    monkeypatch.setattr(backups, "backup", lambda _site, path: path.write_text("y"))
    made = backups.make_backup(backups.request_backup(adam), lambda _: None)
    names = [one["name"] for one in backups.list_backups()]
    assert names[0] == made["file"]
    assert names[1:] == [f"site-202601{day}-120000.tar.gz" for day in range(18, 12, -1)]
    assert sorted(p.name for p in folder.iterdir() if p.name not in names) == ["mine.tar.gz"]


def test_a_restored_site_neither_shows_nor_makes_the_backup_that_it_came_from(
    database: Any, send: Any, kept: Path, tmp_path: Path
) -> None:
    """An archive holds its own job as one that runs; where it is restored, that ends at once."""
    job = job_of(send("/admin/backups/"))
    work_off()
    archive = kept / "backups" / fresh(job).came["file"]
    if connection.vendor == "sqlite":
        with tarfile.open(archive) as tar:
            tar.extract("site.sqlite3", tmp_path, filter="data")
        with sqlite3.connect(tmp_path / "site.sqlite3") as copy:
            assert copy.execute("SELECT state FROM run_job").fetchall() == [("running",)]
    type(job).objects.filter(pk=job.pk).update(state="running", came={}, ended=None)
    archive.unlink()
    send("/admin/", method="get")
    work_off()
    assert (fresh(job).state, job.is_busy) == ("failed", False)
    assert "restored" in job.error
    assert not archive.exists()
