"""Files that admins upload, stored next to the database until a job has processed them.

A small file is sent in one request. A large file is sent in chunks, one per request, so that it can
be larger than a request may be.
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
from winosmith.outputs import make_write_error
from winosmith.web.jobs import BUSY_STATES, UPLOADS, Job, file_readers

DAY = timedelta(days=1)
"""Time after which an unconfirmed file is deleted."""

MAX_FILES = 5
"""Maximum total size of all waiting uploads, as a multiple of the maximum file size."""

ABANDONED_AFTER = timedelta(minutes=10)
"""Time after which an upload without a job, which was cancelled or interrupted, is deleted if its
space is needed."""

CHUNK_BYTES = 900_000
"""Maximum number of a file's bytes per request; a whole request is limited to a million bytes."""


def get_max_bytes() -> int:
    return int(settings.RULES.upload_mb) * 1_000_000


def store_chunk(upload_id: str, offset: int, data: bytes) -> None:
    """Store a chunk of an upload, readable only by the server's user; repeated calls are harmless.

    Args:
        upload_id: The `mark` of the future job, from `new_key`.
        offset: The offset of the chunk in bytes; 0 starts a new file.
        data: `CHUNK_BYTES` bytes, or the rest of the file.
    """
    path = Path(settings.SITE.folder, UPLOADS, upload_id)
    if Job.objects.filter(mark=upload_id).exists():
        raise InputError(_("This file has already been uploaded; open the page again."))
    if offset + len(data) > get_max_bytes():
        raise InputError(
            _("The file is %(size).1f MB; the limit in the browser is %(most)d MB.")
            % {"size": (offset + len(data)) / 1e6, "most": settings.RULES.upload_mb}
        )
    room = MAX_FILES * get_max_bytes() - offset - len(data)
    if _sum_other_sizes(path) > room:
        _delete_orphaned_files(timezone.now() - ABANDONED_AFTER)
    if _sum_other_sizes(path) > room:
        fault = _(
            "Earlier uploads use all the space; confirm, discard or stop some of them. Cancelled "
            "uploads free their space after ten minutes."
        )
        raise InputError(fault)
    if offset and (not path.exists() or path.stat().st_size < offset):
        raise InputError(_("Part of the file is missing; upload the file again."))
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | (0 if offset else os.O_TRUNC)
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            file.seek(offset)
            file.write(data)
    except OSError as error:
        raise make_write_error(error, path) from error


def _sum_other_sizes(excluded: Path) -> int:
    size = 0
    for path in excluded.parent.glob("*"):
        with suppress(FileNotFoundError):  # deleted in the meantime
            size += path.stat().st_size if path != excluded else 0
    return size


def store_file(job: Job, values: dict[str, Any]) -> Job:
    """Store a form's file, and read it if it is small; the worker reads a chunked file later.

    Args:
        job: A new job, saved by the caller; its kind has a function in `file_readers`.
        values: The form's `file`; or `sent`, the id of a chunked upload, and its size `sent_bytes`.
    """
    sent = values.get("sent")
    job.state = Job.State.READING if sent else Job.State.SHOWN
    job.mark = sent or job.mark
    path = job.file
    try:
        if not sent:
            store_chunk(job.mark, 0, values["file"].read())
        elif not path.exists() or path.stat().st_size != values["sent_bytes"]:
            raise InputError(_("The upload is incomplete; upload the file again."))
        with path.open("rb") as file:
            os.fsync(file.fileno())  # the file must be on disk before the job is saved
        if not sent:
            file_readers[job.kind](job, lambda _share: None)
    except BaseException:
        if not sent:
            path.unlink(missing_ok=True)
        raise
    return job


def delete_unconfirmed_jobs(now: datetime, cutoff: datetime) -> int:
    """Delete jobs that nobody confirmed within a day, and their files; return the number of jobs.

    Files without a job, because their form was never submitted, are deleted, too.
    """
    old = list(Job.objects.filter(state=Job.State.SHOWN, at__lt=now - DAY))
    for job in old:
        with suppress(InputError):
            job.discard()
    _delete_orphaned_files(now - DAY)
    return len(old)


def _delete_orphaned_files(cutoff: datetime) -> None:
    states = (Job.State.SHOWN, *BUSY_STATES)
    open_ = set(Job.objects.filter(state__in=states).values_list("mark", flat=True))
    for path in Path(settings.SITE.folder, UPLOADS).glob("*"):
        with suppress(FileNotFoundError):  # deleted in the meantime
            if path.name not in open_ and path.stat().st_mtime < cutoff.timestamp():
                path.unlink()
