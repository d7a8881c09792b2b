"""Whether everyone may see a problem becomes a column, and verdicts may wait for the other half."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """None of the problems that are there waits: what was public stays so."""

    dependencies: ClassVar = [("problems", "0001_initial")]
    operations: ClassVar = [
        migrations.RemoveIndex("problem", "problem_public"),
        migrations.AddField("problem", "waits", models.BooleanField(default=False)),
        migrations.AddField(
            "problem",
            "public",
            models.GeneratedField(
                expression=models.Q(state="valid", embargo=False, gold=False, waits=False),
                output_field=models.BooleanField(),
                db_persist=True,
            ),
        ),
        migrations.AddIndex(
            "problem",
            models.Index(fields=["id"], condition=models.Q(public=True), name="problem_public"),
        ),
        migrations.AddIndex(
            "problem",
            models.Index(
                fields=["created", "id"], condition=models.Q(waits=True), name="problem_waits"
            ),
        ),
    ]
