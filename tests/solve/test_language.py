"""Language models score options by their likelihood, in four ways from one pass."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples
from winosmith import Dataset, Prediction, Problem, formats, metrics, models, practice, solve
from winosmith.errors import DataError, InputError
from winosmith.testing import make_twins, tiny_language_model

pytestmark = pytest.mark.models

MakeModel = Callable[..., Path]

PROBLEMS = make_twins(10, singles=2)


def _sum(values: list[float], per_token: bool) -> float:
    return float(np.mean(values) if per_token else np.sum(values))


def _causal_by_hand(folder: Path, problem: Problem, option: int, kind: str) -> float:
    """Return a causal score from transformers itself, for a text whose parts don't join."""
    import torch
    import transformers

    network = transformers.AutoModelForCausalLM.from_pretrained(str(folder)).eval()
    tokeniser = transformers.AutoTokenizer.from_pretrained(str(folder))
    context = problem.sentence.split("_")[0] + problem.options[option]
    ids = tokeniser(problem.fill(option))["input_ids"]
    with torch.inference_mode():
        values = torch.log_softmax(network(torch.tensor([ids])).logits[0].double(), -1)
    start = len(tokeniser(context)["input_ids"]) if kind.startswith("partial") else 1
    kept = [float(values[at - 1, ids[at]]) for at in range(start, len(ids))]
    return _sum(kept, kind.endswith("per_token"))


@pytest.mark.parametrize("kind", ["partial", "full", "partial_per_token", "full_per_token"])
def test_causal_scores_are_those_of_the_formula(make_language_model: MakeModel, kind: str) -> None:
    """Full counts all tokens but the first, partial those after the option; summed or averaged."""
    folder = make_language_model("gpt2")
    scores = solve.Causal(folder, kind).score(PROBLEMS[:3])
    for problem, own in zip(PROBLEMS[:3], scores, strict=True):
        expected = [_causal_by_hand(folder, problem, option, kind) for option in (0, 1)]
        np.testing.assert_allclose(own, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("solver", "architecture"), [(solve.Causal, "llama"), (solve.Masked, "bert")]
)
def test_all_scores_come_from_one_pass(
    make_language_model: MakeModel, solver: type, architecture: str
) -> None:
    """Each of the four is what it is alone, and a causal model reads no more for all of them."""
    folder = make_language_model(architecture, masked=solver is solve.Masked)
    every = solver(folder).compute_all_scores(PROBLEMS)
    assert len(every.scores) == 4
    for kind, scores in every.scores.items():
        np.testing.assert_allclose(scores, solver(folder, kind).score(PROBLEMS), atol=1e-5)
    if solver is solve.Causal:
        loaded = models.load_causal_model(folder)
        full = [pair[0] for own in models.make_passages(loaded, PROBLEMS) for pair in own]
        alone = loaded.compute_likelihoods(
            [text.ids for text in full], [text.start for text in full]
        )
        assert every.tokens_fed <= alone.tokens_fed + max(len(text.ids) for text in full)


def test_masked_scores_are_sums_and_means_of_the_hidden_tokens(
    make_language_model: MakeModel,
) -> None:
    """The sentence's score is over each token hidden alone, the option's over all of it hidden."""
    folder = make_language_model("roberta", masked=True)
    model = models.load_masked_model(folder)
    scores = solve.Masked(folder).compute_all_scores(PROBLEMS[:2]).scores
    for row, problem in enumerate(PROBLEMS[:2]):
        one_by_one = models.mask_tokens(model, [problem])[0]
        sentence = [model.compute_likelihoods(texts).values for texts in one_by_one]
        option = model.compute_likelihoods(models.mask_options(model, [problem])[0]).values
        for name, values in (("sentence", [np.concatenate(v) for v in sentence]),
                             ("option", option)):  # fmt: skip
            np.testing.assert_allclose(scores[name][row], [v.sum() for v in values], atol=1e-4)
            np.testing.assert_allclose(
                scores[f"{name}_per_token"][row], [v.mean() for v in values], atol=1e-4
            )


def test_hiding_a_words_later_pieces_changes_its_score(make_language_model: MakeModel) -> None:
    """`within_word` changes the sentence's score, and not the option's."""
    folder = make_language_model("bert", masked=True)
    problem = Problem("1", "They say that the _ stood there.", ("candle777", "drawer777"))
    plain, corrected = (
        solve.Masked(folder, within_word=told).compute_all_scores([problem]).scores
        for told in (False, True)
    )
    assert not np.allclose(plain["sentence"], corrected["sentence"], atol=1e-3)
    np.testing.assert_allclose(plain["option"], corrected["option"], atol=1e-5)


