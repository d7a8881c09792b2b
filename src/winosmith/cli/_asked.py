"""`--ask`: what subjects of a test may tell of themselves."""

from __future__ import annotations

import click

from winosmith.humans import Declared

__all__ = ["asked"]


def asked(text: str) -> Declared:
    """Return what `--ask NAME=QUESTION` asks for."""
    name, _, question = text.partition("=")
    if not name.isidentifier() or not question.strip():
        raise click.BadParameter(
            f"{text!r}: a name and a question are needed, such as age='How old are you?'",
            param_hint="--ask",
        )
    return Declared(name, question.strip())
