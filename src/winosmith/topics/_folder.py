"""`FolderTopics`: a folder of texts, a topic each."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from winosmith.errors import FormatError, InputError
from winosmith.topics._drawing import drawn
from winosmith.topics._record import topic_of_text
from winosmith.topics._topic import Topic

__all__ = ["FolderTopics"]

ENDINGS = (".txt", ".md")

MOST_BYTES = 1_000_000
"""Of one text; what is longer is a book."""


@dataclass(frozen=True)
class FolderTopics:
    """The texts (.txt, .md; UTF-8) of a folder and the folders in it.

    The title is the text's heading, else the name of the file. Files are listed once and read
    when they are drawn; one that can't be read is passed over.

    Attributes:
        folder: as it was opened.
        paths: the files, in alphabetical order.
    """

    folder: Path
    paths: tuple[Path, ...] = field(repr=False)

    @classmethod
    def open(cls, folder: str | Path) -> FolderTopics:
        """List the texts of a folder.

        Raises:
            InputError: it is no folder, or has no texts.
        """
        place = Path(folder)
        if not place.is_dir():
            raise InputError(f"{place} is no folder of texts")
        found = (path for path in place.rglob("*") if path.suffix.lower() in ENDINGS)
        paths = tuple(sorted(path for path in found if path.is_file()))
        if not paths:
            raise InputError(f"{place} holds no .txt or .md files to draw topics from")
        return cls(place, paths)

    def draw(self, seed: int) -> Topic:
        """Return a topic with anchor words; see `Topics.draw`."""
        return drawn(
            len(self.paths), lambda number: _read(self.paths[number]), seed, str(self.folder)
        )


def _read(path: Path) -> Topic:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise FormatError(f"the text is longer than {MOST_BYTES:,} bytes", path)
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        raise FormatError("the text is not in UTF-8", path) from None
    except OSError as error:
        raise FormatError(f"the text can't be read: {error.strerror}", path) from None
    title = path.stem.replace("_", " ").replace("-", " ").strip() or path.name
    return topic_of_text(text, path.name, title[:1].upper() + title[1:])
