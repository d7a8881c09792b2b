"""Causal language models: tokens as in lm-evaluation-harness, likelihoods, prefix trees."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from winosmith import Problem
from winosmith.errors import InputError
from winosmith.models import CausalModel, Passage, load_causal_model, make_passages, split_sentence
from winosmith.models._causal import build_tree, count_common_prefix
from winosmith.testing import make_twins

pytestmark = pytest.mark.models
MakeModel = Callable[..., Path]
PROBLEMS = make_twins(8, singles=2)
PROMPT = "They all say that the candle stood beside the drawer. " * 3 + "\n\n"
Texts = tuple[list[tuple[int, ...]], list[int]]


def _texts(model: CausalModel, prompt: str = "") -> Texts:
    """Return the tokens of each text to score, and the first token that counts."""
    found = make_passages(model, PROBLEMS, prompt=prompt)
    flat = [passage for own in found for pair in own for passage in pair]
    return [passage.ids for passage in flat], [passage.start for passage in flat]


def _compute_by_hand(folder: Path, texts: Texts) -> list[np.ndarray]:
    """Return the values of each text, computed by transformers one text at a time."""
    import torch
    import transformers

    network = transformers.AutoModelForCausalLM.from_pretrained(str(folder)).eval()
    values = []
    for ids, start in zip(*texts, strict=True):
        with torch.inference_mode():
            logits = network(torch.tensor([ids[:-1]])).logits[0]
        found = torch.log_softmax(logits.double(), -1)
        picked = found[torch.arange(len(ids) - 1), torch.tensor(ids[1:])]
        values.append(picked[start - 1 :].numpy())
    return values


def _max_difference(one: list[np.ndarray], other: list[np.ndarray]) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(one, other, strict=True))


@pytest.fixture(scope="module")
def gpt2(make_language_model: MakeModel) -> CausalModel:
    """Return a model whose tokeniser adds no start token."""
    return load_causal_model(make_language_model("gpt2"))


@pytest.fixture(scope="module")
def opt(make_language_model: MakeModel) -> CausalModel:
    """Return a model whose tokeniser adds a start token."""
    return load_causal_model(make_language_model("opt"))


@pytest.mark.parametrize("architecture", ["gpt2", "opt", "llama", "qwen2", "gpt_neox", "gemma2"])
def test_tree_gives_same_values_as_single_texts(make_language_model, architecture):
    """The architectures encode positions in different ways."""
    folder = make_language_model(architecture)
    model = load_causal_model(folder)
    texts = _texts(model)
    given = model.compute_likelihoods(*texts)
    assert _max_difference(given.values, _compute_by_hand(folder, texts)) < 1e-4
    assert model.can_read_trees
    assert given.tokens_fed < sum(len(ids) - 1 for ids in texts[0]) / 4


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_shared_prompt_is_read_once(make_language_model, architecture):
    """It is fed once more only to check the tree."""
    folder = make_language_model(architecture)
    model = load_causal_model(folder)
    bare, prompted = (_texts(model, prompt) for prompt in ("", PROMPT))
    given = model.compute_likelihoods(*prompted, tokens_per_batch=64)
    assert _max_difference(given.values, _compute_by_hand(folder, prompted)) < 1e-4
    length = len(model.tokeniser(PROMPT)["input_ids"])
    longest = max(map(len, prompted[0]))
    apart = model.compute_likelihoods(*bare, tokens_per_batch=64).tokens_fed
    assert given.tokens_fed <= apart + length + longest


@pytest.mark.parametrize(
    ("architecture", "prompt", "settings"),
    [
        ("mamba", "", {}),
        ("mpt", "", {}),
        ("bloom", "", {}),
        ("gemma2", PROMPT, {"sliding_window": 24}),
    ],
)
def test_architectures_without_tree_support_read_whole_texts(
    make_language_model, architecture, prompt, settings
):
    """They have no attention, encode positions as distances, or have a window below the prompt."""
    folder = make_language_model(architecture, **settings)
    model = load_causal_model(folder)
    texts = _texts(model, prompt)
    with pytest.warns(UserWarning, match=f"{architecture} can't read texts as a tree"):
        given = model.compute_likelihoods(*texts)
    assert not model.can_read_trees
    assert _max_difference(given.values, _compute_by_hand(folder, texts)) < 1e-4
    assert model.compute_likelihoods(*texts).tokens_fed >= sum(len(ids) - 1 for ids in {*texts[0]})


@pytest.mark.parametrize("architecture", ["gpt2", "opt"])
def test_texts_are_scored_after_a_start_token(make_language_model, architecture):
    """All tokens of a text count, whether or not the tokeniser adds a start token."""
    folder = make_language_model(architecture)
    model = load_causal_model(folder)
    texts = ["They all say that the candle stood.", "They all say so."]
    begin = model.start_tokens or [model.tokeniser.bos_token_id]
    plain = model.tokeniser(texts, add_special_tokens=False)["input_ids"]
    by_hand = _compute_by_hand(folder, ([(*begin, *ids) for ids in plain], [1, 1]))
    assert model.score_texts(texts) == pytest.approx([own.sum() for own in by_hand], abs=1e-3)


def test_values_do_not_depend_on_the_batch(gpt2):
    """No texts and single tokens have no values."""
    texts, starts = _texts(gpt2)
    together = gpt2.compute_likelihoods(texts, starts).values
    alone = [
        gpt2.compute_likelihoods([ids], [start]).values[0]
        for ids, start in zip(texts, starts, strict=True)
    ]
    small = gpt2.compute_likelihoods(texts, starts, tokens_per_batch=30).values
    turned = gpt2.compute_likelihoods(texts[::-1], starts[::-1]).values[::-1]
    for other in (alone, small, turned):
        assert _max_difference(together, other) < 1e-5
    assert gpt2.compute_likelihoods([], []).tokens_fed == 0
    few = gpt2.compute_likelihoods([(7,), (7, 8)], [1, 1]).values
    assert list(map(len, few)) == [0, 1]


def test_reloaded_model_returns_identical_bytes(make_language_model):
    first, second = (
        [value.tobytes() for value in model.compute_likelihoods(*_texts(model)).values]
        for model in (load_causal_model(make_language_model("gpt2")) for _ in range(2))
    )
    assert first == second


def test_progress_counts_distinct_texts(make_language_model):
    model = load_causal_model(make_language_model("gpt2"))
    told: list[tuple[int, int]] = []
    texts, starts = _texts(model)
    model.compute_likelihoods(
        texts, starts, tokens_per_batch=60, on_progress=lambda *at: told.append(at)
    )
    distinct = len({*zip(texts, starts, strict=True)})
    assert [total for _, total in told] == [distinct] * len(told)
    assert told[-1][0] == distinct
    assert [done for done, _ in told] == sorted({done for done, _ in told})


def test_long_texts_are_truncated_at_the_start(make_language_model):
    folder = make_language_model("gpt2", max_position_embeddings=16)
    model = load_causal_model(folder)
    ids = tuple(range(10, 50))
    with pytest.warns(
        UserWarning, match="1 of 1 texts are longer than the model's limit of 16 tokens"
    ):
        given = model.compute_likelihoods([ids], [30])
    np.testing.assert_allclose(
        given.values[0], _compute_by_hand(folder, ([ids[-17:]], [7]))[0], atol=1e-5
    )


def test_bfloat16_scores_are_close_to_float32(make_language_model):
    folder = make_language_model("llama")
    model, coarse = load_causal_model(folder), load_causal_model(folder, dtype="bfloat16")
    texts = _texts(model)
    fine, rough = (
        np.array([value.sum() for value in each.compute_likelihoods(*texts).values])
        for each in (model, coarse)
    )
    assert str(coarse.network.dtype) == "torch.bfloat16"
    np.testing.assert_allclose(rough, fine, rtol=0.02)


def test_other_models_are_refused(make_language_model, tiny_encoder, tmp_path):
    """Unknown dtypes and devices are refused too."""
    with pytest.raises(InputError, match="bert is a masked language model; score it as such"):
        load_causal_model(make_language_model("bert", masked=True))
    folder = make_language_model("gpt2")
    with pytest.raises(InputError, match="unknown dtype 'x'; use 'float32', 'bfloat16' or"):
        load_causal_model(folder, dtype="x")
    with pytest.raises(InputError, match="the device 'cuda:9' can't be used"):
        load_causal_model(folder, device="cuda:9")
    import transformers

    transformers.AutoModel.from_pretrained(
        str(make_language_model("opt", tie_word_embeddings=False))
    ).save_pretrained(tmp_path)
    shutil.copy(folder / "tokenizer.json", tmp_path)
    with pytest.raises(InputError, match="saved without its output layer"):
        load_causal_model(tmp_path)


SMALL_MEMORY = """
import resource, sys, warnings
import numpy as np
from winosmith.models import load_causal_model
model = load_causal_model(sys.argv[1])
texts = [tuple(range(row, row + 120)) for row in range(10, 70)]
starts = [1] * len(texts)
expected = model.compute_likelihoods(texts, starts).values
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 150_000_000, resource.RLIM_INFINITY))
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    given = model.compute_likelihoods(texts, starts, tokens_per_batch=100_000).values
assert np.abs(np.concatenate(given) - np.concatenate(expected)).max() < 1e-4
print([str(one.message) for one in told][0])
"""


@pytest.mark.long
def test_out_of_memory_halves_the_batch(make_language_model):
    """The subprocess also checks that the values stay the same."""
    folder = make_language_model("gpt2")
    done = subprocess.run(
        [sys.executable, "-c", SMALL_MEMORY, str(folder)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "out of memory with 7140 tokens per batch; continuing with 3570" in done.stdout


def _passages(model: CausalModel, sentence: str, **told: object) -> list[tuple[Passage, Passage]]:
    problem = Problem("1", sentence, ("candle", "drawer"))
    return make_passages(model, [problem], **told)[0]


def _text(model: CausalModel, ids: tuple[int, ...]) -> str:
    return str(model.tokeniser.decode(ids))


@pytest.mark.parametrize(
    ("sentence", "rest"),
    [("They say the _ stood there.", " stood there."), ("They stood there because the _ ", None)],
    ids=["rest after the option", "nothing follows, as in COPA"],
)
def test_full_and_partial_scores_share_one_sequence(gpt2, sentence, rest):
    """The full score counts all tokens but the first, the partial score those after the option.

    If nothing follows, the partial score is the option's.
    """
    for (full, partial), option in zip(
        _passages(gpt2, sentence), ("candle", "drawer"), strict=True
    ):
        assert full.ids == partial.ids
        assert full.start == 1
        assert _text(gpt2, full.ids) == sentence.replace("_", option).strip()
        assert _text(gpt2, partial.ids[partial.start :]) == (rest or f" {option}")


def test_start_token_comes_first_if_added_or_requested(gpt2, opt):
    """OPT's tokeniser adds it, GPT-2 needs `bos=True`; then the whole sentence counts."""
    for model, bos in ((opt, None), (opt, True), (gpt2, True)):
        full, partial = _passages(model, "They say the _ stood there.", bos=bos)[0]
        assert full.ids[0] == model.tokeniser.bos_token_id
        assert _text(model, full.ids[full.start :]) == "They say the candle stood there."
        assert partial.ids == full.ids
    assert _passages(opt, "They say the _ stood.", bos=False)[0][0].ids[0] != opt.start_tokens[0]


