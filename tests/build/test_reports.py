"""Figures in the report of a filter, on the page and in its JSON."""

import html
import json
from dataclasses import replace

import numpy as np
import pytest

from winosmith import Dataset, Lineage, debias
from winosmith.build import EmbedRecipe, FilterRecipe, debias_to_folder, run_filter
from winosmith.build._filter import _scale_settings
from winosmith.build._filtering import Filtering, get_combination
from winosmith.build._report_filter import make_figures
from winosmith.embed import LightEmbedder, save_array
from winosmith.outputs import OutputFolder
from winosmith.parallel import no_progress
from winosmith.testing import make_twins

DATA = make_twins(40, singles=20)
EMBED = EmbedRecipe(dimensions=16)


def filtered(tmp_path, embed=EMBED, *, splits=1, **chosen):
    """Filter the data and return the result, the report as JSON, and the text of the page."""
    recipe = FilterRecipe(ensemble_size=8, **chosen)
    done = debias_to_folder(
        DATA, tmp_path / "out", embed=embed, filter_recipe=recipe, splits=splits
    )
    record = json.loads((done.folder / "report.json").read_text("utf-8"))
    return done, record, html.unescape((done.folder / "report.html").read_text("utf-8"))


@pytest.mark.parametrize("method", ["aflite", "random", "pmi", "none"])
def test_first_figure_is_the_accuracy_across_halves(tmp_path, method):
    """Each half was filtered separately."""
    keep = 60 if method in ("random", "pmi") else None
    splits = 5 if method == "none" else 2
    done, record, page = filtered(tmp_path, splits=splits, method=method, keep=keep, again=False)
    verified = record["measures"]["verified"]
    before, after = verified["before"]["linear"], verified["after"]["linear"]
    assert list(verified["after"]) == ["linear", "two-piece", "independent"]
    figure = record["figures"][0]
    assert figure["label"] == "accuracy of a linear model"
    shares = [before] if method == "none" else [before, after]
    assert figure["value"].replace("\xa0", " ") == " → ".join(
        f"{100 * guess['accuracy']:.1f} %" for guess in shares
    )
    assert figure["value"] in page
    assert figure["note"] in page
    if keep:
        assert verified["kept"] == pytest.approx(keep / len(DATA), abs=0.02)
    if method == "none":
        assert verified["before"] == verified["after"]
    assert done.measures.verification.splits == splits


@pytest.mark.parametrize(("splits", "twins"), [(0, 40), (5, 9)])
def test_unmeasured_success_is_reported_with_a_reason(tmp_path, splits, twins):
    data = make_twins(twins)
    chosen = FilterRecipe(ensemble_size=8, again=False)
    done = debias_to_folder(
        data, tmp_path / "out", embed=EMBED, filter_recipe=chosen, splits=splits
    )
    record = json.loads((done.folder / "report.json").read_text("utf-8"))
    reason = record["measures"]["not_verified"]
    assert ("measure.splits is 0" in reason) == (not splits)
    assert ("there are 9 blocks" in reason) == bool(splits)
    assert record["measures"]["verified"] is None
    assert record["figures"][0]["value"].endswith("→ —")
    assert reason in record["figures"][0]["note"]
    assert reason in html.unescape((done.folder / "report.html").read_text("utf-8"))


def test_one_block_has_no_accuracy(tmp_path):
    done = debias_to_folder(
        make_twins(1), tmp_path, embed=EMBED, filter_recipe=FilterRecipe("none")
    )
    figure = json.loads((done.folder / "report.json").read_text("utf-8"))["figures"][0]
    assert figure["value"] == "—"
    assert "not measured" in figure["note"]


