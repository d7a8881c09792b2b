"""Language models as solvers: four scores from one pass, prompts and ensembles."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples
from winosmith import Dataset, Prediction, Problem, formats, metrics, models, practice, solve
from winosmith.errors import DataError, InputError
from winosmith.testing import make_twins, tiny_language_model

pytestmark = pytest.mark.models
PROBLEMS = make_twins(10, singles=2)


def _sum(values: list[float], per_token: bool) -> float:
    return float(np.mean(values) if per_token else np.sum(values))


def _compute_causal_score(folder: Path, problem: Problem, option: int, kind: str) -> float:
    """Return a causal score, computed by transformers, of a text whose parts don't merge."""
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
def test_causal_scores_follow_their_formulas(make_language_model, kind):
    """Full counts all tokens but the first, partial those after the option; as a sum or mean."""
    folder = make_language_model("gpt2")
    scores = solve.Causal(folder, kind).score(PROBLEMS[:3])
    for problem, own in zip(PROBLEMS[:3], scores, strict=True):
        expected = [_compute_causal_score(folder, problem, option, kind) for option in (0, 1)]
        np.testing.assert_allclose(own, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("solver", "architecture"), [(solve.Causal, "llama"), (solve.Masked, "bert")]
)
def test_all_scores_come_from_one_pass(make_language_model, solver, architecture):
    """A causal model reads no more texts for all four scores than for the full score."""
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


def test_masked_scores_are_sums_and_means_of_masked_tokens(make_language_model):
    """For the sentence's score, each token is masked separately; for the option's, all at once."""
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


def test_within_word_changes_only_the_sentence_score(make_language_model):
    folder = make_language_model("bert", masked=True)
    problem = Problem("1", "They say that the _ stood there.", ("candle777", "drawer777"))
    plain, corrected = (
        solve.Masked(folder, within_word=told).compute_all_scores([problem]).scores
        for told in (False, True)
    )
    assert not np.allclose(plain["sentence"], corrected["sentence"], atol=1e-3)
    np.testing.assert_allclose(plain["option"], corrected["option"], atol=1e-5)


def test_partial_and_full_agree_if_the_option_comes_last(make_language_model):
    """As in COPA. They differ by the same amount for both options."""
    problem = Problem("1", "They say that the candle stood there because _",
                      ("the drawer was amber.", "the basket was near the kettle."))  # fmt: skip
    scores = solve.Causal(make_language_model("gpt2")).compute_all_scores([problem]).scores
    (full,), (partial,) = scores["full"], scores["partial"]
    assert full[0] - full[1] == pytest.approx(partial[0] - partial[1], abs=1e-4)
    assert partial[0] > full[0]


def test_possessive_blanks_get_possessive_options(make_language_model):
    folder = make_language_model("gpt2")
    blank = Problem("1", "They say that _ candle stood.", ("Ann", "The lamp"), pronoun="his")
    owned = Problem("2", "They say that _ candle stood.", ("Ann's", "the lamp's"))
    for solver in (solve.Causal(folder), solve.Masked(make_language_model("bert", masked=True))):
        one, other = solver.score([blank, owned])
        np.testing.assert_allclose(one, other, atol=1e-5)


def _count_harness_tokens(model: models.CausalModel, problems: Dataset, prompt: str) -> int:
    """Return the number of tokens that lm-evaluation-harness feeds, without padding."""
    texts = [
        pair[1] for own in models.make_passages(model, problems, prompt=prompt) for pair in own
    ]
    return sum(len(text.ids) - 1 for text in texts)


def test_partial_scores_feed_less_than_the_harness(tmp_path, quiet_models):
    """Zero-shot twins need less than half of its tokens, and 30 fixed shots less than 1/25."""
    data = practice.generate_corpus(150).dataset
    texts = [text for problem in data for text in problem.fill_all()]
    folder = tiny_language_model(tmp_path, texts=texts, vocabulary=2000)
    model = models.load_causal_model(folder)
    prompt = solve.make_prompt(practice.generate_corpus(40, seed=9).dataset, 30)
    for shots, factor in (("", 2), (prompt, 25)):
        fed = solve.Causal(folder, prompt=shots).compute_all_scores(data).tokens_fed
        assert fed * factor <= _count_harness_tokens(model, data, shots)


