"""Names that look alike are taken: each account gets the look of its name, the oldest first."""

from typing import Any

from django.db import migrations, models

from winosmith.web.people.models import look


def fill(apps: Any, schema_editor: Any) -> None:
    """Give each account its look; of those that look alike the first one has it."""
    person = apps.get_model("people", "Person")
    taken = set()
    rows = person.objects.filter(anonymous=False, hired=False, erased=None).order_by("pk")
    for one in list(rows.only("pk", "name")):
        shape = look(one.name)
        if shape not in taken:
            taken.add(shape)
            person.objects.filter(pk=one.pk).update(look=shape)


class Migration(migrations.Migration):
    dependencies = [("people", "0001_initial")]

    operations = [
        migrations.AddField(
            "person",
            "look",
            models.CharField(max_length=240, unique=True, null=True, editable=False),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
