"""The record of a dialogue on disk: nothing that was paid for is lost, or paid for twice."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from winosmith.chat import Message, Reply
from winosmith.errors import OutputError
from winosmith.evolve._chat_dialogue import Dialogue
from winosmith.outputs import write_aside
from winosmith.problem import Problem
from winosmith.records import canonical, problem_record

__all__ = ["Transcript"]

_TURNS, _ACCEPTED, _READABLE = "transcript.jsonl", "accepted.jsonl", "transcript.md"

_KEPT = ("text", "tokens_in", "tokens_out", "finish")


class Transcript:
    """The folder of one dialogue.

    - `transcript.jsonl`: what it is about, then each turn as it was said; written before anything
      else is done with a reply. A turn that was half-written when the power failed is dropped.
    - `accepted.jsonl`: the problems so far, a line each, in winosmith's own format.
    - `transcript.md`: the same dialogue to read, with what was found in each row.

    Args:
        folder: where the folders of dialogues are.
        parent: the problem.
        seed: of this dialogue.
        model: what determines the model's replies.
    """

    def __init__(self, folder: Path, parent: Problem, seed: int, model: Mapping[str, Any]):
        self.about = {"problem": problem_record(parent), "seed": seed, "model": dict(model)}
        digest = hashlib.sha256(canonical(self.about).encode("utf-8", "surrogatepass")).hexdigest()
        name = re.sub(r"[^A-Za-z0-9-]+", "-", parent.id)[:40].strip("-")
        self.folder = folder / f"{name}-{digest[:8]}".lstrip("-")

    def resume(self, dialogue: Dialogue) -> None:
        """Give a new dialogue the turns that there were, and write anew what follows from them.

        Raises:
            OutputError: the folder can't be used, or is damaged.
        """
        with self._told():
            self.folder.mkdir(parents=True, exist_ok=True)
            for said, reply in self._turns():
                dialogue.take(reply, said)
            with write_aside(self.folder / _ACCEPTED) as file:
                file.writelines(_line(problem_record(problem)) for problem in dialogue.accepted)
            self.write_readable(dialogue)

    def add(self, said: Message, reply: Reply) -> None:
        """Keep what was said and answered; it is on the disk when this returns."""
        kept = {key: value for key, value in asdict(reply).items() if key in _KEPT}
        self._append(_TURNS, [{"said": said.content, "reply": kept}])

    def add_accepted(self, problems: Iterable[Problem]) -> None:
        """Keep problems; they are on the disk when this returns."""
        self._append(_ACCEPTED, map(problem_record, problems))

    def write_readable(self, dialogue: Dialogue) -> None:
        """Write the dialogue anew, to read."""
        with self._told(), write_aside(self.folder / _READABLE) as file:
            file.writelines(_readable(dialogue))

    def _turns(self) -> Iterator[tuple[str, Reply]]:
        """Yield the turns that are there; begin the file if it isn't, and drop a broken end."""
        path = self.folder / _TURNS
        raw = path.read_bytes() if path.exists() else b""
        whole = raw[: raw.rfind(b"\n") + 1]
        if not whole:
            with write_aside(path) as file:
                file.write(_line(self.about))
            return
        if len(whole) < len(raw):
            os.truncate(path, len(whole))
        first, *turns = whole.decode("utf-8", "surrogatepass").split("\n")[:-1]
        if _parsed(path, 1, first) != json.loads(canonical(self.about)):
            raise OutputError(f"{path}: another dialogue is here; choose another folder")
        for number, turn in enumerate(turns, 2):
            record = _parsed(path, number, turn)
            try:
                yield str(record["said"]), Reply(**record["reply"])
            except (KeyError, TypeError):
                raise _damaged(path, number) from None

    def _append(self, name: str, records: Iterable[Mapping[str, Any]]) -> None:
        lines = "".join(map(_line, records))
        with self._told(), (self.folder / name).open("ab") as file:
            file.write(lines.encode("utf-8", "surrogatepass"))
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn the system's errors into ones that say what to do."""
        try:
            yield
        except OSError as error:
            raise OutputError(
                f"{self.folder}: the dialogue can't be kept ({error.strerror or error}); make "
                "room, change its rights, or name another folder"
            ) from error


def _line(record: Mapping[str, Any]) -> str:
    return canonical(record) + "\n"


def _parsed(path: Path, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        raise _damaged(path, number) from None


def _damaged(path: Path, number: int) -> OutputError:
    return OutputError(
        f"{path}:{number}: this is no turn of a dialogue; move the folder away to begin anew"
    )


def _readable(dialogue: Dialogue) -> Iterator[str]:
    yield f"# Dialogue about {_plain(dialogue.parent.id)}\n\n"
    ended = dialogue.ended
    state = ended.message if ended else f"{len(dialogue.accepted)} accepted so far"
    yield f"{len(dialogue.rounds)} turns; {state}.\n"
    for number, (said, done) in enumerate(zip(dialogue.said, dialogue.rounds, strict=False), 1):
        yield f"\n## Turn {number}\n\nWe say:\n\n{_quoted(said)}\n\nThe model says:\n\n"
        yield f"{_quoted(done.reply.text)}\n\n"
        yield f"{done.asked} rows asked for, {len(done.rows)} read, {len(done.kept)} accepted.\n\n"
        for at, checked in enumerate(done.rows, 1):
            verdict = "accepted" if checked.problem else "refused"
            faults = f" ({', '.join(checked.faults)})" if checked.faults else ""
            count = f", distance {checked.distance}" if checked.sentence else ""
            yield f"{at}. {verdict}{faults}{count}\n"


def _quoted(text: str) -> str:
    """Return text as an indented block, in which nothing is Markdown or HTML."""
    return "\n".join(f"    {_plain(line)}" for line in text.splitlines() or ["(nothing)"])


def _plain(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