def test_full_score_adds_a_start_token_if_the_option_is_first(gpt2):
    """Otherwise, the first token would not count."""
    full, partial = _passages(gpt2, "_ stood there.")[0]
    assert full.ids == (gpt2.tokeniser.bos_token_id, *partial.ids)
    assert _text(gpt2, full.ids[full.start :]) == "candle stood there."
    assert _text(gpt2, partial.ids[partial.start :]) == " stood there."


def test_tokens_across_the_boundary_count_as_in_the_harness(gpt2):
    """If the rest merges with the option's tokens, counting starts at the context's token count."""
    plain = gpt2.tokeniser
    for sentence in ("They say the can_ stood there.", "They say the _s.", "It was the can_"):
        problem = Problem("1", sentence, ("dle", "dles"))
        before, options, rest = split_sentence(problem)
        for option, (full, partial) in zip(options, make_passages(gpt2, [problem])[0], strict=True):
            whole = plain(before + option + rest)["input_ids"]
            context = plain((before + (option if rest else "")).rstrip())["input_ids"]
            assert full.ids == tuple(whole)
            if len(whole) > len(context):
                assert partial.ids == (*context, *whole[len(context) :])
                assert partial.start == len(context)
            else:
                assert (partial.ids, partial.start) == (tuple(whole), len(whole) - 1)


