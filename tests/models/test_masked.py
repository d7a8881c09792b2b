"""Masked language models: which tokens are masked, and values equal to those of transformers."""

import numpy as np
import pytest

from winosmith import Problem
from winosmith.errors import InputError
from winosmith.models import MaskedModel, MaskedText, load_masked_model, mask_options, mask_tokens
from winosmith.testing import make_twins

pytestmark = pytest.mark.models
PROBLEMS = make_twins(3)


def _compute_by_hand(model: MaskedModel, text: MaskedText) -> np.ndarray:
    """Return the values of one text, computed from the whole output of its network."""
    import torch

    ids = list(text.ids)
    for at in text.masked:
        ids[at] = model.tokeniser.mask_token_id
    with torch.inference_mode():
        logits = model.network(torch.tensor([ids])).logits[0]
    values = torch.log_softmax(logits.double(), -1)
    return np.array([float(values[at, text.ids[at]]) for at in text.requested])


@pytest.mark.parametrize(
    "architecture",
    ["bert", "roberta", "electra", "albert", "distilbert", "modernbert", "deberta-v2", "mpnet"],
)
def test_batched_values_equal_those_of_single_texts(make_language_model, architecture):
    """The architectures have different output layers."""
    model = load_masked_model(make_language_model(architecture, masked=True))
    texts = [text for own in mask_tokens(model, PROBLEMS[:2]) for row in own for text in row]
    texts += [text for own in mask_options(model, PROBLEMS) for text in own]
    given = model.compute_likelihoods(texts)
    for text, values in zip(texts, given.values, strict=True):
        np.testing.assert_allclose(values, _compute_by_hand(model, text), atol=1e-4)


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_each_token_of_a_sentence_is_masked_once(make_language_model, architecture):
    """Special tokens are never masked."""
    model = load_masked_model(make_language_model(architecture, masked=True))
    for problem, own in zip(PROBLEMS, mask_tokens(model, PROBLEMS), strict=True):
        for text, row in zip(problem.fill_all(), own, strict=True):
            ids = model.tokeniser(text)["input_ids"]
            assert {each.ids for each in row} == {tuple(ids)}
            assert [each.requested for each in row] == [(at,) for at in range(1, len(ids) - 1)]
            assert all(each.masked == each.requested for each in row)


def test_within_word_also_masks_later_pieces_of_the_word(make_language_model):
    """Tokens of other words stay visible."""
    model = load_masked_model(make_language_model("bert", masked=True))
    problem = Problem("1", "They say the _ stood.", ("candle777", "drawer"))
    row = mask_tokens(model, [problem], within_word=True)[0][0]
    pieces = model.tokeniser.convert_ids_to_tokens(row[0].ids)
    word = list(range(4, len(pieces) - 3))
    assert "".join(pieces[at].removeprefix("##") for at in word) == "candle777"
    assert len(word) >= 3
    hidden = {each.requested[0]: list(each.masked) for each in row}
    assert [hidden[at] for at in word] == [word[number:] for number in range(len(word))]
    assert all(hidden[at] == [at] for at in hidden if at not in word)


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
@pytest.mark.parametrize("sentence", ["They say the _ stood.", "_ stood.", "It was the _."])
def test_all_tokens_of_the_option_and_no_others_are_masked(
    make_language_model, architecture, sentence
):
    model = load_masked_model(make_language_model(architecture, masked=True))
    problem = Problem("1", sentence, ("candle 77", "drawer"))
    for text, option in zip(mask_options(model, [problem])[0], problem.options, strict=True):
        said = model.tokeniser.decode([text.ids[at] for at in text.requested])
        assert said.replace(" ", "").replace("##", "") == option.replace(" ", "")
        assert text.masked == text.requested


def test_values_do_not_depend_on_the_batch(make_language_model):
    """Equal texts are read once."""
    model = load_masked_model(make_language_model("bert", masked=True))
    texts = [text for own in mask_options(model, PROBLEMS) for text in own]
    together = model.compute_likelihoods(texts)
    for small in (model.compute_likelihoods(texts, tokens_per_batch=1),
                  model.compute_likelihoods([*texts[::-1], *texts])):  # fmt: skip
        values = small.values[-len(texts) :]
        assert max(np.abs(a - b).max() for a, b in zip(together.values, values, strict=True)) < 1e-5
        assert small.tokens_fed <= together.tokens_fed


def test_padding_adds_at_most_10_percent(make_language_model):
    model = load_masked_model(make_language_model("bert", masked=True))
    rows = [row for own in mask_tokens(model, PROBLEMS) for row in own]
    texts = [text for row in rows for text in row]
    fed = model.compute_likelihoods(texts, tokens_per_batch=200).tokens_fed
    assert sum(len(text.ids) for text in texts) <= fed <= 1.1 * sum(len(t.ids) for t in texts)


def test_other_models_are_refused(make_language_model, tiny_encoder):
    """Sentences over the model's limit are refused too."""
    with pytest.raises(InputError, match="gpt2 is a causal language model; score it as such"):
        load_masked_model(make_language_model("gpt2"))
    with pytest.raises(InputError, match="saved without its output layer"):
        load_masked_model(tiny_encoder)
    model = load_masked_model(make_language_model("bert", masked=True))
    long = Problem("1", "They say " * 600 + "_.", ("candle", "drawer"))
    with pytest.raises(InputError, match=r"a sentence has 120\d tokens; the limit of .* is 512"):
        model.compute_likelihoods(mask_options(model, [long])[0])
