"""Backups: complete, consistent, private and checked; a restored site is the same site."""

import io
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests import forking
from tests.conftest import everything
from tests.waiting import until
from tests.web.conftest import LONG_DATABASES, PASSWORD
from winosmith import Problem, formats
from winosmith.errors import InputError, OutputError
from winosmith.lineage import make_child
from winosmith.testing import make_twins
from winosmith.web import Site, _backup

EACH = pytest.mark.parametrize("database", LONG_DATABASES)

WRITERS = """
import os, threading, time
from winosmith.web import Site
Site.from_environment().activate()
from winosmith.web._lock import writing
from winosmith.web.problems.models import Event, Problem, Twin

def write(name):
    for number in range(10**6):
        ref = f"{name}-{number}"
        with writing():
            twin = Twin.objects.create(ref=ref)
            for half in "ab":
                row = Problem.objects.create(
                    ref=f"{ref}-{half}", twin=twin, sentence=f"The _ {ref}.", answer=0,
                    options=["cup", "jug"], state="valid"
                )
                Event.objects.create(problem=row, kind="submit", after="valid")
        os.write(1, f"{ref}\\n".encode())  # whole: print writes a line in two pieces

for name in "xyz":
    threading.Thread(target=write, args=(name,), daemon=True).start()
time.sleep(600)
"""
"""Three threads that write twins, one per transaction, and print each committed twin."""


def _site_with_problems(served: Any, tmp_path: Path, database: str) -> Any:
    site = served(database=database, models=[])  # no model predicts between two exports
    site.people("ann", bob="judge")
    formats.write(make_twins(6), tmp_path / "twins.jsonl")
    site.admin("import", str(site.folder), str(tmp_path / "twins.jsonl"), "--as", "valid")
    return site


def _add_family(site: Any, tmp_path: Path) -> None:
    """Import a root and its child, with one finished and one waiting prediction."""
    root = Problem("r", "The cup hit the _ and broke.", ("vase", "tray"), 0)
    child = make_child(root, "The mug hit the _ and broke.", root.options, 1, source="person")
    formats.write([root, child], tmp_path / "family.jsonl")
    site.admin("import", str(site.folder), str(tmp_path / "family.jsonl"), "--as", "valid")
    site.do(
        "from winosmith.web._lock import writing\n"
        "from winosmith.web.predict.models import Model, Prediction\n"
        "from winosmith.web.problems.models import Problem\n"
        "with writing():\n"
        "    model = Model.objects.create(name='old', solver='random', revision='1', digest='d', "
        "current=False)\n"
        "    for ref, stand in (('r', 'done'), ('x', 'waiting')):\n"
        "        row = Problem.objects.filter(ref=ref).first() or Problem.objects.first()\n"
        "        scores = [0.1, 1 / 3]\n"
        "        Prediction.objects.create(problem=row, model=model, stand=stand, scores=scores)"
    )


def _digest(site: Any, out: Path) -> str:
    exported = site.admin("export", str(site.folder), "--out", str(out), "--json")
    return str(json.loads(exported.stdout)["digest"])


@pytest.fixture
def restore(database: str, request: pytest.FixtureRequest) -> Any:
    """Return a function that restores a backup; it returns the new site and the output."""

    def act(site: Any, file: Path, folder: Path, *options: str) -> tuple[Any, str]:
        url = None
        if database == "postgresql":
            url = request.getfixturevalue("postgres").create(folder.name)
            options += ("--database", url)
        told = site.admin("restore", str(file), str(folder), *options).stdout
        return type(site)(folder, url), told

    return act