@pytest.mark.parametrize("prompt", ["The candle stood there.\n\n", "Candle\n", "a  b \n\n\n "])
def test_prompt_and_sentence_are_tokenised_together(gpt2, prompt):
    for problem in make_twins(5):
        before, options, rest = split_sentence(problem)
        for option, (full, partial) in zip(
            options, make_passages(gpt2, [problem], prompt=prompt)[0], strict=True
        ):
            whole = gpt2.tokeniser(prompt + before + option + rest)["input_ids"]
            assert full.ids == partial.ids == tuple(whole)
            assert full.start == len(gpt2.tokeniser(prompt.rstrip())["input_ids"])
            assert _text(gpt2, partial.ids[partial.start :]) == rest


def test_long_prompt_is_truncated_equally_for_all_sentences(make_language_model):
    folder = make_language_model("opt", max_position_embeddings=60)
    model = load_causal_model(folder)
    problems = make_twins(5)
    prompt = " ".join(["The candle stood beside the drawer there."] * 12) + "\n\n"
    with pytest.warns(UserWarning, match=r"the first \d+ tokens of the prompt are omitted"):
        cut = make_passages(model, problems, prompt=prompt)
    bare = make_passages(model, problems)
    assert max(len(pair[0].ids) for own in cut for pair in own) == 61
    starts = set()
    for own, alone in zip(cut, bare, strict=True):
        for (full, partial), (whole, rest) in zip(own, alone, strict=True):
            assert full.ids[0] == model.start_tokens[0]
            assert full.ids[-len(whole.ids) + 1 :] == whole.ids[1:]
            assert partial.ids[partial.start :] == rest.ids[rest.start :]
            starts.add(full.ids[: -len(whole.ids) + 1])
    assert len(starts) == 1


