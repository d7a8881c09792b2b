"""When a contested question was settled, so that who contested it hears of it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judge", "0007_trust_indexes")]

    operations = [
        migrations.AddField("contest", "settled_at", models.DateTimeField(null=True)),
    ]
