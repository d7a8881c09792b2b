"""`verify`: read a release again, and list what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winosmith.errors import InputError
from winosmith.parallel import Step, silent
from winosmith.release._about import about_of
from winosmith.release._checks import (
    CHECKS,
    Evidence,
    Fault,
    check_checksums,
    checksums_of,
    read_parts,
    read_record,
)
from winosmith.release._content import Content
from winosmith.release._gather import read_secrets


@dataclass(frozen=True, eq=False)
class Verified:
    """The faults of a release.

    Attributes:
        folder: the release.
        faults: what is wrong with it.
        content: its problems; None if they can't be read.
        private: whether it was compared with what must not be published.
    """

    folder: Path
    faults: tuple[Fault, ...]
    content: Content | None
    private: bool

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "folder": str(self.folder),
            "sound": not self.faults,
            "faults": [fault.record() for fault in self.faults],
            "problems": len(self.content.dataset) if self.content else None,
            **(self.content.copies.record() if self.content else {}),
            "private": self.private,
        }


def verify(
    folder: str | Path, *, private: str | Path | None = None, step: Step | None = None
) -> Verified:
    """Read a release again, and find what is wrong with it.

    Args:
        folder: the release.
        private: the folder private/ of the build it was made from, or private/NAME next to it;
            with it, nothing of what is there may be found in the release.
        step: shows progress.

    Raises:
        InputError: there is no such folder, or the private one can't be read.
        MissingExtraError: pyarrow is not installed.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; name that of a release")
    show = step or silent
    secrets = None if private is None else read_secrets(private)
    content = None
    with show("checksums", None):
        record = read_record(folder)
        if isinstance(record, Fault):
            return Verified(folder, (record,), None, private is not None)
        sums = checksums_of(folder)
        faults = list(check_checksums(folder, record, sums))
    with show("reading", None):
        parts, bad = read_parts(folder, record)
        faults += bad
    if parts and not bad:
        about, disjoint = about_of(record["about"]), tuple(record["disjoint"])
        content = Content(about, parts, record["canary"], disjoint, record["ids"])
        found = Evidence(folder, record, sums, content, secrets)
        for title, checks in CHECKS.items():
            with show(title, None):
                faults += [fault for check in checks for fault in check(found)]
    return Verified(folder, tuple(faults), content, private is not None)