@pytest.mark.data
def test_real_problems_feed_less_than_the_harness(data_dir, tmp_path, quiet_models):
    """WSC273 and WinoGrande's train_m need less than half of its tokens for partial scores.

    WinoGrande's dev set needs less than 1/1.8: more than half of its problems have lost their
    twin.
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
        assert fed * factor <= _count_harness_tokens(model, data[name], "")


def test_seed_determines_the_shots_of_a_prompt():
    """The prompt has distinct problems with their answers."""
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
    """A solver with fixed scores."""

    def __init__(self, *scores: tuple[float, ...]):
        self.scores = scores

    def score(self, problems: object) -> list[tuple[float, ...]]:
        return list(self.scores)


LOGS = st.lists(st.tuples(*[st.floats(-30, 0)] * 2), min_size=3, max_size=3)


@given(st.lists(LOGS, min_size=1, max_size=4))
@examples(40)
def test_ensemble_scores_are_logs_of_the_product(logs):
    """So its Brier score is that of the normalised product."""
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


def test_vote_counts_models_and_the_product_breaks_ties():
    three = (_Given((-1.0, -2.0)), _Given((-1.0, -2.0)), _Given((-90.0, -2.0)))
    (first,) = solve.Ensemble(three, "vote").score([PROBLEMS[0]])
    assert first[0] > first[1]
    (tie,) = solve.Ensemble(three[1:], "vote").score([PROBLEMS[0]])
    assert tie[0] < tie[1] < 2


def test_ensemble_of_one_decides_as_its_model(make_language_model):
    alone = solve.Causal(make_language_model("gpt2"))
    scores = np.array(alone.score(PROBLEMS))
    np.testing.assert_allclose(solve.Ensemble((alone,)).score(PROBLEMS), scores, atol=1e-5)
    votes = np.array(solve.Ensemble((alone,), "vote").score(PROBLEMS))
    assert np.array_equal(votes.argmax(1), scores.argmax(1))


def test_unknown_scores_and_empty_ensembles_are_refused(make_language_model):
    folder = make_language_model("gpt2")
    with pytest.raises(InputError, match="unknown score 'half'; use 'partial', 'full', "):
        solve.Causal(folder, "half").score(PROBLEMS)
    with pytest.raises(InputError, match="unknown score 'full'; use 'sentence', 'option', "):
        solve.Masked(folder, "full").score(PROBLEMS)
    with pytest.raises(InputError, match="unknown combination 'max'; use 'product' or 'vote'"):
        solve.Ensemble((solve.Random(),), "max").score(PROBLEMS)
    with pytest.raises(InputError, match="an ensemble needs at least one solver"):
        solve.Ensemble(()).score(PROBLEMS)


def test_damaged_weights_are_reported_with_a_problem(make_language_model, tmp_path):
    import transformers

    folder = make_language_model("gpt2")
    network = transformers.AutoModelForCausalLM.from_pretrained(str(folder))
    network.transformer.ln_f.weight.data[:] = float("nan")
    network.save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(str(folder)).save_pretrained(tmp_path)
    with pytest.raises(DataError, match="non-finite values, first for '0-0'"):
        solve.Causal(tmp_path).score(PROBLEMS)


def test_models_are_loaded_at_the_first_problem(tmp_path):
    """So a solver for a missing model can be created."""
    solvers = (solve.Causal(tmp_path / "none"), solve.Masked(tmp_path / "none"))
    for solver in solvers:
        with pytest.raises(InputError, match="there is no such folder"):
            solver.score(PROBLEMS)


def test_parameters_have_digests_and_no_paths(make_language_model):
    folder = make_language_model("gpt2")
    told = solve.Causal(folder, "full", prompt="A cup.\n").parameters
    assert told["score"] == "full"
    assert told["model"] == models.digest_weights(folder)[:12]
    assert told["prompt"] != solve.Causal(folder, "full", prompt="A jug.\n").parameters["prompt"]
    assert str(folder) not in str(solve.Ensemble((solve.Causal(folder),)).parameters)
