"""What was done in the same browser is found by an index."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("market", "0002_places")]

    operations: ClassVar = [
        migrations.AddIndex(
            "participation", models.Index(fields=["browser"], name="participation_browser")
        ),
    ]
