"""`winosmith admin people`: how many there are, by role."""

from __future__ import annotations

import click

from winosmith.cli._admin_common import database_option, existing_site, site_argument
from winosmith.cli._common import json_option, print_json

__all__ = ["command"]


@click.command()
@site_argument
@database_option
@json_option
def command(folder: str, database: str | None, as_json: bool) -> None:
    """Count the people of DIR by role; nobody is named. Who has several roles counts in each."""
    existing_site(folder, database)
    from django.db.models import Count, Q

    from winosmith.web.people.models import Person

    account = Q(anonymous=False, erased=None)
    counts = Person.objects.aggregate(
        accounts=Count("pk", filter=account),
        judges=Count("pk", filter=account & Q(is_judge=True)),
        moderators=Count("pk", filter=account & Q(is_moderator=True)),
        admins=Count("pk", filter=account & Q(is_superuser=True)),
        paused=Count("pk", filter=account & Q(is_active=False)),
        anonymous=Count("pk", filter=Q(anonymous=True)),
        erased=Count("pk", filter=Q(erased__isnull=False)),
    )
    if as_json:
        print_json(counts)
        return
    for name, count in counts.items():
        click.echo(f"{name:10} {count:>7,}")
