"""Moderators discard votes that wait."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models
from django.utils.translation import gettext_lazy as _


class Migration(migrations.Migration):
    """Name the new kind of change."""

    dependencies: ClassVar = [("moderate", "0001_initial")]

    operations: ClassVar = [
        migrations.AlterField(
            "appointment",
            "kind",
            models.CharField(
                choices=[
                    ("judge", _("made a judge")),
                    ("no-judge", _("no longer a judge")),
                    ("moderator", _("made a moderator")),
                    ("no-moderator", _("no longer a moderator")),
                    ("pause", _("held as a judge")),
                    ("resume", _("votes let count, judges again")),
                    ("discard", _("waiting votes discarded")),
                    ("exclude", _("votes taken out of the count")),
                    ("include", _("votes counted again")),
                ],
                max_length=12,
            ),
        ),
    ]
