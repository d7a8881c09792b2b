"""The proof of a release: all that it says of itself, and all that it must not say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winosmith.errors import InputError
from winosmith.parallel import Step, silent
from winosmith.release import _proofs
from winosmith.release._about import about_of
from winosmith.release._content import KINDS, Content, straddles
from winosmith.release._gather import leaked, licence_faults, read_secrets
from winosmith.release._proofs import Fault, Faults

_HEX = re.compile(r"\b[0-9a-f]{64}\b")


@dataclass(frozen=True, eq=False)
class Verified:
    """What a look at a release found.

    Attributes:
        folder: the release.
        faults: what is wrong with it.
        notes: what could not be looked at.
        content: what it holds; None where that can't be read.
        private: whether it was compared with what must not be published.
    """

    folder: Path
    faults: tuple[Fault, ...]
    notes: tuple[str, ...]
    content: Content | None
    private: bool

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "folder": str(self.folder),
            "sound": not self.faults,
            "faults": [fault.record() for fault in self.faults],
            "notes": list(self.notes),
            "problems": len(self.content.dataset) if self.content else None,
            **(self.content.copies.record() if self.content else {}),
            "private": self.private,
        }


def verify(
    folder: str | Path, *, private: str | Path | None = None, step: Step | None = None
) -> Verified:
    """Prove a release, or find what is wrong with it.

    Args:
        folder: the release.
        private: the folder private/ of the build it was made from, or private/NAME beside it;
            with it, nothing of what is there may be found in the release.
        step: shows progress.

    Raises:
        InputError: there is no such folder, or the private one can't be read.
        MissingExtraError: pyarrow is not installed.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; name that of a release")
    show = step or silent
    faults = Faults()
    content = None
    with show("files", None):
        record = _proofs.read_record(folder, faults)
        if record is not None:
            _proofs.prove_files(folder, record, faults)
    if record is not None:
        with show("problems", None):
            content = _content(folder, record, faults)
        if content is not None:
            with show("splits and licences", None):
                _prove(content, faults)
            with show("forms and texts", None):
                _proofs.prove_forms(folder, content, faults)
                _proofs.prove_documents(folder, record, content, faults)
            if private is not None:
                with show("what is private", None):
                    _prove_private(folder, Path(private), content, faults)
    unique = tuple(dict.fromkeys(faults))
    return Verified(folder, unique, tuple(faults.notes), content, private is not None)


def _content(folder: Path, record: dict[str, Any], faults: Faults) -> Content | None:
    parts = _proofs.read_parts(folder, record, faults)
    stones = _proofs.read_tombstones(folder, faults)
    try:
        history = (folder / "CHANGELOG.md").read_text("utf-8")
    except (OSError, ValueError):
        faults.add("CHANGELOG.md", "it is missing or can't be read")
        history = ""
    if parts is None:
        return None
    return Content(
        about_of(record["about"]),
        parts,
        record["canary"],
        tuple(record["disjoint"]),
        record["ids"],
        record["build"],
        record["left_out"],
        record.get("previous"),
        stones,
        record["changes"],
        history,
        record["made_with"],
    )


def _prove(content: Content, faults: Faults) -> None:
    """Find what lies on two sides, an order that tells, and licences that do not fit."""
    kinds = [kind for kind in KINDS if kind == "twin" or kind in content.disjoint]
    for found in straddles(content.parts, kinds):
        other = content.parts[found.other_part][found.other_row]
        faults.add(
            f"data/{found.part}.jsonl",
            f"{content.parts[found.part][found.row].id!r} and {other.id!r} "
            f"(data/{found.other_part}.jsonl:{found.other_row + 1}) lie on two sides of a split: "
            f"{found.why}",
            "put both on one side and release again",
            line=found.row + 1,
        )
    _proofs.prove_order(content, faults)
    rows = {
        problem.id: (part, row)
        for part, dataset in content.parts.items()
        for row, problem in enumerate(dataset, start=1)
    }
    for problem_id, what, do in licence_faults(content.about, content.problems):
        if problem_id:
            part, row = rows[problem_id]
            faults.add(f"data/{part}.jsonl", what, do, line=row)
        else:
            faults.add("release.json", what, do)


def _prove_private(folder: Path, private: Path, content: Content, faults: Faults) -> None:
    secrets = read_secrets(private)
    for part, row, what, do in leaked(content.parts, secrets):
        faults.add(f"data/{part}.jsonl", what, do, line=None if row is None else row + 1)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in (".md", ".json", ".txt", ".jsonl", ".csv", ""):
            text = path.read_text("utf-8", "replace")
            if secrets.digests & set(_HEX.findall(text)):
                name = path.relative_to(folder).as_posix()
                faults.add(
                    name,
                    "it has the SHA-256 of a private file, by which short answers can be tried",
                    _proofs.AGAIN,
                )
