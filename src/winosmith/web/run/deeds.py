"""Deeds of admins: noted in one transaction with what they change, or carried out by and by.

What takes long is noted first and done by a thread of one process, by the same calls as the
commands make. Such a call goes on after an interrupt: whoever looks at the deed, and every worker
once an hour, starts a thread again where one is needed and none is at work.

Files lie beside the database until they are carried out. One request holds a small one; a large
one comes in pieces, a request each, so that the bounds of requests need not be those of files.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import OperationalError
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_noop

from winosmith.errors import InputError, WinosmithError
from winosmith.outputs import write_error
from winosmith.web._background import Background
from winosmith.web._lock import writing
from winosmith.web.people.models import Person
from winosmith.web.run.models import BEFORE, BUSY, IMPORT, Deed

Progress = Callable[[int], object]
"""Called with the number of problems that are done."""

works: dict[str, Callable[[Deed, Progress], dict[str, Any]]] = {}
"""By the kind: each carries a deed out and returns what came of it; called again, it goes on."""

Reading = Callable[[float], object]
"""Called with the share of a file that is read, 0–1."""

looks: dict[str, Callable[[Deed, Reading], None]] = {}
"""By the kind: each reads the file of a deed, and writes into the row what would come of it."""

UPLOADS = "uploads"
"""In the site's folder: files that are to be confirmed, or carried out; no backup has them."""

DAY = timedelta(days=1)
"""For which a file waits to be confirmed."""

FAULT = gettext_noop("It failed by a fault of the program; the site’s log says more.")

AT_ONCE = 5
"""Files of the largest size that may lie there together, whoever sent them."""

IDLE = timedelta(minutes=10)
"""After which a file of no deed, to which no piece comes, goes where there is no room for others:
its sending was cancelled, or broke off."""

PIECE = 900_000
"""Bytes of a file that one request holds; it has no more than a million with all else."""


class Stopped(Exception):  # noqa: N818 - it tells of a wish, not of a fault
    """Somebody stopped a deed while a thread was at it."""


def note(actor: Person, kind: str, asked: dict[str, Any], **columns: Any) -> Deed:
    """Write down what an admin does, in the transaction that does it."""
    state = columns.pop("state", Deed.State.DONE)
    ended = timezone.now() if state == Deed.State.DONE else None
    return Deed.objects.create(
        actor=actor, kind=kind, asked=asked, state=state, ended=ended, **columns
    )


def file_of(deed: Deed) -> Path:
    """Return where the file of a deed is, or was."""
    return Path(settings.SITE.folder, UPLOADS, deed.mark)


def most() -> int:
    """Return how many bytes a file may have that comes through the browser."""
    return int(settings.RULES.upload_mb) * 1_000_000


def put(mark: str, at: int, data: bytes) -> None:
    """Keep a piece of a file, for the site's owner alone to read; sent again, it changes nothing.

    Args:
        mark: of the deed that is to come, from `new_key`.
        at: where the piece begins, in bytes; at 0 a new file begins.
        data: `PIECE` bytes, or what is left of the file.

    Raises:
        InputError: the deed is there already, a piece before this one is missing, or the file
            would be larger than it may, or all files together larger than they may.
        OutputError: it can't be written.
    """
    path = Path(settings.SITE.folder, UPLOADS, mark)
    if Deed.objects.filter(mark=mark).exists():
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
    """Return how many bytes lie in the folder of files beside one of them."""
    sizes = 0
    for path in but.parent.glob("*"):
        with suppress(FileNotFoundError):  # its deed has ended meanwhile
            sizes += path.stat().st_size if path != but else 0
    return sizes


def too_large(size: int) -> str:
    """Return why a file of so many bytes is refused."""
    return _("The file has %(size).1f MB; the limit in the browser is %(most)d MB.") % {
        "size": size / 1e6,
        "most": settings.RULES.upload_mb,
    }


def taken(deed: Deed, typed: dict[str, Any]) -> Deed:
    """Take the file of a form: a small one is looked at now, one that came in pieces by a thread.

    Args:
        deed: new, to be saved by the caller; its kind has a function in `looks`.
        typed: what the form holds: `file`; or `sent`, the mark of what came in pieces, and its
            size `sent_bytes`.

    Raises:
        InputError: it can't be read, or did not come whole.
        OutputError: it can't be written.
    """
    sent = typed.get("sent")
    if sent:
        deed.mark, deed.state = sent, Deed.State.READING
    else:
        deed.state = Deed.State.SHOWN
    path = file_of(deed)
    try:
        if not sent:
            put(deed.mark, 0, typed["file"].read())
        elif not path.exists() or path.stat().st_size != typed["sent_bytes"]:
            raise InputError(_("The file did not arrive completely; send it again."))
        with path.open("rb") as file:
            os.fsync(file.fileno())  # it is on the disk before the deed is
        if not sent:
            looks[deed.kind](deed, lambda _share: None)
    except BaseException:
        if not sent:
            path.unlink(missing_ok=True)
        raise
    return deed


def confirm(deed: Deed, person: Person) -> None:
    """Let a deed that was shown be carried out, as somebody decided.

    Raises:
        InputError: it was confirmed or dropped already.
    """
    rows = Deed.objects.filter(pk=deed.pk, state=Deed.State.SHOWN)
    with writing():
        if not rows.update(state=Deed.State.WAITING, decided=person):
            raise InputError(
                _("This has already been confirmed or discarded; open the page again.")
            )


