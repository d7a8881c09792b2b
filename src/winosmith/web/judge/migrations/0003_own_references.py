"""Each slot has a reference of its own for who takes it; which gold comes next is drawn ahead."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the columns, and what keeps references apart."""

    dependencies: ClassVar = [
        ("judge", "0002_slot_of_judge"),
        ("problems", "0001_initial"),
    ]

    operations: ClassVar = [
        migrations.AddField("slot", "ref", models.CharField(max_length=16, null=True)),
        migrations.AddField(
            "judge",
            "next_gold",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="problems.problem",
            ),
        ),
        migrations.AddConstraint(
            "slot",
            models.UniqueConstraint(
                condition=models.Q(ref__isnull=False), fields=["ref"], name="slot_ref"
            ),
        ),
    ]
