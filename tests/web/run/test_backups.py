"""Backups that are requested in the browser."""

import sqlite3
import tarfile

from django.db import connection

from tests.web.making import fresh
from tests.web.run.conftest import job_of
from tests.web.working import work_off
from winosmith.web.run import backups


def test_backup_stays_on_the_server(database, adam, send, kept, visit):
    job = job_of(send("/admin/backups/"))
    work_off()
    assert (fresh(job).state, job.error) == ("done", "")
    path = kept / "backups" / job.came["file"]
    assert path.stat().st_mode & 0o077 == 0
    with tarfile.open(path) as archive:
        assert {"secret", "site.toml", "manifest.json"} <= set(archive.getnames())
    browser = visit(adam)
    assert job.came["file"] in browser.get("/admin/backups/").text
    for place in (f"/admin/backups/{path.name}", f"/admin/backups/{path.name}/",
                  f"/backups/{path.name}", f"/static/../backups/{path.name}"):  # fmt: skip
        assert browser.get(place).status_code == 404


def test_seven_newest_backups_are_kept(db, adam, kept, monkeypatch):
    """Remains of an interrupted backup are deleted; other files stay."""
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


def test_restored_site_does_not_repeat_its_own_backup(database, send, kept, tmp_path):
    """The archive contains its own job as running; after a restore, that job fails at once."""
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
