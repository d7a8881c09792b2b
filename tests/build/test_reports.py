"""What the report of a filter says of its figures, on the page and in its JSON."""

from __future__ import annotations

import html
import json
from dataclasses import replace

import numpy as np
import pytest

from winosmith import Dataset, Lineage, debias
from winosmith.build import EmbedRecipe, FilterRecipe, debias_to_folder, measure, run_filter
from winosmith.build._report_filter import key_figures
from winosmith.build._vectors import turning
from winosmith.embed import LightEmbedder, save_array
from winosmith.report import sign
from winosmith.testing import made_twins

DATA = made_twins(40, singles=20)
EMBED = EmbedRecipe(dimensions=16)


def filtered(tmp_path, embed=EMBED, **chosen):
    """Return the report of a filter as JSON, and the text of its page."""
    done = debias_to_folder(
        DATA, tmp_path / "out", embed=embed, chosen=FilterRecipe(ensemble_size=8, **chosen)
    )
    record = json.loads((done.folder / "report.json").read_text("utf-8"))
    return done, record, html.unescape((done.folder / "report.html").read_text("utf-8"))


@pytest.mark.parametrize(("method", "told"), [("aflite", True), ("random", False), ("pmi", False)])
def test_a_figure_of_what_was_selected_by_its_answers_says_so(tmp_path, method, told):
    """Beside what a linear model guesses after AFLite stands what that figure is, and why."""
    keep = None if method == "aflite" else 40
    _, record, page = filtered(tmp_path, method=method, keep=keep)
    [note] = [f["note"] for f in record["figures"] if "guessed" in f["label"]]
    assert (debias.SELECTED in note) == told
    assert (debias.SELECTED in page) == told


def test_that_sentence_is_true_of_figures_above_one_half_too():
    """What AFLite kept after one phase is often guessed above one half: nothing is said of that."""
    assert "too low by construction" in debias.SELECTED
    assert "half" not in debias.SELECTED


@pytest.mark.parametrize("method", ["aflite", "random", "pmi"])
def test_what_another_seed_changes_is_said_of_the_method(tmp_path, method):
    """Phases and shaken vectors are AFLite's; PMI draws ties and singles, random all."""
    _, record, page = filtered(tmp_path, method=method, keep=None if method == "aflite" else 40)
    for words in ("Which problems one phase removes", "Shaken vectors"):
        assert (words in page) == (method == "aflite")
    notes = " ".join(figure["note"] for figure in record["figures"])
    assert ("among ties, and of the 20 singles" in notes) == (method == "pmi")
    assert ("the seed draws them all" in notes) == (method == "random")


@pytest.mark.parametrize("roots", [1, 4])
def test_a_pool_of_few_blocks_is_filtered(tmp_path, roots):
    """Families of one, or of four roots are filtered; of one block there is no figure, and why."""
    data = Dataset(
        replace(p, lineage=Lineage(f"{row % roots}", f"{row % roots}"), twin_id=None)
        for row, p in enumerate(made_twins(60))
    )
    chosen = FilterRecipe(ensemble_size=8, again=False)
    done = debias_to_folder(data, tmp_path / "out", embed=EMBED, chosen=chosen)
    record = json.loads((done.folder / "report.json").read_text("utf-8"))
    probe = record["measures"]["probes"]["all"]
    [note] = [f["note"] for f in record["figures"] if "guessed" in f["label"]]
    assert (probe is None) == ("fewer than two blocks" in note) == (roots == 1)


def test_twins_go_whole_and_families_do_not():
    """Of ten families of 60, each half given away, some of each go, and both halves of a twin."""
    data = Dataset(
        replace(problem, lineage=Lineage(f"{row // 60}", f"{row // 60}"))
        for row, problem in enumerate(made_twins(300))
    )
    X = np.random.default_rng(0).normal(size=(600, 4))
    told = np.arange(600) % 60 < 30
    X[told, 0] += 6 * (2 * np.array(data.answers)[told] - 1)
    chosen = FilterRecipe(ensemble_size=8, train_size=120, cutoff=60, remove="twins")
    kept = set(run_filter(data, X, chosen, seed=0).kept.tolist())
    families = [len(kept & set(range(first, first + 60))) for first in range(0, 600, 60)]
    assert all(0 < left < 60 for left in families)
    assert all(len(kept & set(twin)) in (0, 2) for twin in data.twins)


def test_vectors_of_zeros_are_told():
    """Where the embedder sees nothing, a figure says so, and no column more or less is needed."""
    data = made_twins(40)
    run = run_filter(data, np.zeros((80, 1)), FilterRecipe(ensemble_size=8), seed=0)
    told = measure(run, signature=sign(data), seed=0, null_draws=20, shown=range(80), turns=[True])
    assert "of the vectors are other than zero" in [f.label for f in key_figures(run, told)]


def test_singles_that_pmi_drops_say_that_they_were_drawn(tmp_path):
    """A single is dropped by a draw, a half by the words of its twin; the page says the rate."""
    done, _, page = filtered(tmp_path, method="pmi", keep=50)
    singles = set(DATA.singles)
    for row, reason in done.run.reasons.items():
        assert reason.startswith("random: " if row in singles else "association: ")
    assert "of the 20 singles it draws as large a share at random" in page


def test_a_chance_of_one_half_is_told_where_vectors_turn(tmp_path):
    """Every probe on vectors of `difference` is told beside 50 %, whatever answers are kept."""
    _, record, _ = filtered(tmp_path, method="pmi", keep=50)
    assert {probe["chance"] for probe in record["measures"]["probes"].values()} == {0.5}


def test_which_vectors_turn_is_known_from_the_recipe_or_from_the_file_s_own_words(tmp_path):
    """Those of `difference` do, from a file of `winosmith embed` too; of another file none do."""
    X = LightEmbedder(16).embed(DATA)
    for combine in ("difference", "concat"):
        assert turning(EmbedRecipe(combine=combine)) == (combine == "difference")
        told = {"parameters": {"combine": combine}}
        save_array(tmp_path / f"{combine}.npz", X, DATA.ids, signature=json.dumps(told))
        of_file = EmbedRecipe(array=str(tmp_path / f"{combine}.npz"))
        assert turning(of_file) == (combine == "difference")
    save_array(tmp_path / "own.npz", X, DATA.ids)
    save_array(tmp_path / "odd.npz", X, DATA.ids, signature="[not JSON")
    for name in ("own.npz", "odd.npz"):
        assert not turning(EmbedRecipe(array=str(tmp_path / name)))
