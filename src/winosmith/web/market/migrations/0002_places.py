"""Studies know how many people their market sends."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("market", "0001_initial")]

    operations: ClassVar = [
        migrations.AddField("study", "places", models.PositiveIntegerField(null=True)),
    ]
