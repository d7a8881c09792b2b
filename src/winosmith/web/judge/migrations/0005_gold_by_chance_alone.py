"""No number tells any more how many problems come before the next gold question."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    """Drop the column."""

    dependencies: ClassVar = [("judge", "0004_references_of_what_is_held")]

    operations: ClassVar = [migrations.RemoveField("judge", "until_gold")]