def test_where_nothing_follows_partial_compares_the_options(make_language_model: MakeModel) -> None:
    """As in COPA, partial and full scores then differ by the same amount between the options."""
    problem = Problem("1", "They say that the candle stood there because _",
                      ("the drawer was amber.", "the basket was near the kettle."))  # fmt: skip
    scores = solve.Causal(make_language_model("gpt2")).compute_all_scores([problem]).scores
    (full,), (partial,) = scores["full"], scores["partial"]
    assert full[0] - full[1] == pytest.approx(partial[0] - partial[1], abs=1e-4)
    assert partial[0] > full[0]


def test_options_are_worded_for_the_pronoun(make_language_model: MakeModel) -> None:
    """A possessive blank is scored with the possessive of the option."""
    folder = make_language_model("gpt2")
    blank = Problem("1", "They say that _ candle stood.", ("Ann", "The lamp"), pronoun="his")
    owned = Problem("2", "They say that _ candle stood.", ("Ann's", "the lamp's"))
    for solver in (solve.Causal(folder), solve.Masked(make_language_model("bert", masked=True))):
        one, other = solver.score([blank, owned])
        np.testing.assert_allclose(one, other, atol=1e-5)


def _harness(model: models.CausalModel, problems: Dataset, prompt: str) -> int:
    """Return the tokens that lm-evaluation-harness feeds, its padding not counted."""
    texts = [
        pair[1] for own in models.make_passages(model, problems, prompt=prompt) for pair in own
    ]
    return sum(len(text.ids) - 1 for text in texts)


def test_partial_scores_feed_less_than_the_harness(tmp_path: Path, quiet_models: None) -> None:
    """Twins zero-shot need less than half of its tokens, 30 fixed shots less than a 25th."""
    data = practice.generate_corpus(150).dataset
    texts = [text for problem in data for text in problem.fill_all()]
    folder = tiny_language_model(tmp_path, texts=texts, vocabulary=2000)
    model = models.load_causal_model(folder)
    prompt = solve.make_prompt(practice.generate_corpus(40, seed=9).dataset, 30)
    for shots, factor in (("", 2), (prompt, 25)):
        fed = solve.Causal(folder, prompt=shots).compute_all_scores(data).tokens_fed
        assert fed * factor <= _harness(model, data, shots)


@pytest.mark.data
def test_real_problems_feed_less_than_the_harness(
    data_dir: Path, tmp_path: Path, quiet_models: None
) -> None:
    """Of WSC273 and WinoGrande's train_m, partial scores need less than half of its tokens.

    Of WinoGrande's dev part, of which more than half has lost its twin, they need less than 1/1.8.
    """
    sets = {
        "wsc/wsc-273.jsonl": 2.0,
        "winogrande/train_m.jsonl": 2.0,
        "winogrande/dev.jsonl": 1.8,
    }
    data = {name: formats.read(data_dir / name)[:600] for name in sets}
    texts = [text for held in data.values() for problem in held for text in problem.fill_all()]
    folder = tiny_language_model(tmp_path, texts=texts, vocabulary=4000)
    model = models.load_causal_model(folder)
    for name, factor in sets.items():
        fed = solve.Causal(folder).compute_all_scores(data[name]).tokens_fed
        assert fed * factor <= _harness(model, data[name], "")


def test_shots_are_drawn_by_the_seed_and_hold_the_answers() -> None:
    """The same seed gives the same prompt, which holds distinct problems with their answers."""
    problems = make_twins(20)
    prompt = solve.make_prompt(problems, 5, seed=3)
    assert (
        prompt == solve.make_prompt(problems, 5, seed=3) != solve.make_prompt(problems, 5, seed=4)
    )
    solved = {problem.fill(problem.answer) for problem in problems if problem.answer is not None}
    drawn = prompt.split("\n\n")
    assert drawn[-1] == ""
    assert len({*drawn[:-1]}) == 5
    assert {*drawn[:-1]} <= solved
    with pytest.raises(DataError, match="41 shots can't be drawn from 40 problems"):
        solve.make_prompt(problems, 41)
    with pytest.raises(DataError, match="1 shots can't be drawn from 0 problems"):
        solve.make_prompt(problems.blind(), 1)


class _Given:
    """A solver that gives what it was told."""

    def __init__(self, *scores: tuple[float, ...]):
        self.scores = scores

    def score(self, problems: object) -> list[tuple[float, ...]]:
        return list(self.scores)


