"""Files of problems that an admin uploads: storage, preview, and import after confirmation.

Files are stored next to the database until a job has processed them. A small file is sent in one
request. A large file is sent in chunks, one per request, so that it can be larger than a request
may be. `winosmith.formats` reads the files, and the functions of `winosmith admin import` import
them. Records that can't be imported are skipped and listed with their line numbers.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path, PurePath
from typing import Any

from django import forms
from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from winosmith import Dataset, formats
from winosmith.errors import AdvisedText, FormatError, InputError
from winosmith.outputs import make_write_error
from winosmith.problem import Problem
from winosmith.web import importing
from winosmith.web.jobs import (
    BUSY_STATES,
    IMPORT,
    UPLOADS,
    Job,
    Progress,
    Reading,
    file_readers,
)
from winosmith.web.people.models import Person
from winosmith.web.problems.lookalikes import index_published_dataset

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


MAX_NAME_LENGTH = 80
"""Maximum length of a stored file name, the same as for the source of a published sentence."""

MAX_ROWS = 100
"""Maximum number of listed records that can't be imported."""

MAX_EXAMPLES = 5
"""Number of example problems in the preview."""

PURPOSES = (
    ("judging", gettext_lazy("have people judge them here")),
    ("valid", gettext_lazy("add them to the data immediately; they were judged elsewhere")),
    ("gold", gettext_lazy("use them as gold questions, which are never in the data")),
    ("published", gettext_lazy("only compare new sentences with them")),
)

OWN_FORMATS = {
    "csv": gettext_lazy("a spreadsheet, saved as CSV UTF-8"),
    "questions": gettext_lazy("questions with choices: a table or JSON"),
    "winosmith": gettext_lazy("winosmith’s JSON Lines"),
}
"""Formats of files that people create themselves, and their descriptions."""

FORMATS = [
    ("", gettext_lazy("detected from the content")),
    (gettext_lazy("Your own file"), list(OWN_FORMATS.items())),
    (
        gettext_lazy("A published data set"),
        [(one.name, one.title) for one in formats.FORMATS if one.name not in OWN_FORMATS],
    ),
]


class FileForm(forms.Form):
    """A form with a file; a file too large for one request is uploaded in chunks by a script.

    In that case, `sent` is the id of the uploaded chunks, and the form contains no file.

    Attributes:
        kind: The kind of the resulting job.
        stored_fields: The fields that the job stores, in addition to the file's name.
        file_help: The help text of the file field.
    """

    kind = ""
    stored_fields: tuple[str, ...] = ()
    file_help: Any = ""

    file = forms.FileField(label=gettext_lazy("File"), required=False)
    sent = forms.RegexField("^[0-9a-f]{32}$", required=False, widget=forms.HiddenInput)
    sent_name = forms.CharField(required=False, widget=forms.HiddenInput)
    sent_bytes = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["file"].help_text = self.file_help

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file and file.size > CHUNK_BYTES:
            fault = _(
                "Without JavaScript, you can upload at most 0.9 MB; the command line can import "
                "larger files."
            )
            raise forms.ValidationError(fault)
        return file

    def clean(self) -> dict[str, Any]:
        typed: dict[str, Any] = super().clean()
        if typed.get("file"):
            typed["sent"] = ""  # the file was selected after the upload
        elif "file" not in self.errors and not typed.get("sent"):
            self.add_error("file", _("Choose a file."))
        return typed

    def propose_job(self, person: Person, **values: str) -> Job:
        """Store the file, and return an unsaved job with a preview.

        This may take seconds, so it must be called outside of a transaction.
        """
        typed = self.cleaned_data
        name = typed["sent_name"] if typed["sent"] else typed["file"].name
        asked = {"file": PurePath(str(name)).name[-MAX_NAME_LENGTH:] or "file", **values}  # no path
        asked |= {name.rstrip("_"): typed[name] for name in self.stored_fields}
        return store_file(Job(actor=person, kind=self.kind, asked=asked), typed)


NO_COLUMN = "-"
"""The text to enter instead of a column's name if no column marks twins."""


