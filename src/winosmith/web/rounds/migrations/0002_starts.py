"""Nobody starts a round anew by itself, so nobody counts the starts."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("rounds", "0001_initial")]

    operations = [migrations.RemoveField("round", "starts")]
