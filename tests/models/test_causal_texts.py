"""Sentences become tokens as lm-evaluation-harness makes them, options and rest kept apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from winosmith import Problem
from winosmith.errors import InputError
from winosmith.models import CausalModel, Passage, load_causal_model, passages, sentence_parts
from winosmith.testing import made_twins

pytestmark = pytest.mark.models

MakeModel = Callable[..., Path]


def _passages(model: CausalModel, sentence: str, **told: object) -> list[tuple[Passage, Passage]]:
    problem = Problem("1", sentence, ("candle", "drawer"))
    return passages(model, [problem], **told)[0]  # type: ignore[arg-type]


def _text(model: CausalModel, ids: tuple[int, ...]) -> str:
    return str(model.tokeniser.decode(ids))


@pytest.fixture(scope="module")
def gpt2(make_language_model: MakeModel) -> CausalModel:
    """Return a model whose tokeniser puts nothing before a text."""
    return load_causal_model(make_language_model("gpt2"))


@pytest.fixture(scope="module")
def opt(make_language_model: MakeModel) -> CausalModel:
    """Return a model whose tokeniser puts a token before each text."""
    return load_causal_model(make_language_model("opt"))


def test_full_is_all_and_partial_what_follows(gpt2: CausalModel) -> None:
    """One sequence serves both: all but the first token counts, or what follows the option."""
    for (full, partial), option in zip(
        _passages(gpt2, "They say the _ stood there."), ("candle", "drawer"), strict=True
    ):
        assert full.ids == partial.ids
        assert _text(gpt2, full.ids) == f"They say the {option} stood there."
        assert full.start == 1
        assert _text(gpt2, partial.ids[partial.start :]) == " stood there."


def test_a_token_that_begins_texts_comes_first(gpt2: CausalModel, opt: CausalModel) -> None:
    """OPT's comes by itself, GPT-2's when asked for, and then the whole sentence counts."""
    for model, bos in ((opt, None), (opt, True), (gpt2, True)):
        full, partial = _passages(model, "They say the _ stood there.", bos=bos)[0]
        assert full.ids[0] == model.tokeniser.bos_token_id
        assert _text(model, full.ids[full.start :]) == "They say the candle stood there."
        assert partial.ids == full.ids
    assert _passages(opt, "They say the _ stood.", bos=False)[0][0].ids[0] != opt.leading[0]


def test_a_first_token_always_counts(gpt2: CausalModel) -> None:
    """Where the blank opens the sentence, the full score takes a token to go before it."""
    full, partial = _passages(gpt2, "_ stood there.")[0]
    assert full.ids == (gpt2.tokeniser.bos_token_id, *partial.ids)
    assert _text(gpt2, full.ids[full.start :]) == "candle stood there."
    assert _text(gpt2, partial.ids[partial.start :]) == " stood there."


def test_where_nothing_follows_the_option_counts(gpt2: CausalModel) -> None:
    """As in COPA, the partial score is then that of the option after what precedes it."""
    for (full, partial), option in zip(
        _passages(gpt2, "They stood there because the _ "), ("candle", "drawer"), strict=True
    ):
        assert _text(gpt2, partial.ids[partial.start :]) == f" {option}"
        assert partial.ids == full.ids


def test_a_token_across_the_boundary_is_taken_as_the_harness_takes_it(gpt2: CausalModel) -> None:
    """A rest that joins the option's tokens counts from the number of tokens before it on."""
    plain = gpt2.tokeniser
    for sentence in ("They say the can_ stood there.", "They say the _s.", "It was the can_"):
        problem = Problem("1", sentence, ("dle", "dles"))
        before, options, rest = sentence_parts(problem)
        for option, (full, partial) in zip(options, passages(gpt2, [problem])[0], strict=True):
            whole = plain(before + option + rest)["input_ids"]
            context = plain((before + (option if rest else "")).rstrip())["input_ids"]
            assert full.ids == tuple(whole)
            if len(whole) > len(context):
                assert partial.ids == (*context, *whole[len(context) :])
                assert partial.start == len(context)
            else:
                assert (partial.ids, partial.start) == (tuple(whole), len(whole) - 1)


@pytest.mark.parametrize("prompt", ["The candle stood there.\n\n", "Candle\n", "a  b \n\n\n "])
def test_a_prompt_is_tokenised_as_part_of_the_text(gpt2: CausalModel, prompt: str) -> None:
    """With a prompt, tokens are those of prompt and sentence in one piece."""
    for problem in made_twins(5):
        before, options, rest = sentence_parts(problem)
        for option, (full, partial) in zip(
            options, passages(gpt2, [problem], prompt=prompt)[0], strict=True
        ):
            whole = gpt2.tokeniser(prompt + before + option + rest)["input_ids"]
            assert full.ids == partial.ids == tuple(whole)
            assert full.start == len(gpt2.tokeniser(prompt.rstrip())["input_ids"])
            assert _text(gpt2, partial.ids[partial.start :]) == rest


def test_a_prompt_that_is_too_long_is_cut_alike_for_all(make_language_model: MakeModel) -> None:
    """The same tokens of the prompt are left out before every sentence, with a warning."""
    folder = make_language_model("opt", max_position_embeddings=60)
    model = load_causal_model(folder)
    problems = made_twins(5)
    prompt = " ".join(["The candle stood beside the drawer there."] * 12) + "\n\n"
    with pytest.warns(UserWarning, match=r"the first \d+ tokens of the prompt are left out"):
        cut = passages(model, problems, prompt=prompt)
    bare = passages(model, problems)
    assert max(len(pair[0].ids) for own in cut for pair in own) == 61
    starts = set()
    for own, alone in zip(cut, bare, strict=True):
        for (full, partial), (whole, rest) in zip(own, alone, strict=True):
            assert full.ids[0] == model.leading[0]
            assert full.ids[-len(whole.ids) + 1 :] == whole.ids[1:]
            assert partial.ids[partial.start :] == rest.ids[rest.start :]
            starts.add(full.ids[: -len(whole.ids) + 1])
    assert len(starts) == 1


def test_no_token_to_begin_with_is_told(gpt2: CausalModel) -> None:
    """A tokeniser without such a token is refused when one is asked for."""
    kept = gpt2.tokeniser.bos_token, gpt2.tokeniser.eos_token
    gpt2.tokeniser.bos_token = gpt2.tokeniser.eos_token = None
    try:
        with pytest.raises(InputError, match="the tokeniser has no token that begins texts"):
            _passages(gpt2, "They say the _ stood there.", bos=True)
    finally:
        gpt2.tokeniser.bos_token, gpt2.tokeniser.eos_token = kept