class DataForm(FileForm):
    format = forms.ChoiceField(label=gettext_lazy("Format"), choices=FORMATS, required=False)
    pair_by = forms.CharField(
        label=gettext_lazy("Column that marks twins"),
        help_text=gettext_lazy(
            "Both halves of a twin have the same value in it. Needed only if an error asks for the "
            "column; enter a hyphen (-) if no column marks twins."
        ),
        max_length=80,
        required=False,
    )
    new_ids = forms.BooleanField(
        label=gettext_lazy("Assign new ids"),
        help_text=gettext_lazy(
            "The ids in a file may reveal the answers, or may already be in use "
            "here. A file that is imported again gets the same new ids."
        ),
        required=False,
        initial=True,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["file"].help_text = _(
            "A spreadsheet saved as CSV UTF-8, JSON Lines, or a published data set; at most %d MB."
        ) % (get_max_bytes() // 1_000_000)


class ImportForm(DataForm):
    kind = IMPORT
    stored_fields = ("as_", "format", "pair_by", "new_ids", "embargo", "source")
    as_ = forms.ChoiceField(
        label=gettext_lazy("Purpose of the problems"),
        choices=PURPOSES,
        initial="judging",
        widget=forms.RadioSelect,
    )
    embargo = forms.BooleanField(
        label=gettext_lazy("Hide them from the public"),
        help_text=gettext_lazy(
            "Puts the problems under embargo, for tests. Not used for gold questions; mark "
            "these in an embargo column of the file."
        ),
        required=False,
    )
    source = forms.CharField(
        label=gettext_lazy("Name of the published data set"),
        help_text=gettext_lazy("Only for problems that new sentences are compared with: people "
"who write something similar see this name. By default, it is the file’s name."),
        max_length=80,
        required=False,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileContent:
    """The content of an uploaded problem file.

    Attributes:
        dataset: The problems that can be imported.
        refused: (line, reason) for each record that can't be imported, sorted by line.
        notes: Sentences on the assumptions and corrections that were made while reading.
    """

    format: str
    dataset: Dataset
    refused: list[tuple[int, str]]
    notes: tuple[str, ...]


READ, IDENTIFIED = 0.6, 0.75
"""Progress of reading a file (0–1) once its lines are read, and once ids are assigned."""


def read_file(
    path: Path,
    options: dict[str, Any],
    purpose: importing.Purpose | None,
    reading: Reading | None = None,
) -> FileContent:
    """Read an uploaded file according to the form's options: file, format, pair_by and new_ids.

    If the format is "", it is detected. Without a purpose, the problems are only read. `reading` is
    called with the progress, 0–1.
    """
    name, report = options["file"], reading or (lambda _share: None)
    pair_by = options["pair_by"]
    try:
        source = formats.Source(path, path.read_bytes())  # compressed files are rejected
        contents = formats.scan(
            source,
            options["format"] or None,
            pair_by={"": None, NO_COLUMN: ""}.get(pair_by, pair_by),
            on_progress=lambda share: report(READ * share),
        )
    except FormatError as error:
        location = name if error.line is None else f"{name}:{error.line}"
        raise InputError(f"{location}: {error.fact}{_get_advice(error.parameter)}") from None
    found = list(zip(contents.line_numbers, contents.items, strict=True))
    bad = [(e.line, _get_fact(e.reason or "")) for e in contents.bad]
    bad += [(line, "a claim, not a problem") for line, e in found if not isinstance(e, Problem)]
    problems = [(line, e) for line, e in found if isinstance(e, Problem)]
    bad += [(line, importing.NUL) for line, e in problems if importing.contains_nul(e)]
    problems = [(line, e) for line, e in problems if not importing.contains_nul(e)]
    data = Dataset([e for _line, e in problems], PurePath(name).stem, contents.roles)
    notes = tuple(map(_get_fact, contents.notes))
    if data.roles and data.roles.question:
        advice = _("If this is incorrect, name the columns sentence, option1, option2 and answer.")
        notes = (*formats.describe_columns({name: data}, advise=False), advice, *notes)
    if options["new_ids"]:
        data = importing.assign_free_ids(data, settings.SITE.secret)
    report(IDENTIFIED)
    origins = {new.id: origin for origin, new in zip(problems, data, strict=True)}
    while purpose and (unfit := list(importing.find_unimportable(data, purpose))):
        for problem, fault in unfit:
            line, original = origins[problem.id]  # the admin knows the file's id, not the new one
            bad.append((line, fault.reason.replace(repr(problem.id), repr(original.id))))
        out = {problem.id for problem, _error in unfit}
        data = Dataset((problem for problem in data if problem.id not in out), data.name)
    return FileContent(contents.format.name, data, sorted(bad), notes)


def _get_fact(message: str) -> str:
    """Return a message without advice on parameters that the form doesn't have."""
    return message.fact if isinstance(message, AdvisedText) else message


def _get_advice(parameter: str) -> str:
    if parameter == "pair_by":
        return _(
            ". If it marks twins, enter its name under “Column that marks twins”; if not, enter a "
            "hyphen there"
        )
    if parameter == "encoding":
        return _("; save it as CSV UTF-8")
    if parameter:
        return _("; a table needs the columns sentence, option1, option2 and answer")
    return ""


def preview_import(job: Job, reading: Reading) -> None:
    asked = job.asked
    found = read_file(job_file(job), asked, _parse_purpose(asked), reading)
    if not len(found.dataset):
        raise InputError("\n".join([_("No problem can be imported."), *get_faults(asked, found)]))
    job.total = len(found.dataset)
    known = 0 if asked["as"] == "published" else importing.count_existing(found.dataset)
    job.came = {
        "format": found.format,
        "new": job.total - known,
        "known": known,
        "twins": len({problem.twin_id for problem in found.dataset if problem.twin_id}),
        "notes": list(found.notes),
        "refused": len(found.refused),
        "faults": get_faults(asked, found),
        "examples": [
            {"sentence": one.sentence, "options": list(one.options), "answer": one.answer}
            for one in found.dataset[:MAX_EXAMPLES]
        ],
    }


def job_file(job: Job) -> Path:
    path = job.file
    if not path.exists():
        raise InputError(_("The file no longer exists; upload it again."))
    return path


def get_faults(options: dict[str, Any], content: FileContent) -> list[str]:
    """List the first records that can't be imported, as "file:line: reason"."""
    return [f"{options['file']}:{line}: {reason}" for line, reason in content.refused[:MAX_ROWS]]


def _parse_purpose(options: dict[str, Any]) -> importing.Purpose | None:
    found: importing.Purpose | None = None if options["as"] == "published" else options["as"]
    return found


def run_import(job: Job, progress: Progress) -> dict[str, Any]:
    asked = job.asked
    as_ = _parse_purpose(asked)
    found = read_file(job_file(job), asked, as_)
    left = {"refused": len(found.refused), "faults": get_faults(asked, found)}
    if as_ is None:
        source = asked["source"] or found.dataset.name
        added = index_published_dataset(found.dataset, source, on_progress=progress)
        return {**left, "added": added, "known": len(found.dataset) - added}
    embargo = asked["embargo"] and as_ != "gold"
    made = importing.import_problems(found.dataset, as_, embargo=embargo, on_progress=progress)
    return {**left, **asdict(made)}