def test_numbers_of_problems_are_halved_for_a_half():
    X = np.random.default_rng(0).normal(size=(len(DATA), 4))
    chosen = FilterRecipe(ensemble_size=8, train_size=40, cutoff=4, target_size=80, null="report")
    run = run_filter(DATA, X, chosen, seed=0)
    half = _scale_settings(run, chosen, len(DATA) // 2)
    assert (half.train_size, half.cutoff, half.target_size, half.null) == (20, 2, 40, "off")
    assert _scale_settings(run, replace(chosen, cutoff=0.1), 10).cutoff == 0.1
    drawn = replace(chosen, method="random", keep=None)
    half = _scale_settings(run_filter(DATA, X, drawn, seed=0), drawn, len(DATA) // 2)
    assert half.keep == round(len(run.kept) / 2)


@pytest.mark.parametrize("method", ["aflite", "random", "pmi"])
def test_report_states_the_effect_of_the_seed_by_method(tmp_path, method):
    _, record, page = filtered(tmp_path, method=method, keep=None if method == "aflite" else 40)
    for words in ("The problems that a phase removes", "Perturbed vectors"):
        assert (words in page) == (method == "aflite")
    notes = " ".join(figure["note"] for figure in record["figures"])
    assert ("only determines ties and the selection of 20 singles" in notes) == (method == "pmi")
    assert ("the seed determines all removals" in notes) == (method == "random")


@pytest.mark.parametrize("roots", [1, 4])
def test_pool_of_few_blocks_is_filtered_unmeasured(tmp_path, roots):
    data = Dataset(
        replace(p, lineage=Lineage(f"{row % roots}", f"{row % roots}"), twin_id=None)
        for row, p in enumerate(make_twins(60))
    )
    chosen = FilterRecipe(ensemble_size=8, again=False)
    done = debias_to_folder(data, tmp_path / "out", embed=EMBED, filter_recipe=chosen)
    record = json.loads((done.folder / "report.json").read_text("utf-8"))
    assert (record["measures"]["before"] is None) == (roots == 1)
    assert "requires 20 blocks or more" in record["figures"][0]["note"]
    assert "Not measured: there" in (done.folder / "report.html").read_text("utf-8")


def test_twins_are_removed_whole_but_families_in_part():
    """Half of each family has an obvious answer."""
    data = Dataset(
        replace(problem, lineage=Lineage(f"{row // 60}", f"{row // 60}"))
        for row, problem in enumerate(make_twins(300))
    )
    X = np.random.default_rng(0).normal(size=(600, 4))
    told = np.arange(600) % 60 < 30
    X[told, 0] += 6 * (2 * np.array(data.answers)[told] - 1)
    chosen = FilterRecipe(ensemble_size=8, train_size=120, cutoff=60, remove="twins")
    kept = set(run_filter(data, X, chosen, seed=0).kept.tolist())
    families = [len(kept & set(range(first, first + 60))) for first in range(0, 600, 60)]
    assert all(0 < left < 60 for left in families)
    assert all(len(kept & set(twin)) in (0, 2) for twin in data.twins)


def test_fraction_with_distinct_vectors_is_a_figure(tmp_path):
    """It is reported if the halves of most twins have equal vectors."""
    data = make_twins(40)
    X = np.zeros((80, 1))
    X[: 2 * 15 : 2] = 1
    separability = debias.measure_separability(data, X)
    chosen, folder = FilterRecipe(ensemble_size=8, null_draws=20), OutputFolder(tmp_path, {})
    run = replace(run_filter(data, X, chosen, seed=0), separability=separability)
    filtering = Filtering(EmbedRecipe(), chosen, 0, 0, folder, no_progress)
    measures = filtering.measure(run, digest=data.digest, n=80, shown=range(80))
    figures = {figure.label: figure.value for figure in make_figures(run, measures)}
    assert figures["of twins and singles have vectors that depend on the answer"] == 15 / 40


@pytest.mark.parametrize("label", ["first-mentioned", "option-1"])
def test_pmi_label_is_in_page_and_json(tmp_path, label):
    said = {"first-mentioned": "the option mentioned first", "option-1": "option 1"}[label]
    _, record, page = filtered(tmp_path, method="pmi", keep=50, again=False, pmi_label=label)
    assert record["parameters"]["filter"]["pmi_label"] == label
    assert said in [figure["value"] for figure in record["figures"]]
    assert f"In PMI filtering, y = 1 if {said} is correct." in page


def test_pmi_drops_singles_at_random_and_twins_by_words(tmp_path):
    done, _, page = filtered(tmp_path, method="pmi", keep=50)
    singles = set(DATA.singles)
    for row, reason in done.run.reasons.items():
        assert reason.startswith("random: " if row in singles else "association: ")
    assert "it draws the same fraction of the 20 singles at random" in page


@pytest.mark.parametrize("combine", ["difference", "concat"])
def test_chance_is_one_half_for_difference_and_concat(tmp_path, combine):
    embed = EmbedRecipe(dimensions=16, combine=combine)
    _, record, _ = filtered(tmp_path, embed, method="pmi", keep=50, again=False)
    found = record["measures"]["verified"]
    assert {one["chance"] for when in ("before", "after") for one in found[when].values()} == {0.5}


def test_combination_is_read_from_recipe_or_array_signature(tmp_path):
    """An array without a valid signature has none."""
    X = LightEmbedder(16).embed(DATA)
    for combine in ("difference", "concat"):
        assert get_combination(EmbedRecipe(combine=combine)) == combine
        told = {"parameters": {"combine": combine}}
        save_array(tmp_path / f"{combine}.npz", X, DATA.ids, signature=json.dumps(told))
        of_file = EmbedRecipe(array=str(tmp_path / f"{combine}.npz"))
        assert get_combination(of_file) == combine
    save_array(tmp_path / "own.npz", X, DATA.ids)
    save_array(tmp_path / "odd.npz", X, DATA.ids, signature="[not JSON")
    for name in ("own.npz", "odd.npz"):
        assert get_combination(EmbedRecipe(array=str(tmp_path / name))) == ""
