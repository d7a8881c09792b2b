"""What admins did on these pages: the log of it, and how far it is where it takes long."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from winosmith.web.people.gates import new_key


class Deed(models.Model):
    """One thing that an admin did; rows are never deleted.

    Attributes:
        mark: its address.
        actor: who asked for it.
        decided: who had it carried out, dropped it, or stopped it; None where it needed nobody.
        kind: what was done.
        asked: what was asked for: by the form's names, never a secret.
        state: how far it is.
        done, total: of how many problems; 0 where none are counted.
        came: what came of it.
        error: why it failed, for admins.
    """

    class Kind(models.TextChoices):
        """What was done."""

        SETTINGS = "settings", _("settings")
        IMPORT = "import", _("import")
        TEST = "test", _("opening of a human test")
        TEST_CLOSE = "test-close", _("human test closed")
        TEST_PUBLISH = "test-publish", _("publishing of a human test")
        STUDY = "study", _("study made")
        STUDY_LINK = "study-link", _("new link of a study")
        STUDY_CLOSE = "study-close", _("study closed")
        STUDY_PLACES = "study-places", _("places of a study")
        STUDY_LIST = "study-list", _("list of people for a study")
        STUDY_PAID = "study-paid", _("market’s decisions on a study")
        BACKUP = "backup", _("backup")

    class State(models.TextChoices):
        """How far it is."""

        READING = "reading", _("is being read")
        SHOWN = "shown", _("to be confirmed")
        WAITING = "waiting", _("waiting to start")
        RUNNING = "running", _("runs")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        DROPPED = "dropped", _("dropped")
        STOPPED = "stopped", _("stopped")

    mark = models.CharField(max_length=32, unique=True, default=new_key)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="deeds")
    decided = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+"
    )
    kind = models.CharField(max_length=12, choices=Kind)
    asked = models.JSONField(default=dict)
    state = models.CharField(max_length=8, choices=State, default=State.DONE)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    came = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    at = models.DateTimeField(default=timezone.now, db_index=True)
    ended = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, {self.get_state_display()}, {self.at:%Y-%m-%d %H:%M}"

    @property
    def busy(self) -> bool:
        """Whether a thread reads it or carries it out, or it waits for one."""
        return self.state in BUSY

    @property
    def stoppable(self) -> bool:
        """Whether it can be stopped now; see `deeds.stop`."""
        return self.state in BEFORE or (self.state == self.State.RUNNING and self.kind == IMPORT)


(
    SETTINGS, IMPORT, TEST, TEST_CLOSE, TEST_PUBLISH, STUDY, STUDY_LINK, STUDY_CLOSE,
    STUDY_PLACES, STUDY_LIST, STUDY_PAID, BACKUP,
) = Deed.Kind.values  # fmt: skip

BEFORE = (Deed.State.READING, Deed.State.WAITING)
"""States in which nothing was changed yet, and a thread is to come."""

BUSY = (*BEFORE, Deed.State.RUNNING)
