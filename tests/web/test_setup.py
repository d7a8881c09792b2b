"""Preparing a site: settings, tables and static files; sites of older and newer versions."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import close_old_connections, connection

from tests import forking
from tests.web.conftest import LONG_DATABASES
from winosmith.web import SiteRules
from winosmith.web._lock import writing
from winosmith.web._rules import SiteRules as Rules, read_settings
from winosmith.web.hosting import write_settings
from winosmith.web.people.models import Done

RUN = "import sys; from winosmith.web import Site, hosting; site = Site.open(sys.argv[1]); "

OPENED = """
import os, sys
from winosmith.web import Site, hosting
site = Site.open(sys.argv[1], database=os.environ["WINOSMITH_DATABASE"] or None)
"""


def _run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return forking.script(RUN + code, str(folder))


def test_new_site_toml_lists_every_setting_with_its_default(tmp_path):
    """Without the comment signs, the file sets each setting to its default.

    A setting with named values lists all of them, and the help of a list is not that of its
    form.
    """
    write_settings(tmp_path)
    path = tmp_path / "site.toml"
    text = path.read_text("utf-8").replace("\n# ", " ")
    assert 'Values: "open" (everyone), "invited" (only people with an invitation).' in text
    assert all(f'"{word}" (' in text for word in ("none", "flagged", "all"))
    assert "each line" not in text
    assert Rules.read(path) == SiteRules()
    path.write_text(re.sub(r"(?m)^# (?=\w+ = |\[)", "", path.read_text("utf-8")))
    assert set(read_settings(path)) == set(SiteRules.__dataclass_fields__)
    given = Rules.read(path)
    assert given.mail.host == "mail.example.org"
    assert replace(given, mail=None, topics=None) == SiteRules()


def test_activating_a_site_loads_no_heavy_module(tmp_path):
    heavy = {f"winosmith.{name}" for name in ("build", "debias", "rounds", "solve", "study")}
    code = f"{RUN}site.activate(); print(sorted({heavy!r} & set(sys.modules)))"
    new = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(new, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr


def test_existing_site_toml_is_not_overwritten(tmp_path):
    (tmp_path / "site.toml").write_text("judges = 5\n")
    write_settings(tmp_path)
    assert (tmp_path / "site.toml").read_text() == "judges = 5\n"


@pytest.mark.long
def test_static_files_are_collected_only_after_a_change(prepared_site, tmp_path):
    shutil.copytree(prepared_site, tmp_path / "site")
    static = tmp_path / "site" / "static"
    manifest, mark = static / "staticfiles.json", static / "gathered.txt"
    manifest.unlink()
    assert _run("hosting.prepare(site)", tmp_path / "site").returncode == 0
    assert not manifest.exists()
    mark.write_text("of an older version")
    assert _run("hosting.prepare(site)", tmp_path / "site").returncode == 0
    assert manifest.exists()
    assert len(mark.read_text().strip()) == 64


def test_no_migration_is_missing(ready_site):
    call_command("makemigrations", check=True, dry_run=True, verbosity=1)


TABLES = """
site.activate()
from django.core.management import call_command
from django.db import connection
if sys.argv[2] == "migrated":
    call_command("migrate", interactive=False, verbosity=0)
hosting.prepare(site)
look, found = connection.introspection, {}
with connection.cursor() as cursor:
    for table in look.table_names(cursor):
        told = look.get_constraints(cursor, table).values()
        rows = [{key: one[key] for key in one if key != "definition"} for one in told]
        rows += [[column.name, column.type_code, column.internal_size, column.null_ok,
                  column.default] for column in look.get_table_description(cursor, table)]
        cursor.execute(f"SELECT count(*) FROM {table}")
        found[table] = [*sorted(map(str, rows)), cursor.fetchone()]
    cursor.execute("SELECT app, name FROM django_migrations")
    found["migrations"] = sorted(map(str, cursor.fetchall()))
