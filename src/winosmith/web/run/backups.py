"""Backups that an admin starts in the browser; they are made on the server and stay there.

A backup contains the site's key, which gives full access to the site. Therefore, no page sends a
backup. The newest backups are kept in the site's folder, for the people who run the server.
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
from winosmith.web.jobs import BACKUP, Job, Progress, create_job
from winosmith.web.people.models import Person

MAX_BACKUPS = 7
"""Number of backups that are kept; older ones are deleted."""

NAME = re.compile(r"site-\d{8}-\d{6}\.tar\.gz")


def get_backup_folder() -> Path:
    return Path(settings.SITE.folder, BACKUPS)


def list_backups() -> list[dict[str, Any]]:
    paths = [path for path in get_backup_folder().glob("*.tar.gz") if NAME.fullmatch(path.name)]
    return [
        {
            "name": path.name,
            "size": path.stat().st_size,
            "made": datetime.fromtimestamp(path.stat().st_mtime, UTC),
        }
        for path in sorted(paths, reverse=True)
    ]


def request_backup(person: Person) -> Job:
    """Request a backup, in the caller's transaction.

    An empty file records that the job was started in this folder. A backup contains the row of its
    own job, in the state "running", but not this file, so a restored site does not run it again.
    """
    job = create_job(person, BACKUP, {}, state=Job.State.WAITING)
    job.file.parent.mkdir(mode=0o700, exist_ok=True)
    job.file.touch(mode=0o600)
    return job


def make_backup(job: Job, progress: Progress) -> dict[str, Any]:
    if not job.file.exists():
        fault = _(
            "This backup was requested before the site itself was restored from a backup; request "
            "a new one."
        )
        raise InputError(fault)
    path = get_backup_folder() / f"site-{job.at:%Y%m%d-%H%M%S}.tar.gz"
    get_backup_folder().mkdir(mode=0o700, exist_ok=True)
    for left in get_backup_folder().glob(".site-*"):  # of an interrupted backup
        shutil.rmtree(left, ignore_errors=True)
    if not path.exists():
        backup(settings.SITE, path)
    for old in list_backups()[MAX_BACKUPS:]:
        (get_backup_folder() / old["name"]).unlink(missing_ok=True)
    return {"file": path.name, "bytes": path.stat().st_size}
