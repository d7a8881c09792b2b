"""Votes that wait, and votes whose origin is still known, are found by indexes of their own."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """Make the indexes: apart from the rows, which PostgreSQL asks for."""

    dependencies: ClassVar = [("judge", "0006_trust")]

    operations: ClassVar = [
        migrations.AddIndex(
            "slot",
            models.Index(
                fields=["answered_at"], condition=~models.Q(origin=""), name="slot_with_origin"
            ),
        ),
        migrations.AddIndex(
            "slot",
            models.Index(
                fields=["holder"],
                condition=models.Q(provisional=True, excluded=False),
                name="slot_provisional",
            ),
        ),
    ]
