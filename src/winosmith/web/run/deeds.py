"""Deeds of admins: noted in one transaction with what they change, or carried out by and by.

What takes long is noted first and done by a thread of one process, by the same calls as the
commands make. Such a call goes on after an interrupt: whoever looks at the deed, and every worker
once an hour, starts a thread again where one is needed and none is at work.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import OperationalError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from winosmith.errors import InputError, WinosmithError
from winosmith.outputs import write_aside
from winosmith.web._background import Background
from winosmith.web._lock import writing
from winosmith.web.people.models import Person
from winosmith.web.run.models import Deed

Progress = Callable[[int], object]
"""Called with the number of problems that are done."""

works: dict[str, Callable[[Deed, Progress], dict[str, Any]]] = {}
"""By the kind: each carries a deed out and returns what came of it; called again, it goes on."""

BUSY = (Deed.State.WAITING, Deed.State.RUNNING)

UPLOADS = "uploads"
"""In the site's folder: files that are to be confirmed, or carried out; no backup has them."""

DAY = timedelta(days=1)
"""For which a file waits to be confirmed."""

FAULT = gettext_noop("It failed by a fault of the program; the site’s log says more.")


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


@contextmanager
def kept_file(deed: Deed, data: bytes) -> Iterator[None]:
    """Keep what was sent with a deed, for the site's owner alone to read; not if the block fails.

    Raises:
        OutputError: it can't be written.
    """
    path = file_of(deed)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with write_aside(path, "wb") as file:
        file.write(data)
    try:
        path.chmod(0o600)
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def confirm(deed: Deed) -> None:
    """Let a deed that was shown be carried out.

    Raises:
        InputError: it was confirmed or dropped already.
    """
    rows = Deed.objects.filter(pk=deed.pk, state=Deed.State.SHOWN)
    with writing():
        if not rows.update(state=Deed.State.WAITING):
            raise InputError(_("This was confirmed or dropped already; open the page again."))


def drop(deed: Deed) -> None:
    """Give up a deed that waits to be confirmed; its file goes.

    Raises:
        InputError: it was confirmed or dropped already.
    """
    rows = Deed.objects.filter(pk=deed.pk, state=Deed.State.SHOWN)
    with writing():
        if not rows.update(state=Deed.State.DROPPED, ended=timezone.now()):
            raise InputError(_("This was confirmed or dropped already; open the page again."))
    file_of(deed).unlink(missing_ok=True)


def go_on() -> None:
    """Start a thread where a deed waits for one."""
    if Deed.objects.filter(state__in=BUSY).exists():
        THREAD.start_when_due()


def carry_out() -> None:
    """Carry out what waits, and what was interrupted, the oldest first."""
    while (deed := Deed.objects.filter(state__in=BUSY).order_by("pk").first()) is not None:
        _write(deed, state=Deed.State.RUNNING)
        try:
            came = works[deed.kind](deed, lambda done, deed=deed: _write(deed, done=done))  # type: ignore[misc]
        except OperationalError:
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


def _write(deed: Deed, **columns: Any) -> None:
    with writing():
        Deed.objects.filter(pk=deed.pk).update(**columns)


def forget_files(now: datetime, before: datetime) -> int:
    """Drop what nobody confirmed within a day, with its file; return how many deeds.

    A file that belongs to no deed, because its form was never noted, goes as well.
    """
    old = list(Deed.objects.filter(state=Deed.State.SHOWN, at__lt=now - DAY))
    for deed in old:
        with suppress(InputError):
            drop(deed)
    states = (Deed.State.SHOWN, *BUSY)
    open_ = set(Deed.objects.filter(state__in=states).values_list("mark", flat=True))
    for path in Path(settings.SITE.folder, UPLOADS).glob("*"):
        if path.name not in open_ and path.stat().st_mtime < (now - DAY).timestamp():
            path.unlink(missing_ok=True)
    return len(old)
