"""Files of problems that an admin sends: looked at, shown, and let in when that is confirmed.

A file is read by `winosmith.formats` and let in by the calls of `winosmith admin import` and
`gold`; what can't come in is named with its line and omitted.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext as _, gettext_lazy

from winosmith import Dataset, formats
from winosmith.errors import FormatError, InputError
from winosmith.problem import Problem
from winosmith.web._import import (
    NUL,
    As,
    count_known,
    holds_nul,
    import_problems,
    refused,
    with_free_ids,
)
from winosmith.web.jobs import IMPORT, Job, Progress, Reading
from winosmith.web.pages import row_fault
from winosmith.web.people.models import Person
from winosmith.web.problems.lookalikes import remember_published
from winosmith.web.run.uploads import PIECE, most, taken

LONGEST = 80
"""Characters of a file's name that are kept: the source of a published sentence has no more."""

TOLD = 100
"""Records that can't come in that are named; of more, how many."""

EXAMPLES = 5
"""Problems that are shown before they come in."""

AS = (
    ("judging", gettext_lazy("people judge them here")),
    ("valid", gettext_lazy("they are part of the set at once, because they were judged elsewhere")),
    ("gold", gettext_lazy("gold questions: judges get them, and they are never in the data")),
    ("published", gettext_lazy("only to compare: new sentences must not be similar to them")),
)
"""What becomes of the problems of a file."""

OWN = {
    "csv": gettext_lazy("a spreadsheet, saved as CSV UTF-8"),
    "questions": gettext_lazy("questions with choices: a table or JSON"),
    "winosmith": gettext_lazy("JSON Lines of winosmith"),
}
"""The formats of files that people make themselves, and what these files are."""

FORMATS = [
    ("", gettext_lazy("found by its content")),
    (gettext_lazy("Your own file"), list(OWN.items())),
    (
        gettext_lazy("A published data set"),
        [(one.name, one.title) for one in formats.FORMATS if one.name not in OWN],
    ),
]


class FileForm(forms.Form):
    """A form with a file, which a script sends in pieces beforehand where one request is too small.

    Where it did, `sent` is the mark under which the pieces lie, and no file comes with the form.

    Attributes:
        kind: of the job that comes of it.
        asks: the fields that the job keeps, next to the name of the file.
    """

    kind = ""
    asks: tuple[str, ...] = ()

    file = forms.FileField(label=gettext_lazy("File"), required=False)
    sent = forms.RegexField("^[0-9a-f]{32}$", required=False, widget=forms.HiddenInput)
    sent_name = forms.CharField(required=False, widget=forms.HiddenInput)
    sent_bytes = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def clean_file(self) -> Any:
        """Refuse what came in one request and should have come in several."""
        file = self.cleaned_data["file"]
        if file and file.size > PIECE:
            raise forms.ValidationError(
                _(
                    "Without JavaScript, a form can send at most 0.9 MB; the "
                    "command can import any file."
                )
            )
        return file

    def clean(self) -> dict[str, Any]:
        """Ask for a file, one way or the other; of two, the one that comes with the form is it."""
        typed: dict[str, Any] = super().clean()
        if typed.get("file"):
            typed["sent"] = ""  # it was picked after those pieces
        elif not self.errors and not typed["sent"]:
            self.add_error("file", forms.Field.default_error_messages["required"])
        return typed

    def proposed(self, person: Person, **beside: str) -> Job:
        """Keep the file; return what would come of it, a job to be saved.

        It may take seconds: it is called in no transaction, so that others can write meanwhile.

        Args:
            person: an admin.
            beside: what else is asked for, such as the study.

        Raises:
            InputError: it can't be read, or nothing can come of it.
        """
        typed = self.cleaned_data
        name = typed["sent_name"] if typed["sent"] else typed["file"].name
        asked = {"file": PurePath(str(name)).name[-LONGEST:] or "file", **beside}  # no path
        asked |= {name.rstrip("_"): typed[name] for name in self.asks}
        return taken(Job(actor=person, kind=self.kind, asked=asked), typed)


