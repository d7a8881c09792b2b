"""Filters, measurements and reports for problems with more than two options."""

import html
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from winosmith import Dataset, Problem, debias, formats
from winosmith.build import EmbedRecipe, FilterRecipe, debias_to_folder, run_filter
from winosmith.build._report_filter import write_verdict
from winosmith.cli import main
from winosmith.embed import EncoderEmbedder, OptionsEmbedder, save_array
from winosmith.errors import DataError, RecipeError


def problem(number: int, rng: np.random.Generator) -> Problem:
    """Return a problem of 2 to 5 options; in half of them, a word marks the correct option."""
    names = rng.permutation([f"{a}{b}" for a in "bcdfg" for b in ("ake", "oll", "ine", "ust")])
    options = [str(name) for name in names[: rng.integers(2, 6)]]
    answer = int(rng.integers(len(options)))
    if number % 2:
        options[answer] += " mostly"
    return Problem(f"q{number:03}", f"Which is number {number}? _", tuple(options), answer)


POOL = Dataset(problem(number, np.random.default_rng(number)) for number in range(240))
QUICK: dict[str, Any] = {"embed": EmbedRecipe(dimensions=64), "splits": 1}


@pytest.mark.parametrize("aim", ["error", "chance"])
def test_debias_filters_and_measures_two_to_five_options(tmp_path, aim):
    """Chance is the mean of 1 / K, and the page states that only the options are read."""
    formats.write(POOL.problems, tmp_path / "set.jsonl")
    asked = ["debias", str(tmp_path / "set.jsonl"), "--out", str(tmp_path / "out"), "--aim", aim]
    assert main([*asked, "--method", "mirror", "--splits", "1"]) == 0
    gone = (tmp_path / "out/dropped.jsonl").read_text("utf-8").splitlines()
    told = ["mostly" in line for line in gone]
    assert np.mean(told) > 0.8
    assert sum(told) > (100 if aim == "error" else 60)
    report = json.loads((tmp_path / "out/report.json").read_text("utf-8"))
    measured = report["measures"]["verified"]["before"]["linear"]
    mean = np.mean([1 / len(p.options) for p in POOL])
    assert measured["chance"] == pytest.approx(mean, abs=0.02)
    assert measured["low"] > mean + 0.1
    assert report["measures"]["before"]["chance"] == pytest.approx(mean)
    assert "reads:options" in report["signature"]
    page = html.unescape((tmp_path / "out/report.html").read_text("utf-8"))
    assert "The models read only the options, not the question." in page
    assert "each incorrect prediction represents 1 / (K − 1)" in page
    assert "hashed letters of the options" in page


def test_reports_do_not_depend_on_the_order_of_options(tmp_path):
    other = Dataset(
        replace(p, options=p.options[::-1], answer=len(p.options) - 1 - (p.answer or 0))
        for p in POOL
    )
    found = [
        debias_to_folder(
            data,
            tmp_path / name,
            filter_recipe=FilterRecipe(method="mirror", aim="chance"),
            **QUICK,
        )
        for name, data in (("one", POOL), ("other", other))
    ]
    assert found[0].filtered.kept.ids == found[1].filtered.kept.ids
    assert found[0].measures.verification == found[1].measures.verification
    assert found[0].measures.before == found[1].measures.before
    assert found[0].run.overlaps == found[1].run.overlaps


def test_encoders_read_options_alone_or_in_the_sentence(tmp_path, tiny_encoder):
    told = {}
    for reads in (None, "sentence"):
        done = debias_to_folder(
            POOL.select(range(60)),
            tmp_path / str(reads),
            embed=EmbedRecipe(encoder=str(tiny_encoder), reads=reads),
            filter_recipe=FilterRecipe(method="mirror", again=False),
            splits=0,
        )
        told[reads] = html.unescape((done.folder / "report.html").read_text("utf-8"))
    assert "The models read only the options" in told[None]
    assert "The models read the question and the options" in told["sentence"]
    alone = EncoderEmbedder(tiny_encoder, reads="options", cache=False)
    asked = Problem("b", "Another question? _", POOL[0].options)
    X = alone.embed_options([POOL[0], asked])
    np.testing.assert_allclose(X[0], X[1], atol=1e-5)


def test_random_reduction_of_many_options_is_measured(tmp_path):
    done = debias_to_folder(
        POOL, tmp_path / "out", filter_recipe=FilterRecipe(method="random", keep=200), **QUICK
    )
    assert isinstance(done.measures.verification, debias.Verification)
    assert (len(done.run.kept), set(done.run.subsets)) == (200, {"all", "random"})


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (
            0.20,
            0.30,
            "No model predicts the answers of the kept problems better or worse",
        ),
        (
            0.26,
            0.36,
            "A model can still predict the answers of the kept problems: a two-piece",
        ),
        (0.14, 0.24, "other options are correct more often than by chance; before the filter"),
    ],
)
def test_verdict_compares_with_chance_of_four_options(tmp_path, low, high, told):
    done = debias_to_folder(
        POOL,
        tmp_path / "out",
        filter_recipe=FilterRecipe(method="random", keep=200),
        **{**QUICK, "splits": 0},
    )
    chance = debias.GuesserAccuracy(0.25, 0.15, 0.35, 0.25)
    found = {
        "linear": chance,
        "two-piece": debias.GuesserAccuracy((low + high) / 2, low, high, 0.25),
    }
    verified = debias.Verification(dict(found), found, 0.9, 240, 240, 1, 20)
    assert told in write_verdict(done.run, replace(done.measures, verification=verified))


