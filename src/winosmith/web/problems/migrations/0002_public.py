"""Whether everyone may see a problem becomes a column, which the index of public ones follows."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """The database works the column out for the problems that it has."""

    dependencies: ClassVar = [("problems", "0001_initial")]
    operations: ClassVar = [
        migrations.RemoveIndex("problem", "problem_public"),
        migrations.AddField(
            "problem",
            "public",
            models.GeneratedField(
                expression=models.Q(state="valid", embargo=False, gold=False),
                output_field=models.BooleanField(),
                db_persist=True,
            ),
        ),
        migrations.AddIndex(
            "problem",
            models.Index(fields=["id"], condition=models.Q(public=True), name="problem_public"),
        ),
    ]