class DataForm(FileForm):
    """A form with a file of problems."""

    format = forms.ChoiceField(label=gettext_lazy("Format"), choices=FORMATS, required=False)
    new_ids = forms.BooleanField(
        label=gettext_lazy("Give them new ids"),
        help_text=gettext_lazy(
            "The ids in a file may reveal the answer, or may already be in use "
            "here. The same file gets the same new ids again."
        ),
        required=False,
        initial=True,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["file"].help_text = _(
            "A spreadsheet saved as CSV UTF-8, JSON Lines, or a published data set; at most %d MB."
        ) % (most() // 1_000_000)


class ImportForm(DataForm):
    """What is asked for with a file that comes in."""

    kind = IMPORT
    asks = ("as_", "format", "new_ids", "embargo", "source")
    as_ = forms.ChoiceField(
        label=gettext_lazy("What to do with them"),
        choices=AS,
        initial="judging",
        widget=forms.RadioSelect,
    )
    embargo = forms.BooleanField(
        label=gettext_lazy("Exclude them from everything public"),
        help_text=gettext_lazy("Under embargo, for tests; not for gold questions."),
        required=False,
    )
    source = forms.CharField(
        label=gettext_lazy("Name of the published data set"),
        help_text=gettext_lazy("Only for comparison: shown to people who write something "
"similar. If empty, the file’s name."),
        max_length=80,
        required=False,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Look:
    """What a file holds.

    Attributes:
        format: as which it was read.
        dataset: the problems that can come in.
        refused: (line, reason) of each record that can't, by lines.
        notes: what was done beyond what the file says.
    """

    format: str
    dataset: Dataset
    refused: list[tuple[int, str]]
    notes: tuple[str, ...]


READ, NAMED = 0.6, 0.75
"""Shares of the work of looking at a file: up to where its lines are read, and have their ids."""


def look_at(
    path: Path, asked: dict[str, Any], as_: As | None, reading: Reading | None = None
) -> Look:
    """Read a file as it is asked for.

    Args:
        path: of what was sent.
        asked: "file", its name with who sent it; "format", "" for the one that fits; "new_ids".
        as_: what the problems are to become; None if they do not come in.
        reading: told how far this is.

    Raises:
        InputError: it can't be read at all; with its name, and the line if there is one.
    """
    name, tell = asked["file"], reading or (lambda _share: None)
    try:
        if _is_parquet(path):
            raise InputError(f"{name}: " + _("Only the command can read Parquet"))
        contents = formats.scan(
            formats.Source(path, path.read_bytes()),  # as it is: what is packed is refused
            asked["format"] or None,
            on_progress=lambda share: tell(READ * share),
        )
    except FormatError as error:
        where = name if error.line is None else f"{name}:{error.line}"
        raise InputError(f"{where}: {_without_options(error.reason)}") from None
    found = [(n, e) for n, e in zip(contents.lines, contents.items, strict=True)]
    bad = [(entry.line, row_fault(entry.reason)) for entry in contents.bad]
    bad += [(line, _("a claim, not a problem")) for line, e in found if not isinstance(e, Problem)]
    problems = [(line, e) for line, e in found if isinstance(e, Problem)]
    bad += [(line, NUL) for line, e in problems if holds_nul(e)]
    problems = [(line, e) for line, e in problems if not holds_nul(e)]
    data = Dataset([problem for _line, problem in problems], PurePath(name).stem)
    if asked["new_ids"]:
        data = with_free_ids(data, settings.SITE.secret)
    tell(NAMED)
    lines = {problem.id: line for (line, _p), problem in zip(problems, data, strict=True)}
    while as_ and (unfit := list(refused(data, as_))):
        bad += [(lines[problem.id], str(error)) for problem, error in unfit]
        out = {problem.id for problem, _error in unfit}
        data = Dataset((problem for problem in data if problem.id not in out), data.name)
    return Look(contents.format.name, data, sorted(bad), contents.notes)


def _without_options(reason: str) -> str:
    """Return why a file can't be read, without commands and their options: the form has a list."""
    for advice in ("; convert it first", "; name it with `encoding="):
        if advice in reason:
            return f"{reason.partition(advice)[0]}; save it as CSV UTF-8"
    return reason.partition("; name one with")[0].partition("; as questions")[0]


def _is_parquet(path: Path) -> bool:
    """Return whether a file is packed, so that it may hold far more than its size says."""
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def look(job: Job, reading: Reading) -> None:
    """Read the file of an import, and write into the row what would come of it.

    Raises:
        InputError: it can't be read, or nothing of it can come in.
    """
    asked = job.asked
    found = look_at(there(job), asked, _as(asked), reading)
    if not len(found.dataset):
        raise InputError("\n".join([_("No problem can be imported."), *told(asked, found)]))
    job.total = len(found.dataset)
    known = 0 if asked["as"] == "published" else count_known(found.dataset)
    job.came = {
        "format": found.format,
        "new": job.total - known,
        "known": known,
        "twins": len({problem.twin_id for problem in found.dataset if problem.twin_id}),
        "notes": list(found.notes),
        "refused": len(found.refused),
        "told": told(asked, found),
        "examples": [
            {"sentence": one.sentence, "options": list(one.options), "answer": one.answer}
            for one in found.dataset[:EXAMPLES]
        ],
    }


def there(job: Job) -> Path:
    """Return the file of a job.

    Raises:
        InputError: it is gone.
    """
    path = job.file
    if not path.exists():
        raise InputError(_("The file is gone; send it again."))
    return path


def told(asked: dict[str, Any], found: Look) -> list[str]:
    """Return the first of what can't come in, as "file:line: reason"."""
    return [f"{asked['file']}:{line}: {reason}" for line, reason in found.refused[:TOLD]]


def _as(asked: dict[str, Any]) -> As | None:
    found: As | None = None if asked["as"] == "published" else asked["as"]
    return found


def let_in(job: Job, progress: Progress) -> dict[str, Any]:
    """Carry out an import; called again after an interrupt, it continues."""
    asked = job.asked
    as_ = _as(asked)
    found = look_at(there(job), asked, as_)
    left = {"refused": len(found.refused), "told": told(asked, found)}
    if as_ is None:
        source = asked["source"] or found.dataset.name
        added = remember_published(found.dataset, source, on_progress=progress)
        return {**left, "added": added, "known": len(found.dataset) - added}
    embargo = asked["embargo"] and as_ != "gold"
    made = import_problems(found.dataset, as_, embargo=embargo, on_progress=progress)
    return {**left, **asdict(made)}