@pytest.mark.parametrize(
    ("embed", "chosen", "told"),
    [
        ({}, {"method": "aflite"}, r"of 240 problems have more than two options, such as 'q000'; "
         "aflite filters only problems with two options; choose the method 'mirror'"),
        ({}, {"method": "random"}, "or 'random' with `keep`"),
        ({"reads": "sentence"}, {"method": "mirror"}, "the light embedder reads only sentences"),
        ({"array": "X.npz"}, {"method": "mirror"}, "only one vector per problem"),
        ({"encoder": "some", "finetune_train": 100, "finetune_dev": 20}, {"method": "mirror"},
         "an encoder can only be fine-tuned on problems with two options"),
    ],
)  # fmt: skip
def test_two_option_methods_refuse_more_options_early(tmp_path, embed, chosen, told):
    if "array" in embed:
        signature = json.dumps({"parameters": {"combine": "difference"}})
        embed = {"array": str(tmp_path / "X.npz")}
        save_array(embed["array"], np.ones((240, 2), np.float32), POOL.ids, signature=signature)
    with pytest.raises(DataError, match=told):
        debias_to_folder(
            POOL, tmp_path / "out", embed=EmbedRecipe(**embed), filter_recipe=FilterRecipe(**chosen)
        )
    assert not (tmp_path / "out").exists()


def test_reads_with_an_array_is_refused():
    with pytest.raises(RecipeError, match="neither can be used"):
        EmbedRecipe(array="X.npz", reads="options")


def test_light_embedder_can_read_two_options_alone(tmp_path):
    two = Dataset(replace(p, options=p.options[:2], answer=0) for p in POOL if p.answer == 0)
    recipe = EmbedRecipe(dimensions=64, reads="options")
    done = debias_to_folder(
        two, tmp_path / "out", embed=recipe, filter_recipe=FilterRecipe(method="mirror"), splits=0
    )
    assert np.array_equal(done.run.X, OptionsEmbedder(64).embed(two))
    assert str(done.measures.signature).count("reads:options") == 1


def test_options_are_read_by_words_and_relative_length():
    """Case and position don't count. Only a unique longest or shortest option is marked."""
    one = Problem("a", "One? _", ("The Cup", "a jug of tea", "tea"), 0)
    other = Problem("b", "Two? _", ("a jug of tea", "the cup", "cups of tea!"), 0)
    X = OptionsEmbedder(32).embed_options([one, other])
    assert np.array_equal(X[0, 0, :32], X[1, 1, :32])
    assert X[0, :, 32:].tolist() == [[0, 0], [1, 0], [0, 1]]
    assert X[1, :, 32:].tolist() == [[0, 0], [0, 1], [0, 0]]


def test_options_of_questions_are_read_alone_by_default(tmp_path):
    """A problem without a blank is a question."""
    asked = Dataset(
        Problem(p.id, f"Which is number {p.id}?", p.options[:2], 0, blank=None)
        for p in POOL
        if p.answer == 0
    )
    chosen, signatures = FilterRecipe(method="mirror", again=False), []
    for reads in (None, "sentence"):
        recipe = EmbedRecipe(dimensions=64, reads=reads)
        done = debias_to_folder(
            asked, tmp_path / str(reads), embed=recipe, filter_recipe=chosen, splits=0
        )
        signatures.append(str(done.measures.signature))
    assert ["reads:options" in one for one in signatures] == [True, False]


def test_independent_model_reads_the_letters_of_options(tmp_path):
    """A question has no words around a blank to read."""
    pairs = [((f"a{n}", f"b{n}"), (f"b{n}", f"a{n}")) for n in range(80)]
    asked = Dataset(
        Problem(f"q{n}", f"Which is number {n}?", pair[n % 2], n % 2, blank=None)
        for n, pair in enumerate(pairs)
    )
    done = debias_to_folder(
        asked, tmp_path / "out", filter_recipe=FilterRecipe(method="random", keep=60), **QUICK
    )
    assert isinstance(done.measures.verification, debias.Verification)
    assert done.measures.verification.before["independent"].low > 0.85
    page = html.unescape((done.folder / "report.html").read_text("utf-8"))
    assert "a linear model on hashed letters of the options" in page


def test_mirror_filters_the_maximum_of_26_options():
    rng = np.random.default_rng(0)
    pool = Dataset(
        Problem(f"q{n}", f"Which is {n}?", tuple(f"choice {n} {at}" for at in range(26)),
                int(rng.integers(26)), blank=None)
        for n in range(60)
    )  # fmt: skip
    X = OptionsEmbedder(32).embed_options(pool)
    X[np.arange(30), pool.answers[:30], 0] += 5
    found = run_filter(pool, X, FilterRecipe(method="mirror", aim="chance"), seed=0)
    assert found.mirror is not None
    assert set(found.mirror[0].options.tolist()) == {26}
    assert len(found.kept) < 45
    assert np.mean(np.setdiff1d(range(60), found.kept) < 30) > 0.8
