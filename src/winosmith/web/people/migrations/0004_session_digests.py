"""The table of sessions keeps digests of their keys: those that run go on, nobody is logged out.

It is not taken back: no key follows from its digest.
"""

from hashlib import sha256
from typing import Any

from django.db import migrations, models


def digest(apps: Any, schema_editor: Any) -> None:
    """Put the digest of each key in its place."""
    session = apps.get_model("people", "Session")
    for key in list(session.objects.values_list("session_key", flat=True)):
        kept = sha256(key.encode()).hexdigest()
        session.objects.filter(session_key=key).update(session_key=kept)


def end(apps: Any, schema_editor: Any) -> None:
    """End every session: the tables from before look keys up as they are."""
    apps.get_model("people", "Session").objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [("people", "0003_sessions_signed")]

    operations = [
        migrations.AlterField(
            "session",
            "session_key",
            models.CharField(max_length=64, primary_key=True, serialize=False),
        ),
        migrations.RunPython(digest, end),
    ]
