"""The full-text index of public problems."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations

from winosmith.web.read.index import drop, ensure


def make(apps: Any, schema_editor: Any) -> None:
    """Make the index."""
    ensure(schema_editor.connection.alias)


def take_away(apps: Any, schema_editor: Any) -> None:
    """Take the index away."""
    drop(schema_editor.connection.alias)


class Migration(migrations.Migration):
    """Needs the table of problems; `winosmith.web.read.apps` keeps the index after later ones."""

    dependencies: ClassVar = [("problems", "0001_initial")]
    operations: ClassVar = [migrations.RunPython(make, take_away)]
