"""When somebody looked at their news last; for whom an invitation is."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("people", "0004_session_digests")]

    operations = [
        migrations.AddField(
            "person", "news_seen", models.DateTimeField(null=True, blank=True, editable=False)
        ),
        migrations.AddField(
            "invitation", "label", models.CharField(max_length=100, blank=True, default="")
        ),
    ]
