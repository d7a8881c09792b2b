"""A moderator chooses the twin that the first page shows."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """None is chosen yet: judges' votes choose."""

    dependencies: ClassVar = [("problems", "0002_public")]
    operations: ClassVar = [
        migrations.AddField("twin", "chosen", models.DateTimeField(blank=True, null=True)),
        migrations.AddIndex(
            "twin",
            models.Index(
                fields=["-chosen"], condition=models.Q(chosen__isnull=False), name="twin_chosen"
            ),
        ),
    ]
