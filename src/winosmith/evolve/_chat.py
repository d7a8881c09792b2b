"""`ChatPerturber`: a chat model writes perturbations, and each one is checked automatically.

The dialogues are saved on disk, so that no reply is lost or paid for twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from winosmith.chat import BudgetError, ChatError, ChatModel, Client, Message, Reply
from winosmith.errors import OutputError
from winosmith.escape import escape_markdown, escape_terminal
from winosmith.evolve._chat_dialogue import Dialogue, DialogueRules
from winosmith.outputs import atomic_write
from winosmith.problem import Problem
from winosmith.records import dump_json, make_problem_record, parse_json

_TURNS, _READABLE = "transcript.jsonl", "transcript.md"

REPLY_TOKENS = 4096
"""Recommended maximum number of tokens per reply. 30 rows of 20 words take about 1,500 tokens.
Reasoning takes more."""


class ChatPerturber:
    """Asks a chat model for perturbations of a problem, turn by turn (EvoGrad 2024, A.1).

    Each row of a reply is checked, and the next turn reports any faults to the model. `winosmith
    evolve --with chat --help` and the guide to chat models list the faults. A child's declared
    depth is the actual token edit distance to a root. A child's answer comes from the model, so the
    child is marked as unvalidated until people have judged it.

    Args:
        model: a `chat.Client`, or a callable that takes messages and returns a `chat.Reply`. Its
            token limit should be at least `REPLY_TOKENS`, because replies that are cut off need
            more turns.
        taken: problems whose sentences must not be repeated, such as all roots. Otherwise, a child
            of one half of a twin may equal the other half.
        folder: folder for the saved dialogues, each in a subfolder (`transcript.jsonl`,
            `transcript.md`). The same call resumes them. If None, dialogues are not saved.
        on_progress: called with the number of accepted children, the number wanted and a note.
        rules: fields of `DialogueRules`.

    Raises:
        RecipeError: a rule has a value out of range.

    Warns:
        UserWarning: too few children were accepted. The warning states the reason and a remedy.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        taken: Sequence[Problem] = (),
        folder: str | Path | None = None,
        on_progress: Callable[[int, int, str], None] | None = None,
        **rules: Any,
    ):
        self.model = model
        self.taken = taken
        self.folder = folder
        self.on_progress = on_progress
        self.rules = DialogueRules(**rules)

    def perturb(self, problem: Problem, seed: int) -> Iterator[Problem]:
        """Yield the accepted children of a problem one by one, until the budget is spent.

        Args:
            problem: a problem with two options and an answer.
            seed: the `draw` of `chat.Client.ask`. Other models ignore it.

        Raises:
            ProblemError: the problem has more than two options, or no answer.
            ChatError: the model can't be reached. Accepted children have already been yielded.
            OutputError: the folder can't be used.
        """
        dialogue = Dialogue(problem, taken=self.taken, **asdict(self.rules))
        parameters = dict(getattr(self.model, "parameters", {}))
        transcript = (
            Transcript(Path(self.folder), problem, seed, parameters) if self.folder else None
        )
        if transcript:
            transcript.resume(dialogue)
        resumed = f"turn {len(dialogue.turns)}, resumed"
        self._report_progress(dialogue, resumed if dialogue.turns else "")
        yield from dialogue.accepted
        while not dialogue.ending:
            try:
                if isinstance(self.model, Client):
                    reply = self.model.ask([dialogue.messages], draw=seed)[0]
                else:
                    reply = self.model(dialogue.messages)
            except BudgetError:
                dialogue.stop("budget", self._explain_spent_budget())
                break
            except ChatError as error:
                have = f"{len(dialogue.accepted)} of {self.rules.wanted} children of {problem.id!r}"
                state = "had been accepted"
                if transcript:
                    state = f"are saved in {transcript.folder}; repeat the call to resume"
                raise type(error)(f"{error}. {have} {state}") from error
            if transcript:
                transcript.add_turn(dialogue.messages[-1], reply)
            accepted = dialogue.process_reply(reply)
            if transcript:
                transcript.write_markdown(dialogue)
            turn = dialogue.turns[-1]
            note = f"turn {len(dialogue.turns)}: {len(accepted)} of {len(turn.rows)} rows accepted"
            faults = ", ".join(f"{kind} {count}" for kind, count in turn.count_faults().items())
            self._report_progress(dialogue, f"{note}; {faults}" if faults else note)
            yield from accepted
        if dialogue.ending:
            self._report_progress(dialogue, dialogue.ending.message)
            if transcript:
                transcript.write_markdown(dialogue)
            if dialogue.ending.reason != "done":
                where = f". All turns are saved in {transcript.folder}" if transcript else ""
                warnings.warn(f"{problem.id}: {dialogue.ending.message}{where}", stacklevel=2)

    def _explain_spent_budget(self) -> str:
        reason = "the budget does not allow another turn"
        if isinstance(self.model, Client) and self.model.budget is not None:
            spent = self.model.budget.spent
            reason += f" ({spent.tokens_in:,} tokens in and {spent.tokens_out:,} out were spent)"
        return f"{reason}; raise it, and repeat the call to resume"

    def _report_progress(self, dialogue: Dialogue, note: str) -> None:
        if self.on_progress:
            self.on_progress(len(dialogue.accepted), self.rules.wanted, note)


