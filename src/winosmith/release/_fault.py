"""What `verify` finds: where, what, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

__all__ = ["AGAIN", "Fault", "Faults"]

AGAIN = "get it anew, or release again"
"""What to do about a file that is not as it was released."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a release.

    Attributes:
        where: the file and line ("data/test.jsonl:3"), relative to the release.
        what: what is wrong.
        do: what to do about it.
    """

    where: str
    what: str
    do: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.do}"

    def record(self) -> dict[str, str]:
        """Return it as JSON can hold it."""
        return asdict(self)


@dataclass
class Faults:
    """Faults in the order in which they are found, and what could not be checked."""

    found: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, path: str, what: str, do: str = AGAIN, *, line: int | None = None) -> None:
        """Take down a fault."""
        self.found.append(Fault(path if line is None else f"{path}:{line}", what, do))

    def __iter__(self) -> Iterator[Fault]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)
