"""The full-text index of public problems: `winosmith.web.read.apps` makes it after all of these."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations

from winosmith.web.problems.search import drop


def take_away(apps: Any, schema_editor: Any) -> None:
    """Take the index away."""
    drop(schema_editor.connection.alias)


class Migration(migrations.Migration):
    """Undone, it leaves no index behind."""

    dependencies: ClassVar = [("problems", "0001_initial")]
    operations: ClassVar = [migrations.RunPython(migrations.RunPython.noop, take_away)]
