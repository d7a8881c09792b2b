"""What judges hold gets a reference of its own; gold is looked for as other problems are."""

from __future__ import annotations

import secrets
from typing import Any, ClassVar

from django.db import migrations, models

from winosmith.web.problems.lookalikes import compared, sketch

CHUNK = 500


def refer(apps: Any, _schema: Any) -> None:
    """Give a reference to what judges hold, and to their gold questions that have a page."""
    slots = apps.get_model("judge", "Slot").objects.filter(holder__isnull=False, ref=None)
    slots = slots.filter(models.Q(open=True) | models.Q(gold=True))
    while rows := list(slots.only("pk")[:CHUNK]):
        for row in rows:
            row.ref = secrets.token_hex(8)
        slots.model.objects.bulk_update(rows, ["ref"])


def remember(apps: Any, _schema: Any) -> None:
    """Let new sentences be compared with gold questions, which were left out when imported."""
    remembered = apps.get_model("problems", "Remembered")
    shingle = apps.get_model("problems", "Shingle")
    missing = apps.get_model("problems", "Problem").objects.filter(gold=True, remembered=None)
    while rows := list(missing.order_by("pk")[:CHUNK]):
        made = remembered.objects.bulk_create(remembered(problem=row) for row in rows)
        shingle.objects.bulk_create(
            shingle(value=number, remembered_id=entry.pk)
            for row, entry in zip(rows, made, strict=True)
            for number in sketch(compared(row.sentence, row.options))
        )


class Migration(migrations.Migration):
    """Fill what is new, for what is there already."""

    dependencies: ClassVar = [("judge", "0003_own_references")]

    operations: ClassVar = [
        migrations.RunPython(refer, migrations.RunPython.noop),
        migrations.RunPython(remember, migrations.RunPython.noop),
    ]