def test_missing_start_token_is_refused_if_requested(gpt2):
    kept = gpt2.tokeniser.bos_token, gpt2.tokeniser.eos_token
    gpt2.tokeniser.bos_token = gpt2.tokeniser.eos_token = None
    try:
        with pytest.raises(InputError, match="the tokeniser has no start token"):
            _passages(gpt2, "They say the _ stood there.", bos=True)
    finally:
        gpt2.tokeniser.bos_token, gpt2.tokeniser.eos_token = kept


TEXTS = st.lists(
    st.lists(st.integers(0, 2), min_size=2, max_size=7).map(tuple), min_size=1, max_size=12
).map(sorted)


def _paths(tree) -> list[tuple[int, ...]]:
    """Return the tokens from the root to each node."""
    paths: list[tuple[int, ...]] = []
    for token, parent in zip(tree.tokens, tree.parents, strict=True):
        paths.append((*(paths[parent] if parent >= 0 else ()), token))
    return paths


@given(TEXTS)
def test_tree_has_one_node_per_distinct_prefix(texts):
    """The last token of a text is not fed, since nothing follows it."""
    tree, count = build_tree(texts, [1] * len(texts), 0, 10_000)
    beginnings = {text[:length] for text in texts for length in range(1, len(text))}
    assert count == len(texts)
    assert sorted(_paths(tree)) == sorted(beginnings)
    assert [len(path) - 1 for path in _paths(tree)] == tree.depths


@given(TEXTS, st.data())
def test_texts_request_their_tokens_after_the_right_prefix(texts, data):
    starts = [data.draw(st.integers(1, len(text) - 1)) for text in texts]
    tree, _ = build_tree(texts, starts, 0, 10_000)
    asked, paths = list(tree.requested), _paths(tree)
    for text, start, places in zip(texts, starts, tree.indices, strict=True):
        pairs = [(paths[asked[at][0]], asked[at][1]) for at in places]
        assert pairs == [(text[:at], text[at]) for at in range(start, len(text))]


@given(TEXTS)
def test_nodes_attend_only_to_themselves_and_their_ancestors(texts):
    tree, _ = build_tree(texts, [1] * len(texts), 0, 10_000)
    paths, seen = _paths(tree), tree.make_attention_mask()
    for node, path in enumerate(paths):
        assert {paths[at] for at in np.flatnonzero(seen[node])} == {
            path[:length] for length in range(1, len(path) + 1)
        }


@given(TEXTS, st.integers(1, 12))
def test_trees_stay_within_the_budget_or_have_one_text(texts, budget):
    """No text is omitted."""
    first = 0
    while first < len(texts):
        tree, count = build_tree(texts, [1] * len(texts), first, budget)
        assert count >= 1
        assert len(tree.tokens) <= budget or count == 1
        assert len(tree.indices) == count
        first += count
    assert first == len(texts)


@given(TEXTS)
def test_common_prefix_is_equal_and_maximal(texts):
    one, other = texts[0], texts[-1]
    shared = count_common_prefix(one, other)
    assert one[:shared] == other[:shared]
    assert one[shared : shared + 1] != other[shared : shared + 1] or one == other
