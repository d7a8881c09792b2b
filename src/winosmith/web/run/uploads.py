"""Files that admins send: kept next to the database until a job has carried them out.

One request holds a small one; a large one comes in pieces, a request each, so that the bounds of
requests need not be those of files.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.outputs import write_error
from winosmith.web.jobs import BUSY, UPLOADS, Job, looks

DAY = timedelta(days=1)
"""For which a file waits to be confirmed."""

AT_ONCE = 5
"""Total size of all uploads that wait, in files of the largest size."""

IDLE = timedelta(minutes=10)
"""After which a file of no job, to which no piece comes, goes if there is no room for others:
its sending was cancelled, or broke off."""

PIECE = 900_000
"""Bytes of a file that one request holds; it has no more than a million with all else."""


def most() -> int:
    """Return how many bytes a file may have that comes through the browser."""
    return int(settings.RULES.upload_mb) * 1_000_000


def put(mark: str, at: int, data: bytes) -> None:
    """Keep a piece of a file, for the site's owner alone to read; sent again, it changes nothing.

    Args:
        mark: of the job that is to come, from `new_key`.
        at: where the piece begins, in bytes; at 0 a new file begins.
        data: `PIECE` bytes, or what is left of the file.

    Raises:
        InputError: the job is there already, a piece before this one is missing, or the file
            would be larger than it may, or all files together larger than they may.
        OutputError: it can't be written.
    """
    path = Path(settings.SITE.folder, UPLOADS, mark)
    if Job.objects.filter(mark=mark).exists():
        raise InputError(_("This file has already been sent; open the page again."))
    if at + len(data) > most():
        raise InputError(too_large(at + len(data)))
    room = AT_ONCE * most() - at - len(data)
    if _lies(path) > room:
        _forget_unnoted(timezone.now() - IDLE)
    if _lies(path) > room:
        raise InputError(
            _(
                "Earlier files take all the space; confirm, discard or stop some "
                "of them. Cancelled files free their space after ten minutes."
            )
        )
    if at and (not path.exists() or path.stat().st_size < at):
        raise InputError(_("A part of the file is missing; send it again."))
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | (0 if at else os.O_TRUNC)
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            file.seek(at)
            file.write(data)
    except OSError as error:
        raise write_error(error, path) from error


def _lies(but: Path) -> int:
    """Return how many bytes lie in the folder of files next to one of them."""
    sizes = 0
    for path in but.parent.glob("*"):
        with suppress(FileNotFoundError):  # its job has ended in the meantime
            sizes += path.stat().st_size if path != but else 0
    return sizes


def too_large(size: int) -> str:
    """Return why a file of so many bytes is refused."""
    return _("The file has %(size).1f MB; the limit in the browser is %(most)d MB.") % {
        "size": size / 1e6,
        "most": settings.RULES.upload_mb,
    }


def taken(job: Job, typed: dict[str, Any]) -> Job:
    """Take the file of a form: a small one is read now, one that came in pieces by the worker.

    Args:
        job: new, to be saved by the caller; its kind has a function in `looks`.
        typed: what the form holds: `file`; or `sent`, the mark of what came in pieces, and its
            size `sent_bytes`.

    Raises:
        InputError: it can't be read, or did not come whole.
        OutputError: it can't be written.
    """
    sent = typed.get("sent")
    if sent:
        job.mark, job.state = sent, Job.State.READING
    else:
        job.state = Job.State.SHOWN
    path = job.file
    try:
        if not sent:
            put(job.mark, 0, typed["file"].read())
        elif not path.exists() or path.stat().st_size != typed["sent_bytes"]:
            raise InputError(_("The file did not arrive completely; send it again."))
        with path.open("rb") as file:
            os.fsync(file.fileno())  # it is on the disk before the job is
        if not sent:
            looks[job.kind](job, lambda _share: None)
    except BaseException:
        if not sent:
            path.unlink(missing_ok=True)
        raise
    return job


def forget_files(now: datetime, before: datetime) -> int:
    """Drop what nobody confirmed within a day, with its file; return how many jobs.

    A file that belongs to no job, because its form was never noted, goes as well.
    """
    old = list(Job.objects.filter(state=Job.State.SHOWN, at__lt=now - DAY))
    for job in old:
        with suppress(InputError):
            job.drop()
    _forget_unnoted(now - DAY)
    return len(old)


def _forget_unnoted(before: datetime) -> None:
    """Delete files that belong to no job and to which nothing came since a time."""
    states = (Job.State.SHOWN, *BUSY)
    open_ = set(Job.objects.filter(state__in=states).values_list("mark", flat=True))
    for path in Path(settings.SITE.folder, UPLOADS).glob("*"):
        with suppress(FileNotFoundError):  # its job has ended in the meantime
            if path.name not in open_ and path.stat().st_mtime < before.timestamp():
                path.unlink()
