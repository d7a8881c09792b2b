"""Sentences for a crowd: twins that keep WinoGrande's rules, each with a mark to find it by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Made:
    """A twin as a contributor types it."""

    mark: str
    sentences: tuple[str, str]

    def halves(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """Return each half's sentence and its answer."""
        return (self.sentences[0], 0), (self.sentences[1], 1)

    def form(self) -> dict[str, str]:
        """Return the fields of the site's form."""
        return {
            "domain": "physical",
            "option_1": "lantern",
            "option_2": "kettle",
            "sentence_1": self.sentences[0],
            "answer_1": "0",
            "sentence_2": self.sentences[1],
            "answer_2": "1",
        }


def twin_of(mark: str) -> Made:
    """Return a twin about the words of the trial's topic; the mark is a word of both halves."""
    text = (
        f"In {mark} harbour the old lantern stood beside the wooden copper kettle and heavy anchor "
        "until the _ was moved because it was"
    )
    return Made(mark, (f"{text} bright.", f"{text} boiling."))