print(__import__("json").dumps(found))
"""

NUMBERED = "auth_group_permissions"
"""An unused table of Django; on PostgreSQL, its row ids have four bytes or eight."""


@pytest.mark.parametrize("database", LONG_DATABASES)
def test_new_site_has_the_tables_of_its_migrations(database, tmp_path, request):
    found = []
    for way in ("new", "migrated"):
        url = ""
        if database == "postgresql":
            url = request.getfixturevalue("postgres").create(f"{way}_{os.getpid()}")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("WINOSMITH_DATABASE", url)
            done = forking.script(OPENED + TABLES, str(tmp_path / way), way)
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    new, migrated = found
    assert len(new) > 50
    for tables in found:
        tables[NUMBERED] = [row for row in tables[NUMBERED] if "'id'" not in row]
    assert new == migrated


DIES = """
import os
site.activate()
from django.db import connection
def die(execute, query, *rest):
    if query.startswith("INSERT INTO \\"django_migrations\\""):
        os._exit(9)
    return execute(query, *rest)
connection.execute_wrappers.append(die)
hosting.prepare(site)
"""


def test_interrupted_first_start_leaves_no_tables(tmp_path):
    """All tables and the record of their migrations are created at once, by the next start."""
    died = _run(DIES, tmp_path)
    assert died.returncode == 9, died.stderr
    with closing(sqlite3.connect(tmp_path / "site.sqlite3")) as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == []
    done = _run("hosting.prepare(site); hosting.open_site(site)", tmp_path)
    assert done.returncode == 0, done.stderr


BACK = """
site.activate()
from django.core.management import call_command
call_command("migrate", "rounds", "zero", verbosity=0)
"""

FILL = """
site.activate()
from winosmith.web._lock import writing
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Event, Problem, Twin
with writing():
    ann = Person.objects.create_user("ann", "twins-and-cups", is_judge=True)
    twin = Twin.objects.create(ref="t", contributor=ann)
    for half in "ab":
        row = Problem.objects.create(ref="t-" + half, twin=twin, sentence="The _ fell.",
            options=["cup", "jug"], answer=0, state="valid", record={"pronoun": "it"})
        Event.objects.create(problem=row, actor=ann, kind="submit", after="valid")
"""


def _rows(path: Path) -> dict[str, list[dict[str, Any]]]:
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        tables = ("people_person", "problems_twin", "problems_problem", "problems_event")
        return {
            table: [*map(dict, database.execute(f"SELECT * FROM {table} ORDER BY id"))]  # noqa: S608
            for table in tables
        }


def test_older_database_is_migrated_and_keeps_its_rows(prepared_site, tmp_path):
    folder = tmp_path / "site"
    shutil.copytree(prepared_site, folder)
    filled = _run(FILL, folder)
    assert filled.returncode == 0, filled.stderr
    before = _rows(folder / "site.sqlite3")
    back = _run(BACK, folder)
    assert back.returncode == 0, back.stderr
    older = _run("hosting.open_site(site)", folder)
    forward = _run("hosting.prepare(site); hosting.open_site(site)", folder)
    assert forward.returncode == 0, forward.stderr
    assert _rows(folder / "site.sqlite3") == before
    assert "from an older version" in older.stderr


def test_newer_database_is_refused(prepared_site, tmp_path):
    shutil.copytree(prepared_site, tmp_path / "site")
    path = tmp_path / "site" / "site.sqlite3"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) "
            "VALUES ('problems', '0999_from_the_future', '2030-01-01')"
        )
    refused = _run("hosting.prepare(site)", tmp_path / "site")
    assert "problems.0999_from_the_future" in refused.stderr
    assert "install that version" in refused.stderr


def test_folder_without_a_site_is_reported(tmp_path):
    refused = _run("hosting.open_site(site)", tmp_path / "new")
    assert "contains no site yet" in refused.stderr
    assert "winosmith serve" in refused.stderr


def test_error_rolls_back_outer_and_inner_writes(database, ann):
    def fails_late() -> None:
        with writing():
            with writing():
                Done.objects.create(person=ann, key="inner")
            raise KeyError

    with pytest.raises(KeyError):
        fails_late()
    assert not Done.objects.exists()
    with writing(), writing():
        Done.objects.create(person=ann, key="kept")
    assert Done.objects.get().key == "kept"


def test_connection_is_reused_unless_the_server_closed_it(database):
    for ended in (False, connection.vendor == "postgresql"):
        assert not Done.objects.exists()
        resting = connection.connection
        if ended:
            _hang_up(resting)
        close_old_connections()  # as at the start of each request
        assert not Done.objects.exists()
        assert (connection.connection is resting) is not ended


def _hang_up(resting: Any) -> None:
    """Make the server close a connection."""
    import psycopg

    with psycopg.connect(resting.info.dsn) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [resting.info.backend_pid])
