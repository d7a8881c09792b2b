"""`JsonlTopics`: a file with a topic on each line."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from pathlib import Path

from winosmith.errors import FormatError, InputError
from winosmith.records import parsed
from winosmith.topics._drawing import drawn
from winosmith.topics._record import topic_of_record
from winosmith.topics._topic import Topic

__all__ = ["JsonlTopics"]


@dataclass(frozen=True)
class JsonlTopics:
    """The lines of a JSONL file: objects with "title", "text" and, if they like, "domain".

    Every line is checked once; what stays in memory is where each begins, so that the file may
    be larger than memory.

    Attributes:
        path: the file.
        source: what the topics name as their source.
        starts: the byte at which each topic's line begins.
    """

    path: Path
    source: str
    starts: array[int] = field(repr=False)

    @classmethod
    def open(cls, path: str | Path, *, source: str = "") -> JsonlTopics:
        """Check a file's lines.

        Raises:
            FormatError: the file can't be read, or a line is no topic: with file and line.
        """
        place, starts, at = Path(path), array("q"), 0
        try:
            with place.open("rb") as file:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        _checked(line, place, number)
                        starts.append(at)
                    at += len(line)
        except OSError as error:
            raise FormatError(f"the file can't be read: {error.strerror}", place) from None
        if not starts:
            raise FormatError("the file holds no topics", place)
        return cls(place, source or place.name, starts)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, number: int) -> Topic:
        """Return the topic of a 0-based number, without anchor words."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.starts[number])
                return _topic(file.readline(), self.source)
        except (OSError, ValueError) as error:
            raise FormatError(f"the file was changed or removed: {error}", self.path) from None

    def draw(self, seed: int) -> Topic:
        """Return a topic with anchor words; see `Topics.draw`."""
        return drawn(len(self), self.__getitem__, seed, str(self.path))


def _checked(line: bytes, path: Path, number: int) -> None:
    try:
        _topic(line, "")
    except (ValueError, RecursionError) as error:
        raise FormatError(_reason(error), path, number) from None


def _topic(line: bytes, source: str) -> Topic:
    return topic_of_record(parsed(line.decode()), source)


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, InputError) else f"the line is no JSON: {error}"
