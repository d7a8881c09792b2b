"""What a masked model proposes in place of a word: whole words, by their probability."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from winosmith.errors import InputError
from winosmith.models import Gap, MaskedModel, Proposer, load_masked_model
from winosmith.testing import made_twins

TEXT = made_twins(1)[0].fill(0)
WORD = TEXT.split()[3]
START = TEXT.index(WORD)
GAP = Gap(TEXT, START, START + len(WORD))

ARCHITECTURES = ("bert", "roberta", "albert")


@pytest.fixture(scope="module", params=ARCHITECTURES)
def model(request: pytest.FixtureRequest, make_language_model: Callable[..., Path]) -> MaskedModel:
    """Return a tiny masked model of each architecture."""
    return load_masked_model(make_language_model(request.param, masked=True))


def test_proposals_are_whole_words_by_their_probability(model: MaskedModel) -> None:
    """They are letters alone, each one token after a space, the likeliest first."""
    [found] = Proposer(model).propose([GAP], 30)
    assert len(found) == 30
    values = [proposal.log_probability for proposal in found]
    assert values == sorted(values, reverse=True)
    assert all(value < 0 for value in values)
    for proposal in found:
        assert proposal.word.isalpha()
        assert len(model.tokeniser(f" {proposal.word}", add_special_tokens=False)["input_ids"]) == 1


def test_a_proposal_has_the_probability_that_transformers_gives(model: MaskedModel) -> None:
    """The best proposal's log-probability is that of its token at the mask, to 1e-4."""
    import torch

    read = model.tokeniser(TEXT, return_offsets_mapping=True)
    inside = [a < GAP.end and b > GAP.start and a < b for a, b in read["offset_mapping"]]
    at = inside.index(True)
    ids = [t for t, gone in zip(read["input_ids"], inside, strict=True) if not gone]
    ids.insert(at, model.tokeniser.mask_token_id)
    with torch.inference_mode():
        logits = model.network(input_ids=torch.tensor([ids])).logits[0, at]
    expected = torch.log_softmax(logits, -1)
    [[best, *_]] = Proposer(model).propose([GAP])
    [token] = model.tokeniser(f" {best.word}", add_special_tokens=False)["input_ids"]
    assert best.log_probability == pytest.approx(float(expected[token]), abs=1e-4)


def test_the_batch_makes_no_difference(model: MaskedModel) -> None:
    """Gaps of several lengths give the same words together and one by one."""
    texts = [problem.fill(0) for problem in made_twins(6)]
    gaps = [Gap(text, text.index(" ") + 1, text.index(" ") + 3) for text in texts]
    gaps.append(Gap(" ".join(texts[:3]), 0, 3))
    together = Proposer(model).propose(gaps)
    for gap, own in zip(gaps, together, strict=True):
        [alone] = Proposer(model).propose([gap])
        assert np.allclose([p[1] for p in alone], [p[1] for p in own], rtol=0, atol=1e-4)
        assert alone[0].word == own[0].word


def test_only_words_among_those_wanted_are_proposed(model: MaskedModel) -> None:
    """With `among`, others are not; without any that the model knows, nothing is."""
    [every] = Proposer(model).propose([GAP], 5)
    wanted = frozenset(proposal.word.lower() for proposal in every[2:4])
    proposer = Proposer(model)
    [found] = proposer.propose([Gap(TEXT, GAP.start, GAP.end, among=wanted)])
    assert {proposal.word.lower() for proposal in found} == wanted
    [none] = proposer.propose([Gap(TEXT, GAP.start, GAP.end, among=frozenset(["zzzqx"]))])
    assert none == ()


def test_what_is_hidden_besides_makes_no_difference(model: MaskedModel) -> None:
    """Words of the same number of tokens at an unseen place give the same proposals."""
    last = TEXT.rstrip(".").rindex(" ") + 1
    other = f"{TEXT[:last]}{WORD}."
    unseen = [Gap(t, GAP.start, GAP.end, ((last, len(t) - 1),)) for t in (TEXT, other)]
    one, two = Proposer(model).propose(unseen)
    assert one == two
    assert Proposer(model).propose([GAP])[0] != one


def test_what_cannot_be_proposed_is_told(model: MaskedModel) -> None:
    """No words, a text too long, and a gap of no token are refused."""
    proposer = Proposer(model)
    with pytest.raises(InputError, match="ask for 1 or more"):
        proposer.propose([GAP], 0)
    with pytest.raises(InputError, match="tokens; "):
        proposer.propose([Gap("a " * 2000, 0, 1)])
    with pytest.raises(InputError, match="no token for"):
        proposer.propose([Gap(TEXT, 0, 0)])