@pytest.mark.long
@EACH
def test_backup_during_writes_is_a_consistent_snapshot(served, tmp_path, database, restore):
    site = _site_with_problems(served, tmp_path, database)
    log = tmp_path / "log"
    with log.open("w") as out:
        writers = subprocess.Popen(
            [sys.executable, "-c", WRITERS], stdout=out, env=site.environment
        )
    try:
        until(lambda: len(log.read_text().splitlines()) >= 30)
        before = set(log.read_text().split())
        site.admin("backup", str(site.folder), str(tmp_path / "one.tar.gz"))
        during = set(log.read_text().split()) - before
    finally:
        writers.kill()
        writers.wait()
    assert during, "nobody wrote while the backup was taken"
    again, _told = restore(site, tmp_path / "one.tar.gz", tmp_path / "again")
    twins = again.do(
        "from django.db.models import Count\n"
        "from winosmith.web.problems.models import Twin\n"
        "rows = Twin.objects.annotate(halves=Count('problems', distinct=True), "
        "events=Count('problems__events', distinct=True))\n"
        "result = [[row.ref, row.halves, row.events] for row in rows]"
    )
    assert all((halves, events) == (2, 2) for _, halves, events in twins)
    assert before <= {ref for ref, _, _ in twins}


KNOWN_ROWS = """
from django.db import connection
result = True
if connection.vendor == "postgresql":  # which chooses its plans by what it knows of a table
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname = 'problems_problem'")
        result = cursor.fetchone()[0] > 0
"""


@EACH
def test_restored_site_exports_the_same_digest(served, tmp_path, database, restore):
    """The restored site can also be served, and PostgreSQL has statistics of its tables."""
    site = _site_with_problems(served, tmp_path, database)
    _add_family(site, tmp_path)
    site.admin("backup", str(site.folder), str(tmp_path / "one.tar"))
    again, _told = restore(site, tmp_path / "one.tar", tmp_path / "restored")
    digest = _digest(site, tmp_path / "a")
    assert digest == _digest(again, tmp_path / "b")
    assert again.do(KNOWN_ROWS)
    assert (tmp_path / "a/private/people.jsonl").read_text().count("p-") == 2
    for name in ("versions", "predictions"):
        assert len((tmp_path / f"a/private/{name}.jsonl").read_text().splitlines()) == 2
    again.do(
        "from winosmith.web._lock import writing\n"
        "from winosmith.web.problems.models import Problem\n"
        "with writing():\n"
        "    Problem.objects.filter(pk=Problem.objects.first().pk).update(embargo=True)\n"
    )
    assert _digest(again, tmp_path / "b") != digest
    assert again.start().get("/").status == 200
    again.stop()


@EACH
def test_database_with_another_key_is_refused(served, tmp_path, database):
    site = served(database=database)
    site.stop()
    keys = [(site.folder / "secret").read_text(), "another-key" * 6]
    folder = site.folder if database == "sqlite" else tmp_path / "new"
    folder.mkdir(exist_ok=True)
    (folder / "secret").write_text(keys[1])
    (folder / "secret").chmod(0o600)
    export = ("admin", "export", str(folder), "--out", str(tmp_path / "x"))
    for command in (("serve", str(folder), "--port", "0"), export):
        refused = forking.run(command, site.environment)
        assert refused.returncode == 2
        assert "is not the key of" in refused.stderr
        assert "tar -xOf BACKUP secret" in refused.stderr
    (folder / "secret").write_text(keys[0])
    assert forking.run(command, site.environment).returncode == 0


LET_IN = """
from winosmith.web._lock import writing
from winosmith.web.jobs import MAIL, queue_job
from winosmith.web.people.accounts import invite, create_reset_link
from winosmith.web.people.models import Person
from django.test import Client
bob = Person.objects.get(name="bob")
Client().force_login(bob)
queue_job(MAIL, email="bob@example.org", there="http://localhost", language="en")
with writing():
    result = [invite("judge", 60), create_reset_link(bob, 60)]
"""

