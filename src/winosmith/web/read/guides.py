"""What the guidelines show: rules in the words of the checks, twins that keep or break them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from winosmith import practice
from winosmith.validate import StructureRules

__all__ = ["Bad", "guides"]

GOOD = ("a6ed7e2a3673", "a24f68d1337b", "0258b8f13fd4", "12255c3853b9")
"""The twins of `winosmith.practice.handwritten` that are shown: two social, two physical."""


@dataclass(frozen=True, slots=True)
class Bad:
    """A twin that breaks a rule.

    Attributes:
        halves: each a sentence, its options, and the right one.
        why: what is wrong with it.
        source: where it is printed; "" for one of ours.
    """

    halves: tuple[tuple[str, tuple[str, str], str], ...]
    why: str
    source: str = ""


PREDATORS = "The lions ate the zebras because the _ are {}."
TREE = "The tree fell down and crashed through the roof of my house. Now, I have to get the _ {}."
CUP = "Mia put the cup beside the jug on the wobbly shelf in the kitchen, and then the _ {}."
LOAN = "Paula lent Nadia her good umbrella on the way to the station, because _ was {}."


def guides() -> dict[str, Any]:
    """Return the rules and the examples for the page."""
    rules = StructureRules()
    handwritten = practice.handwritten()
    least, most = rules.length or (0, 0)
    return {
        "least": least,
        "most": most,
        "overlap": round(100 * (rules.overlap or 0)),
        "good": [
            [
                (half.sentence, half.options, half.options[half.answer or 0])
                for half in handwritten
                if half.twin_id == twin
            ]
            for twin in GOOD
        ],
        "bad": _bad(),
    }


def _bad() -> list[Bad]:
    lions, tree = ("lions", "zebras"), ("tree", "roof")
    return [
        Bad(
            (
                (PREDATORS.format("predators"), lions, "lions"),
                (PREDATORS.format("meaty"), lions, "zebras"),
            ),
            _(
                "Word association answers it: predators goes with lions, whatever the sentence "
                "says. A judge who sees only the words around the blank is right already."
            ),
            "Rahman and Ng (2012), as printed in Sakaguchi et al. (2020), table 1",
        ),
        Bad(
            (
                (TREE.format("removed"), tree, "tree"),
                (TREE.format("repaired"), tree, "roof"),
            ),
            _(
                "One removes trees and repairs roofs in any story. The sentence before the blank "
                "is not needed."
            ),
            "Levesque et al. (2011), as printed in Sakaguchi et al. (2020), table 1",
        ),
        Bad(
            (
                (CUP.format("broke"), ("cup", "jug"), "cup"),
                (CUP.format("stood still"), ("cup", "jug"), "jug"),
            ),
            _(
                "Both options fit both halves: nothing in the sentence says which of the two "
                "it was."
            ),
        ),
        Bad(
            (
                (LOAN.format("kind"), ("Paula", "Nadia"), "Paula"),
                (LOAN.format("generous"), ("Paula", "Nadia"), "Paula"),
            ),
            _(
                "The answer does not flip: both halves are about Paula. The trigger has to turn "
                "it round."
            ),
        ),
    ]
