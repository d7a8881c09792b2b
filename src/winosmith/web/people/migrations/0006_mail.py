"""An address of one's own accord, and whether news are mailed there."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("people", "0005_news_and_labels")]

    operations = [
        migrations.AddField(
            "person", "email", models.EmailField(blank=True, default="", editable=False)
        ),
        migrations.AddField(
            "person", "mail_news", models.BooleanField(default=False, editable=False)
        ),
        migrations.AddField(
            "person", "mailed", models.DateTimeField(null=True, blank=True, editable=False)
        ),
    ]
