"""The index follows the column that says what is public; `winosmith.web.read.apps` makes it so."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations

from winosmith.web.problems.search import drop


def take_away(apps: Any, schema_editor: Any) -> None:
    """Take the index away that follows what the problems have no longer."""
    drop(schema_editor.connection.alias)


class Migration(migrations.Migration):
    """Undone, it leaves no index behind that would need the column."""

    dependencies: ClassVar = [("read", "0001_search"), ("problems", "0002_public")]
    operations: ClassVar = [migrations.RunPython(take_away, take_away)]
