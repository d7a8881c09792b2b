"""Tokens are for nothing that only people do."""

from __future__ import annotations

from typing import Any

from django.db import migrations

PEOPLES = ("judge", "moderate")


def drop_scopes(apps: Any, _editor: Any) -> None:
    """Take from tokens the scopes that went; for the others, and as a name, they still work."""
    for token in apps.get_model("api", "Token").objects.all():
        left = [scope for scope in token.scopes if scope not in PEOPLES]
        if left != token.scopes:
            token.scopes = left
            token.save(update_fields=["scopes"])


class Migration(migrations.Migration):
    dependencies = [("api", "0001_initial")]

    operations = [migrations.RunPython(drop_scopes, migrations.RunPython.noop)]
