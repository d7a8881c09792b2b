"""A tie is neither right nor wrong: what was written down before follows the same rule."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations

from winosmith.answers import best_of

AT_ONCE = 1000


def settle(apps: Any, schema_editor: Any) -> None:
    """Mark the ties among the predictions, partial ones too, and forget their verdicts."""
    predictions = apps.get_model("predict", "Prediction").objects.using(
        schema_editor.connection.alias
    )
    last = 0
    while rows := list(
        predictions.filter(pk__gt=last, stand="done")
        .order_by("pk")
        .values_list("pk", "scores", "tie")[:AT_ONCE]
    ):
        last = rows[-1][0]
        for pk, scores, tie in rows:
            best = best_of(scores) if scores else ()
            if len(best) > 1 or tie:
                predictions.filter(pk=pk).update(
                    tie=True, right=None, choice=best[0] if best else 0
                )


class Migration(migrations.Migration):
    """No column changes."""

    dependencies: ClassVar = [("predict", "0001_initial")]
    operations: ClassVar = [migrations.RunPython(settle, migrations.RunPython.noop)]
