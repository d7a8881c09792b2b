"""Files are read by and by, and stopped; tests are published; it is kept who decided on what."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """New words, and an empty column: no row changes."""

    dependencies: ClassVar = [("run", "0001_initial")]
    operations: ClassVar = [
        migrations.AddField(
            "deed",
            "decided",
            models.ForeignKey(
                settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+"
            ),
        ),
        migrations.AlterField(
            "deed",
            "kind",
            models.CharField(
                choices=[
                    ("settings", "settings"),
                    ("import", "import"),
                    ("test", "opening of a human test"),
                    ("test-close", "human test closed"),
                    ("test-publish", "publishing of a human test"),
                    ("study", "study made"),
                    ("study-link", "new link of a study"),
                    ("study-close", "study closed"),
                    ("study-places", "places of a study"),
                    ("study-list", "list of people for a study"),
                    ("study-paid", "word of the market on a study"),
                    ("backup", "backup"),
                ],
                max_length=12,
            ),
        ),
        migrations.AlterField(
            "deed",
            "state",
            models.CharField(
                choices=[
                    ("reading", "is being read"),
                    ("shown", "to be confirmed"),
                    ("waiting", "waits to begin"),
                    ("running", "runs"),
                    ("done", "done"),
                    ("failed", "failed"),
                    ("dropped", "dropped"),
                    ("stopped", "stopped"),
                ],
                default="done",
                max_length=8,
            ),
        ),
    ]
