"""Judges are held with a cause, begin with a training, and votes know their origin for a while."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations, models
from django.utils.translation import gettext_lazy as _

CAUSES = [
    ("pace", _("answers faster than sentences are read")),
    ("gold", _("questions with a known answer went wrong")),
    ("address", _("several accounts of one address on the same problem")),
    ("training", _("the training was not passed")),
    ("moderator", _("a moderator decided so")),
]


def carry_over(apps: Any, schema_editor: Any) -> None:
    """Ask no training of who has judged already; let undecided votes of the paused wait."""
    judge, slot = (apps.get_model("judge", name) for name in ("Judge", "Slot"))
    given = slot.objects.filter(answered_at__isnull=False, gold=False, open=False)
    first = given.filter(holder=models.OuterRef("pk")).order_by("answered_at")
    judge.objects.update(qualified=models.Subquery(first.values("answered_at")[:1]))
    held = judge.objects.filter(held__isnull=False)
    held.update(cause="moderator")
    undecided = given.filter(holder__in=held.values("pk"), problem__state="judging", excluded=False)
    undecided.update(provisional=True)


class Migration(migrations.Migration):
    """Rename what is one thing now, add what is new, and carry over who judged before."""

    dependencies: ClassVar = [("judge", "0005_gold_by_chance_alone")]

    operations: ClassVar = [
        migrations.RenameField("judge", "gold_since", "since"),
        migrations.RenameField("judge", "paused", "held"),
        migrations.AddField("judge", "qualified", models.DateTimeField(null=True)),
        migrations.AddField(
            "judge",
            "cause",
            models.CharField(blank=True, choices=CAUSES, default="", max_length=10),
        ),
        migrations.AddField("judge", "measured", models.JSONField(default=dict)),
        migrations.AddField(
            "judge", "together", models.CharField(blank=True, default="", max_length=16)
        ),
        migrations.AddField("judge", "cleared", models.BooleanField(default=False)),
        migrations.AddField(
            "slot", "origin", models.CharField(blank=True, default="", max_length=64)
        ),
        migrations.RunPython(carry_over, migrations.RunPython.noop),
    ]