def drop(deed: Deed, person: Person | None = None) -> None:
    """Give up a deed that waits to be confirmed, as somebody or the time decided; its file goes.

    Raises:
        InputError: it was confirmed or dropped already.
    """
    rows = Deed.objects.filter(pk=deed.pk, state=Deed.State.SHOWN)
    with writing():
        if not rows.update(state=Deed.State.DROPPED, decided=person, ended=timezone.now()):
            raise InputError(
                _("This has already been confirmed or discarded; open the page again.")
            )
    file_of(deed).unlink(missing_ok=True)


def stop(deed: Deed, person: Person) -> None:
    """Stop what is read, waits to begin, or comes in from a file; what came in stays.

    Raises:
        InputError: it can't be stopped, or ended already.
    """
    now = Q(state__in=BEFORE) | Q(state=Deed.State.RUNNING, kind=IMPORT)
    rows = Deed.objects.filter(now, pk=deed.pk)
    with writing():
        if not rows.update(state=Deed.State.STOPPED, decided=person, ended=timezone.now()):
            raise InputError(_("This can no longer be stopped."))
    file_of(deed).unlink(missing_ok=True)


def begun(deed: Deed) -> bool:
    """Tell whether a deed that is to be carried out was at it before an interrupt."""
    return bool(deed.state == Deed.State.RUNNING)


def go_on() -> None:
    """Start a thread where a deed waits for one."""
    if Deed.objects.filter(state__in=BUSY).exists():
        THREAD.start_when_due()


def carry_out() -> None:
    """Read and carry out what waits, and what was interrupted, the oldest first."""
    while (deed := Deed.objects.filter(state__in=BUSY).order_by("pk").first()) is not None:
        with suppress(Stopped):
            _go_on_with(deed)


def _go_on_with(deed: Deed) -> None:
    try:
        if deed.state == Deed.State.READING:
            looks[deed.kind](deed, _reading(deed))
            shown = {"total": deed.total, "came": deed.came}
            return _write(deed, state=Deed.State.SHOWN, **shown)
        _write(deed, state=Deed.State.RUNNING)
        came = works[deed.kind](deed, lambda done: _tell(deed, done))
    except (Stopped, OperationalError):
        raise  # the database is away, or taken: whoever looks next goes on
    except WinosmithError as error:
        _end(deed, state=Deed.State.FAILED, error=str(error))
    except Exception:
        logging.getLogger(__name__).exception("%s of %s failed", deed.kind, deed.at)
        _end(deed, state=Deed.State.FAILED, error=FAULT)
    else:
        _end(deed, state=Deed.State.DONE, came=came)


THREAD = Background("run", 0.0, carry_out)
"""Carries deeds out, one after the other; of all processes of the site, one at a time."""


def _end(deed: Deed, **columns: Any) -> None:
    _write(deed, ended=timezone.now(), **columns)
    with suppress(OSError):
        file_of(deed).unlink(missing_ok=True)


EVERY = 1.0
"""Seconds between two notes of how far a file is read."""


def _reading(deed: Deed) -> Reading:
    """Return what writes down how much of a file is read; it raises Stopped as `_write` does."""
    told = time.monotonic()

    def tell(share: float) -> None:
        nonlocal told
        if time.monotonic() >= told + EVERY:
            told = time.monotonic()
            with suppress(OperationalError):  # a note that can't be written now is left out
                _write(deed, came={"read": int(100 * share)})

    return tell


def _tell(deed: Deed, done: int) -> None:
    """Write down how far a deed is, even where it is to go no further.

    Raises:
        Stopped: somebody has stopped it.
    """
    row = Deed.objects.filter(pk=deed.pk)
    with writing():
        row.update(done=done)
        goes_on = row.filter(state__in=BUSY).exists()
    if not goes_on:
        raise Stopped


def _write(deed: Deed, **columns: Any) -> None:
    """Change the row of a deed that a thread is at.

    Raises:
        Stopped: somebody has stopped it.
    """
    with writing():
        if not Deed.objects.filter(pk=deed.pk, state__in=BUSY).update(**columns):
            raise Stopped


def forget_files(now: datetime, before: datetime) -> int:
    """Drop what nobody confirmed within a day, with its file; return how many deeds.

    A file that belongs to no deed, because its form was never noted, goes as well.
    """
    old = list(Deed.objects.filter(state=Deed.State.SHOWN, at__lt=now - DAY))
    for deed in old:
        with suppress(InputError):
            drop(deed)
    _forget_unnoted(now - DAY)
    return len(old)


def _forget_unnoted(before: datetime) -> None:
    """Delete files that belong to no deed and to which nothing came since a time."""
    states = (Deed.State.SHOWN, *BUSY)
    open_ = set(Deed.objects.filter(state__in=states).values_list("mark", flat=True))
    for path in Path(settings.SITE.folder, UPLOADS).glob("*"):
        with suppress(FileNotFoundError):  # its deed has ended meanwhile
            if path.name not in open_ and path.stat().st_mtime < before.timestamp():
                path.unlink()