OPEN = """
from django.contrib.auth import authenticate
from winosmith.web.people.accounts import find_invitation
from winosmith.web.jobs import Job
from winosmith.web.people.models import Session
links = [find_invitation(link.split("/")[-2]) for link in {links!r}]
doors = [Session.objects.exists(), *(link is not None for link in links)]
doors.append(Job.objects.filter(kind="mail").exists())
result = [doors, authenticate(username="bob", password={password!r}) is not None]
"""


@EACH
def test_restore_ends_sessions_links_and_mails(served, tmp_path, database, restore):
    """Only passwords still work."""
    site = _site_with_problems(served, tmp_path, database)
    links = site.do(LET_IN)
    asked = OPEN.format(links=links, password=PASSWORD)
    assert site.do(asked) == [[True] * 4, True]
    site.admin("backup", str(site.folder), str(tmp_path / "one.tar"))
    again, _told = restore(site, tmp_path / "one.tar", tmp_path / "closed")
    assert again.do(asked) == [[False] * 4, True]


ERASE = """
from winosmith.web.people.models import Person, get_pseudonym
from winosmith.web.people.privacy import erase
from winosmith.web._lock import writing
for name, texts in {names!r}:
    erase(Person.objects.get(name=name), texts)
with writing():
    Person.objects.create_user("later")
"""

PAGE = """
from django.test import Client
from winosmith.web.people.models import Person
browser = Client()
browser.force_login(Person.objects.get(name="root"))
result = browser.get("/admin/", headers={"host": "127.0.0.1"}).text
"""

NAMES = """
from winosmith.web.people.models import Person, get_pseudonym
result = {one.name: get_pseudonym(one) for one in Person.objects.order_by("pk") if not one.erased}
"""


@EACH
def test_people_erased_since_the_backup_can_be_erased_again(served, tmp_path, database, restore):
    """The backup still contains them; the log of erasures of the old site lists them."""
    site = served(database=database)
    site.people("ann", bob="judge", eva="moderator", root="admin", gone="judge")
    site.do(ERASE.format(names=[("gone", False)]))
    site.admin("backup", str(site.folder), str(tmp_path / "one.tar"))
    before = site.do(NAMES)
    site.do(ERASE.replace("later", "last").format(names=[("ann", False), ("bob", True)]))
    log = (site.folder / "erased.jsonl").read_text()
    assert not [name for name in (*before, *before.values()) if name in log]
    again, told = restore(
        site, tmp_path / "one.tar", tmp_path / "new", "--erased", str(site.folder)
    )
    listed = [name for name, mark in before.items() if mark in told]
    assert listed == ["ann", "bob"]
    assert f"winosmith admin erase-again {again.folder}" in told
    shutil.copytree(site.folder / "static", again.folder / "static")
    assert before["bob"] in again.do(PAGE)
    assert "2 people erased again" in again.admin("erase-again", str(again.folder)).stdout
    assert list(again.do(NAMES)) == [name for name in before if name not in ("ann", "bob")]
    assert "0 people erased again" in again.admin("erase-again", str(again.folder)).stdout


def test_restore_finds_the_log_of_erasures(prepared_site, tmp_path):
    """It looks next to the backup, and in the site whose folder `backups` contains the backup."""
    site, other = tmp_path / "site", tmp_path / "other"
    (site / "backups").mkdir(parents=True)
    other.mkdir()
    _backup.backup(Site.open(prepared_site), site / "backups" / "one.tar")
    shutil.copy(site / "backups" / "one.tar", other)
    (site / "erased.jsonl").write_text('\n{"person": 1\n')
    for folder, logged in ((site / "backups", True), (other, False)):
        _backup.restore(folder / "one.tar", tmp_path / f"from-{folder.name}")
        assert (tmp_path / f"from-{folder.name}" / "erased.jsonl").exists() == logged
    shutil.copy(site / "erased.jsonl", other)
    _backup.restore(other / "one.tar", tmp_path / "beside")
    assert (tmp_path / "beside" / "erased.jsonl").exists()
    with pytest.raises(InputError, match="give the folder of the site"):
        _backup.restore(other / "one.tar", tmp_path / "x", erased=tmp_path)


