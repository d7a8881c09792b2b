"""Sessions are kept as Django keeps them: signed, under Django's own backend of accounts."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth import BACKEND_SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import migrations


def sign(apps: Any, schema_editor: Any) -> None:
    """Sign what each session holds, so that nobody is logged out."""
    session, store = apps.get_model("people", "Session"), SessionStore()
    for row in session.objects.iterator():
        try:
            held = json.loads(row.session_data)
        except ValueError:
            continue
        if BACKEND_SESSION_KEY in held:
            held[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
        row.session_data = store.encode(held)
        row.save(update_fields=["session_data"])


class Migration(migrations.Migration):
    dependencies = [("people", "0002_person_look")]

    operations = [migrations.RunPython(sign, migrations.RunPython.noop)]
