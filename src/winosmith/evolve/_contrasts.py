"""Words that turn a sentence around, and with it, more often than not, the answer."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CONTRASTS"]

_CONNECTIVES = {
    "because": "although though but",
    "since": "although though",
    "so": "but yet",
    "therefore": "however",
    "although": "because since",
    "though": "because since",
    "but": "so",
    "before": "after",
    "after": "before",
    "if": "unless",
    "unless": "if",
}
"""From a cause to a concession and back (EvoGrad, appendix A.1: "although" for "because"), and from
before to after. Both sides need not be whole opposites: the answer is a claim that people judge."""

_OPPOSITES = """
large small/big small/big little/tall short/long short/heavy light/thick thin/wide narrow/high low/
deep shallow/fast slow/quick slow/strong weak/hard soft/hard easy/difficult easy/rough smooth/
hot cold/warm cool/wet dry/full empty/clean dirty/new old/young old/rich poor/cheap expensive/
good bad/better worse/best worst/happy sad/brave afraid/calm nervous/kind cruel/polite rude/
careful careless/patient impatient/honest dishonest/guilty innocent/healthy sick/loud quiet/
bright dark/sharp dull/safe dangerous/early late/near far/more less/most least/larger smaller/
bigger smaller/taller shorter/longer shorter/heavier lighter/faster slower/stronger weaker/
richer poorer/older younger/harder easier/always never/often rarely/win lose/
won lost/love hate/loved hated/liked disliked/give take/gave took/buy sell/bought sold/push pull/
lend borrow/lent borrowed/teach learn/taught learned/open closed/accept refuse/accepted refused/
arrive leave/arrived left/remember forget/remembered forgot/succeeded failed/succeed fail
"""


def _both_ways() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {word: set(to.split()) for word, to in _CONNECTIVES.items()}
    for pair in _OPPOSITES.split("/"):
        one, other = pair.split()
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


CONTRASTS: Mapping[str, frozenset[str]] = _both_ways()
"""For a word in small letters, those that turn its sentence around."""