LOGS = st.lists(st.tuples(*[st.floats(-30, 0)] * 2), min_size=3, max_size=3)


@given(st.lists(LOGS, min_size=1, max_size=4))
@examples(40)
def test_a_product_of_models_has_the_calibration_of_their_product(logs: list[Any]) -> None:
    """Its scores are the logarithm of the product of likelihoods, so is the Brier score's."""
    data = make_twins(0, singles=3)
    found = solve.Ensemble(tuple(_Given(*of) for of in logs)).score(data.problems)
    product = np.exp(np.array(logs)).prod(0)
    np.testing.assert_allclose(np.exp(np.array(found)), product, rtol=1e-9)
    made = [
        Prediction(id_, int(np.argmax(of)), of) for id_, of in zip(data.ids, found, strict=True)
    ]
    calibration = metrics.measure_calibration(metrics.grade(data, made))
    stated = product / product.sum(1, keepdims=True)
    right = np.eye(2)[list(data.answers)]
    assert calibration.brier == pytest.approx(((stated - right) ** 2).sum(1).mean(), abs=1e-9)


def test_a_vote_counts_models_and_settles_ties_by_the_product() -> None:
    """Two of three win whatever the product says; one against one is the product's."""
    three = (_Given((-1.0, -2.0)), _Given((-1.0, -2.0)), _Given((-90.0, -2.0)))
    (first,) = solve.Ensemble(three, "vote").score([PROBLEMS[0]])
    assert first[0] > first[1]
    (tie,) = solve.Ensemble(three[1:], "vote").score([PROBLEMS[0]])
    assert tie[0] < tie[1] < 2


def test_an_ensemble_of_one_decides_as_it_does(make_language_model: MakeModel) -> None:
    """Alone, a model gives the product's scores, and wins every vote."""
    alone = solve.Causal(make_language_model("gpt2"))
    scores = np.array(alone.score(PROBLEMS))
    np.testing.assert_allclose(solve.Ensemble((alone,)).score(PROBLEMS), scores, atol=1e-5)
    votes = np.array(solve.Ensemble((alone,), "vote").score(PROBLEMS))
    assert np.array_equal(votes.argmax(1), scores.argmax(1))


def test_what_is_no_score_is_refused(make_language_model: MakeModel) -> None:
    """An unknown score or combination, and an ensemble of none, are told."""
    folder = make_language_model("gpt2")
    with pytest.raises(InputError, match="unknown score 'half'; use 'partial', 'full', "):
        solve.Causal(folder, "half").score(PROBLEMS)
    with pytest.raises(InputError, match="unknown score 'full'; use 'sentence', 'option', "):
        solve.Masked(folder, "full").score(PROBLEMS)
    with pytest.raises(InputError, match="unknown combination 'max'; use 'product' or 'vote'"):
        solve.Ensemble((solve.Random(),), "max").score(PROBLEMS)
    with pytest.raises(InputError, match="an ensemble needs at least one solver"):
        solve.Ensemble(()).score(PROBLEMS)


def test_damaged_weights_are_told(make_language_model: MakeModel, tmp_path: Path) -> None:
    """A model that gives no numbers is refused, with the first problem."""
    import transformers

    folder = make_language_model("gpt2")
    network = transformers.AutoModelForCausalLM.from_pretrained(str(folder))
    network.transformer.ln_f.weight.data[:] = float("nan")
    network.save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(str(folder)).save_pretrained(tmp_path)
    with pytest.raises(DataError, match="non-finite values, first for '0-0'"):
        solve.Causal(tmp_path).score(PROBLEMS)


def test_nothing_is_loaded_before_it_is_asked(tmp_path: Path) -> None:
    """A solver for a model that is not there can be made, and says so when it is asked."""
    solvers = (solve.Causal(tmp_path / "none"), solve.Masked(tmp_path / "none"))
    for solver in solvers:
        with pytest.raises(InputError, match="there is no such folder"):
            solver.score(PROBLEMS)


def test_parameters_determine_the_scores(make_language_model: MakeModel) -> None:
    """They name the weights' digest, the score and the prompt's digest, and hold no path."""
    folder = make_language_model("gpt2")
    told = solve.Causal(folder, "full", prompt="A cup.\n").parameters
    assert told["score"] == "full"
    assert told["model"] == models.digest_weights(folder)[:12]
    assert told["prompt"] != solve.Causal(folder, "full", prompt="A jug.\n").parameters["prompt"]
    assert str(folder) not in str(solve.Ensemble((solve.Causal(folder),)).parameters)