def test_backup_and_restored_files_are_private(served, tmp_path):
    """The umask doesn't matter."""
    site = served()
    file = tmp_path / "site.tar.gz"
    before = os.umask(0)
    try:
        site.admin("backup", str(site.folder), str(file))
        site.admin("restore", str(file), str(tmp_path / "again"))
    finally:
        os.umask(before)
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode)
        for path in (file, *(tmp_path / "again").iterdir())
    }
    assert modes == dict.fromkeys(("site.tar.gz", "secret", "site.toml", "site.sqlite3"), 0o600)
    assert stat.S_IMODE((tmp_path / "again").stat().st_mode) == 0o700
    key = (site.folder / "secret").read_bytes()
    assert (tmp_path / "again/secret").read_bytes() == key
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.fixture
def archive(prepared_site: Any, tmp_path: Path) -> Path:
    """Return a backup of a new site."""
    file = tmp_path / "site.tar"
    _backup.backup(Site.open(prepared_site), file)
    return file


Members = list[tuple[tarfile.TarInfo, bytes]]


def _rewrite_archive(
    file: Path, name: str, change: Callable[[tarfile.TarInfo, bytes], Members]
) -> Path:
    """Copy an archive; `change` returns the members that replace the member with a name."""
    other = file.with_name("changed.tar")
    with tarfile.open(file) as old, tarfile.open(other, "w") as new:
        for member in old:
            data = old.extractfile(member).read()
            members = change(member, data) if member.name == name else [(member, data)]
            for made, content in members:
                made.size = len(content)
                new.addfile(made, io.BytesIO(content))
    return other


def _link(_member: tarfile.TarInfo, _data: bytes) -> Members:
    link = tarfile.TarInfo("site.toml")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return [(link, b"")]


def _replace(old: bytes, new: bytes) -> Callable[[tarfile.TarInfo, bytes], Members]:
    return lambda member, data: [(member, data.replace(old, new))]


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        (
            "site.sqlite3",
            lambda member, data: [(member, data[:-1] + bytes([data[-1] ^ 1]))],
            "the checksum of site.sqlite3 is wrong",
        ),
        ("secret", lambda _member, _data: [], "secret is missing"),
        (
            "secret",
            lambda member, data: [(member, data), (tarfile.TarInfo("../evil"), b"x")],
            r"'\.\./evil', which does not belong in a site backup",
        ),
        ("site.toml", _link, "'site.toml', which does not belong in a site backup"),
        ("manifest.json", _replace(b'"layout": 1', b'"layout": 2'), "install that version"),
        ("manifest.json", _replace(b'"site.toml"', b'"../site.toml"'), "is not a backup of a site"),
        ("manifest.json", lambda member, _data: [(member, b"[" * 200_000)], "nested too deep"),
    ],
    ids=["one bit", "no key", "path outside", "symlink", "newer", "renamed", "nested"],
)
def test_changed_archive_is_refused_and_leaves_no_files(archive, tmp_path, name, change, reason):
    with pytest.raises(InputError, match=reason):
        _backup.restore(_rewrite_archive(archive, name, change), tmp_path / "again")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["changed.tar", "site.tar"]