class Transcript:
    """The files in which one dialogue is saved.

    - `transcript.jsonl`: the problem and the settings, then each turn, written before its reply is
      processed. An incomplete last line is dropped.
    - `transcript.md`: the dialogue in readable form, with the faults of each row.

    `folder` contains all dialogues. `model` contains the parameters that determine the model's
    replies.
    """

    def __init__(self, folder: Path, parent: Problem, seed: int, model: Mapping[str, Any]):
        self.about = {"problem": make_problem_record(parent), "seed": seed, "model": dict(model)}
        digest = hashlib.sha256(dump_json(self.about).encode("utf-8", "surrogatepass")).hexdigest()
        name = re.sub(r"[^A-Za-z0-9-]+", "-", parent.id)[:40].strip("-")
        self.folder = folder / f"{name}-{digest[:8]}".lstrip("-")

    def resume(self, dialogue: Dialogue) -> None:
        """Replay the saved turns in a new dialogue, and rewrite the other file."""
        with self._convert_output_errors():
            self.folder.mkdir(parents=True, exist_ok=True)
            for said, reply in self._read_turns():
                dialogue.process_reply(reply, said)
            self.write_markdown(dialogue)

    def add_turn(self, message: Message, reply: Reply) -> None:
        record = asdict(reply)
        del record["first_token"]
        line = dump_json({"said": message.content, "reply": record}) + "\n"
        with self._convert_output_errors(), (self.folder / _TURNS).open("ab") as file:
            file.write(line.encode("utf-8", "surrogatepass"))
            file.flush()
            os.fsync(file.fileno())

    def write_markdown(self, dialogue: Dialogue) -> None:
        with self._convert_output_errors(), atomic_write(self.folder / _READABLE) as file:
            file.writelines(_format_dialogue(dialogue))

    def _read_turns(self) -> Iterator[tuple[str, Reply]]:
        path = self.folder / _TURNS
        raw = path.read_bytes() if path.exists() else b""
        whole = raw[: raw.rfind(b"\n") + 1]
        if not whole:
            with atomic_write(path) as file:
                file.write(dump_json(self.about) + "\n")
            return
        if len(whole) < len(raw):
            os.truncate(path, len(whole))
        lines = whole.decode("utf-8", "surrogatepass").split("\n")[:-1]
        for number, line in enumerate(lines, 1):
            try:
                record = parse_json(line)
                turn = (str(record["said"]), Reply(**record["reply"])) if number > 1 else None
            except (ValueError, KeyError, TypeError):
                raise OutputError(
                    f"{path}:{number}: this line is not a turn of a dialogue; move the folder "
                    "elsewhere to start again"
                ) from None
            if turn:
                yield turn
            elif record != json.loads(dump_json(self.about)):
                raise OutputError(f"{path} belongs to another dialogue; choose a different folder")

    @contextmanager
    def _convert_output_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(
                f"{self.folder}: the dialogue can't be saved ({error.strerror or error}); free "
                "disk space, change the permissions, or choose another folder"
            ) from error


def _format_dialogue(dialogue: Dialogue) -> Iterator[str]:
    yield f"# Dialogue about {escape_markdown(dialogue.parent.id)}\n\n"
    ending = dialogue.ending
    state = ending.message if ending else f"{len(dialogue.accepted)} accepted so far"
    yield f"{len(dialogue.turns)} turns; {escape_markdown(state)}.\n"
    turns = zip(dialogue.user_messages, dialogue.turns, strict=False)
    for number, (said, turn) in enumerate(turns, 1):
        yield f"\n## Turn {number}\n\nOur message:\n\n{_indent_as_code(said)}\n\n"
        yield f"The model's reply:\n\n{_indent_as_code(turn.reply.text)}\n\n"
        counts = f"{turn.requested} rows requested, {len(turn.rows)} read"
        yield f"{counts}, {len(turn.accepted)} accepted.\n\n"
        for at, checked in enumerate(turn.rows, 1):
            verdict = "accepted" if checked.problem else "refused"
            faults = f" ({', '.join(checked.faults)})" if checked.faults else ""
            count = f", distance {checked.distance}" if checked.sentence else ""
            yield f"{at}. {verdict}{faults}{count}\n"


def _indent_as_code(text: str) -> str:
    return "\n".join(f"    {escape_terminal(line)}" for line in text.splitlines() or ["(nothing)"])
