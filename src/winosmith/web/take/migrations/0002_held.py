"""Sheets that were filled in faster than people read wait for a moderator."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the pace of a sheet, whether it is held, and who looked at it."""

    dependencies: ClassVar = [
        ("take", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations: ClassVar = [
        migrations.AddField("sitting", "pace", models.FloatField(null=True)),
        migrations.AddField("sitting", "held", models.BooleanField(default=False)),
        migrations.AddField(
            "sitting",
            "looked_by",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
    ]