@pytest.mark.parametrize(
    "name",
    [
        "rounds/../secret2", "/rounds/a/b", "rounds/a/../../b", "rounds/a//b", "rounds/.a/b",
        "roundsx/a", "recipes/x.py", "recipes/a/b.toml", "rounds/lock", "static/x.js",
        "rounds/a/b\n",
    ],
)  # fmt: skip
def test_unexpected_file_in_the_manifest_is_refused(archive, tmp_path, name):
    def add_name(member: tarfile.TarInfo, data: bytes) -> Members:
        about: dict[str, Any] = json.loads(data)
        about["files"][name] = about["files"]["site.toml"]
        return [(member, json.dumps(about).encode())]

    changed = _rewrite_archive(archive, "manifest.json", add_name)
    with pytest.raises(InputError, match="is not a backup of a site"):
        _backup.restore(changed, tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_finished_rounds_and_recipes_are_restored(prepared_site, tmp_path):
    """Unfinished rounds and symbolic links are omitted."""
    site = tmp_path / "site"
    shutil.copytree(prepared_site, site)
    for name in ("spring/results/round.json", "spring/results/build/kept.jsonl",
                 "summer/results/build/kept.jsonl"):  # fmt: skip
        (site / "rounds" / name).parent.mkdir(parents=True, exist_ok=True)
        (site / "rounds" / name).write_text(name)
    (site / "rounds/lock").write_bytes(b"\0" * 4096)
    (site / "recipes").mkdir()
    (site / "recipes/hard.toml").write_text("[filter]\ncutoff = 5\n")
    (site / "recipes/übung.toml").write_text("[filter]\n")
    (site / "recipes/secret.toml").symlink_to("/etc/passwd")
    _backup.backup(Site.open(site), tmp_path / "site.tar.gz")
    _backup.restore(tmp_path / "site.tar.gz", again := tmp_path / "again")
    assert everything(again / "rounds") == {
        f"spring/{name}": data for name, data in everything(site / "rounds/spring").items()
    }
    assert everything(again / "recipes") == {
        "hard.toml": b"[filter]\ncutoff = 5\n",
        "übung.toml": b"[filter]\n",
    }
    assert {path.stat().st_mode & 0o077 for path in (again / "rounds").rglob("*")} == {0}


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b\x08broken"])
def test_file_that_is_not_an_archive_is_refused(tmp_path, content):
    (tmp_path / "x.tar").write_bytes(content)
    with pytest.raises(InputError, match=r"x\.tar"):
        _backup.restore(tmp_path / "x.tar", tmp_path / "again")


def test_truncated_archive_is_refused(archive, tmp_path):
    archive.write_bytes(archive.read_bytes()[:100_000])
    with pytest.raises(InputError, match="another"):
        _backup.restore(archive, tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_backup_and_restore_overwrite_nothing(archive, tmp_path, prepared_site):
    before = archive.read_bytes()
    with pytest.raises(OutputError, match="already exists"):
        _backup.backup(Site.open(prepared_site), archive)
    assert archive.read_bytes() == before
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    with pytest.raises(OutputError, match="is not empty"):
        _backup.restore(archive, tmp_path / "full")
    (tmp_path / "empty").mkdir()
    _backup.restore(archive, tmp_path / "empty")
    assert (tmp_path / "empty" / "secret").exists()


def test_backup_of_a_damaged_database_is_refused(prepared_site, tmp_path):
    """It would replace better backups."""
    shutil.copytree(prepared_site, tmp_path / "site")
    path = tmp_path / "site" / "site.sqlite3"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(path.read_bytes())
    data[4096 * 3 : 4096 * 40] = b"\xff" * (4096 * 37)
    path.write_bytes(data)
    with pytest.raises(InputError, match="earlier backup"):
        _backup.backup(Site.open(tmp_path / "site"), tmp_path / "x.tar")
    assert not (tmp_path / "x.tar").exists()


@pytest.mark.postgres
def test_postgresql_restore_needs_an_empty_database(served, tmp_path, postgres):
    site = served(database="postgresql")
    file = str(tmp_path / "one.tar.gz")
    site.admin("backup", str(site.folder), file)
    site.database, full = None, site.database
    refused = site.admin("restore", file, str(tmp_path / "again"), ok=False)
    assert refused.returncode == 2
    assert "give its URL as --database" in refused.stderr
    refused = site.admin("restore", file, str(tmp_path / "again"), "--database", full, ok=False)
    assert "into an empty database" in refused.stderr
    assert not (tmp_path / "again").exists()
