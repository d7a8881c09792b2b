"""Backups that an admin asks for in the browser: made on the server, and left there.

A backup holds the site's key: who has it has the site. So no page sends one, and the newest few
are kept in the site's folder, for anyone who runs the server to carry away.
"""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._backup import backup
from winosmith.web._site import BACKUPS
from winosmith.web.jobs import BACKUP, Job, Progress, note
from winosmith.web.people.models import Person

KEPT = 7
"""The newest ones that are kept."""

NAME = re.compile(r"site-\d{8}-\d{6}\.tar\.gz")


def folder() -> Path:
    """Return where they lie."""
    return Path(settings.SITE.folder, BACKUPS)


def kept() -> list[dict[str, Any]]:
    """Return the backups that were made in the browser, the newest first.

    Of each the `name` of the file, its `size` in bytes, and when it was `made`.
    """
    paths = [path for path in folder().glob("*.tar.gz") if NAME.fullmatch(path.name)]
    return [
        {
            "name": path.name,
            "size": path.stat().st_size,
            "made": datetime.fromtimestamp(path.stat().st_mtime, UTC),
        }
        for path in sorted(paths, reverse=True)
    ]


def ask(person: Person) -> Job:
    """Note that a backup is to be made, in the caller's transaction.

    An empty file says that it is to be made in this folder: a backup holds the row of the very
    job that made it, as one that runs, but none of the files that wait next to the database.
    """
    job = note(person, BACKUP, {}, state=Job.State.WAITING)
    job.file.parent.mkdir(mode=0o700, exist_ok=True)
    job.file.touch(mode=0o600)
    return job


def make(job: Job, progress: Progress) -> dict[str, Any]:
    """Make the backup that a job asks for, and let go of the oldest beyond `KEPT`.

    Raises:
        InputError: it was asked for in another folder, of which this one is a backup.
    """
    if not job.file.exists():
        raise InputError(
            _(
                "It was started on another site, from whose backup this site was "
                "restored; make a new one."
            )
        )
    path = folder() / f"site-{job.at:%Y%m%d-%H%M%S}.tar.gz"
    folder().mkdir(mode=0o700, exist_ok=True)
    for left in folder().glob(".site-*"):  # of one that was interrupted
        shutil.rmtree(left, ignore_errors=True)
    if not path.exists():
        backup(settings.SITE, path)
    for old in kept()[KEPT:]:
        (folder() / old["name"]).unlink(missing_ok=True)
    return {"file": path.name, "bytes": path.stat().st_size}
