"""The index of what a judge holds leaves out the slots that nobody holds."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """Make the index anew."""

    dependencies: ClassVar = [("judge", "0001_initial")]

    operations: ClassVar = [
        migrations.RemoveIndex(model_name="slot", name="slot_of_judge"),
        migrations.AddIndex(
            model_name="slot",
            index=models.Index(
                condition=models.Q(("holder__isnull", False)),
                fields=["holder", "answered_at"],
                name="slot_of_judge",
            ),
        ),
    ]
