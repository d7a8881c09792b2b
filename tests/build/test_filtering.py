"""Filters that write a folder: their removals, measures and reports, and refused settings."""

import html
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from winosmith import Dataset, Lineage, debias, formats, practice
from winosmith.build import EmbedRecipe, FilterRecipe, Recipe, debias_to_folder, run_filter
from winosmith.build._filter import _scale_settings
from winosmith.build._filtering import Filtering, get_combination
from winosmith.build._report_filter import make_figures
from winosmith.cli import main
from winosmith.embed import LightEmbedder, save_array
from winosmith.errors import RecipeError
from winosmith.outputs import OutputFolder
from winosmith.parallel import no_progress
from winosmith.testing import make_twins

DATA = make_twins(40, singles=20)
PLANTED = practice.generate_corpus(300, strength=0.6, seed=3).dataset
EMBED = EmbedRecipe(dimensions=16)


def filtered(out, data=DATA, embed=EMBED, *, splits=0, again=False, **chosen):
    """Filter data into a folder; return the result, the report as JSON, and the text of the page.

    By default, nothing is measured on halves, and there are no other runs.
    """
    recipe = FilterRecipe(**{"ensemble_size": 8, "again": again, **chosen})
    done = debias_to_folder(data, out, embed=embed, filter_recipe=recipe, splits=splits)
    record = json.loads((done.folder / "report.json").read_text("utf-8"))
    return done, record, html.unescape((done.folder / "report.html").read_text("utf-8"))


def save_vectors(folder, X, data, combine="difference"):
    """Write vectors like `winosmith embed`, and return their recipe."""
    signature = json.dumps({"parameters": {"combine": combine}})
    save_array(folder / "vectors.npz", np.asarray(X, np.float32), data.ids, signature=signature)
    return EmbedRecipe(array=str(folder / "vectors.npz"))


def test_report_compares_aflite_with_other_runs(tmp_path):
    """They don't change the kept problems."""
    data = practice.generate_corpus(80, strength=0.5).dataset
    small = {"train_size": 40, "cutoff": 8, "null_draws": 20}
    _, record, page = filtered(tmp_path / "with", data, again=True, **small)
    assert list(record["again"]) == ["another seed", "perturbed vectors"]
    told = record["again"]["another seed"]
    assert told["removed"] == record["dropped"]
    assert 0 < told["both"] <= min(told["removed"], told["other"])
    assert told["share"] == told["both"] / told["removed"]
    labels = [figure["label"] for figure in record["figures"]]
    assert "of removed problems are also removed with another seed" in labels
    assert "Would another run remove the same problems?" in page
    assert filtered(tmp_path / "without", data, **small)[1]["again"] == {}
    for name in ("kept.jsonl", "dropped.jsonl"):
        both = [(tmp_path / folder / name).read_bytes() for folder in ("with", "without")]
        assert both[0] == both[1]


@pytest.mark.parametrize("method", ["random", "pmi"])
def test_random_and_pmi_have_no_run_with_perturbed_vectors(method, tmp_path):
    """Neither reads vectors, so only another seed is tried."""
    again = filtered(tmp_path, method=method, keep=60, again=True)[1]["again"]
    assert list(again) == ["another seed"]
    assert again["another seed"]["removed"] == len(DATA) - 60


POOL = make_twins(60, singles=10)

BLIND = {
    "zeros": np.zeros((130, 4)),
    "constant": np.ones((130, 4)),
    "halves alike": np.vstack(
        [np.repeat(np.random.default_rng(0).normal(size=(60, 4)), 2, axis=0), np.zeros((10, 4))]
    ),
}
"""Vectors that can't distinguish problems."""


@pytest.mark.parametrize("method", ["aflite", "mirror"])
@pytest.mark.parametrize("vectors", BLIND)
def test_filter_with_blind_vectors_removes_nothing(tmp_path, vectors, method):
    """Page, JSON and figures state that the result isn't measured, and why."""
    data = Dataset(replace(p, answer=0) if row >= 120 else p for row, p in enumerate(POOL))
    embed = save_vectors(tmp_path, BLIND[vectors], data)
    chosen = {"method": method, "threshold": 0.5, "train_size": 10, "splits": 5, "again": True}
    _, record, page = filtered(tmp_path / "out", data, embed, **chosen)
    assert (record["kept"], record["dropped"], record["blind"]) == (130, 0, True)
    assert record["verdict"].startswith("Not measured: for 70 of 70 twins and singles the vectors ")
    assert record["verdict"].endswith("Nothing was removed.")
    assert record["measures"]["verified"] is record["measures"]["before"] is None
    assert record["sight"] == {"units": 70, "seen": 0}
    assert record["figures"][0]["value"] == "—"
    assert record["figures"][0]["note"].startswith("not measured: ")
    assert record["verdict"] in page
    assert "No guesser differs" not in page


@pytest.mark.parametrize("method", ["random", "pmi"])
def test_random_and_pmi_run_unmeasured_with_blind_vectors(tmp_path, method):
    embed = save_vectors(tmp_path, BLIND["zeros"], POOL)
    _, record, _ = filtered(tmp_path / "out", POOL, embed, method=method, keep=100, splits=5)
    assert (record["kept"], record["blind"]) == (100, True)
    assert record["verdict"].startswith("Not measured: ")
    assert "Nothing was removed" not in record["verdict"]


def test_vectors_that_distinguish_a_tenth_are_measured(tmp_path):
    X = np.array(BLIND["halves alike"])
    X[:14:2] += 1
    _, record, _ = filtered(tmp_path / "out", POOL, save_vectors(tmp_path, X, POOL), splits=1)
    assert record["sight"] == {"units": 70, "seen": 7}
    assert not record["blind"]
    assert record["measures"]["verified"] is not None


@pytest.mark.parametrize("aim", ["error", "chance"])
def test_mirror_removes_whole_twins_with_their_margin_as_reason(tmp_path, aim):
    """The report has the margins and the estimated error."""
    embed = EmbedRecipe(dimensions=64)
    done, record, page = filtered(tmp_path, PLANTED, embed, method="mirror", aim=aim, error=0.2)
    lines = (tmp_path / "dropped.jsonl").read_text("utf-8").splitlines()
    dropped = [json.loads(line) for line in lines]
    assert len(dropped) > 50
    assert not done.filtered.kept.singles
    assert {entry["stage"] for entry in dropped} == {"mirror"}
    last = "the threshold is" if aim == "error" else "removed at random"
    assert all(last in entry["reason"] for entry in dropped)
    if aim == "error":
        told = record["mirror"]
        assert told["false_share"] <= 0.2
        assert len(told["turned"]) == 19
        assert "Margins and their mirror image" in page
        assert f"{told['agreeing']:,} agree, {told['disagreeing']:,} disagree" in page
        assert "found at least as many (p = 0.05)" in page
        assert "removed: predicted with a margin of" in page


def test_mirror_removes_nothing_from_noise(tmp_path):
    noise = np.random.default_rng(0).normal(size=(len(PLANTED), 8))
    embed = save_vectors(tmp_path, noise, PLANTED)
    done, _, page = filtered(tmp_path / "out", PLANTED, embed, method="mirror")
    assert len(done.filtered.kept) == len(PLANTED)
    assert "Nothing was removed" in page


def test_mirror_refuses_vectors_without_sign_change_early(tmp_path):
    """The vectors are `concat`, or a file that doesn't state how they were combined."""
    np.save(tmp_path / "x.npy", LightEmbedder(8).embed(DATA))
    for embed in (EmbedRecipe(combine="concat"), EmbedRecipe(array=str(tmp_path / "x.npy"))):
        with pytest.raises(RecipeError, match="that change sign when options are swapped"):
            filtered(tmp_path / "out", DATA, embed, method="mirror")
    assert not (tmp_path / "out").exists()


def test_progress_shows_each_mirror_run_with_permuted_keys(tmp_path):
    told: list[tuple[int, str]] = []

    @contextmanager
    def step(title: str, total: int | None) -> Iterator[object]:
        yield lambda done, note: told.append((done, note)) if title == "filtering" else None

    recipe = FilterRecipe(method="mirror", again=False, repeats=2)
    debias_to_folder(PLANTED, tmp_path, embed=EMBED, filter_recipe=recipe, splits=0, step=step)
    note = "run 1 of 20, 19 of them with permuted keys, 2 partitions into folds each"
    assert told[0] == (30, note)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == len(PLANTED)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["--method", "mirror", "--error", "0.5"], "'--error': 0.5 is not in the range 0<x<=0.2"),
        (["--error", "0.1"], "--error is for --method mirror, not for aflite"),
        (["--method", "mirror", "--keep", "9"], "--keep is for --method pmi or --method random"),
        (["--method", "mirror", "--threshold", "0.7"], "--threshold is for --method aflite"),
        (["--pmi-variant", "max"], "--pmi-variant is for --method pmi, not for aflite"),
        (["--method", "mirror", "--aim", "chance", "--error", "0.1"], "is for --aim error"),
    ],
)
def test_options_of_other_methods_are_refused(tmp_path, capsys, asked, told):
    """Even with their default values."""
    formats.write(DATA.problems, tmp_path / "twins.jsonl")
    command = ["debias", str(tmp_path / "twins.jsonl"), "--out", str(tmp_path / "out")]
    assert main([*command, *asked]) == 2
    assert told in " ".join(capsys.readouterr().err.split())


def test_default_filter_is_aflite():
    assert Recipe("a", "b").filter.method == "aflite"


@pytest.mark.parametrize("method", ["aflite", "random", "pmi", "none"])
def test_first_figure_is_the_accuracy_across_halves(tmp_path, method):
    """Each half was filtered separately."""
    keep = 60 if method in ("random", "pmi") else None
    splits = 5 if method == "none" else 2
    done, record, page = filtered(tmp_path, splits=splits, method=method, keep=keep)
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


@pytest.mark.parametrize(
    ("splits", "twins", "why"), [(0, 40, "measure.splits is 0"), (5, 9, "there are 9 blocks")]
)
def test_unmeasured_success_is_reported_with_a_reason(tmp_path, splits, twins, why):
    _, record, page = filtered(tmp_path, make_twins(twins), splits=splits)
    reason = record["measures"]["not_verified"]
    assert why in reason
    assert record["measures"]["verified"] is None
    assert record["figures"][0]["value"].endswith("→ —")
    assert reason in record["figures"][0]["note"]
    assert reason in page


def test_one_block_has_no_accuracy(tmp_path):
    figure = filtered(tmp_path, make_twins(1), method="none", splits=5)[1]["figures"][0]
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
    """PMI filtering drops twins by their words, and singles at random."""
    keep = None if method == "aflite" else 40
    done, record, page = filtered(tmp_path, method=method, keep=keep, splits=1, again=True)
    for words in ("The problems that a phase removes", "Perturbed vectors"):
        assert (words in page) == (method == "aflite")
    notes = " ".join(figure["note"] for figure in record["figures"])
    assert ("only determines ties and the selection of 20 singles" in notes) == (method == "pmi")
    assert ("the seed determines all removals" in notes) == (method == "random")
    if method == "pmi":
        for row, reason in done.run.reasons.items():
            assert reason.startswith("random: " if row in DATA.singles else "association: ")
        assert "it draws the same fraction of the 20 singles at random" in page


@pytest.mark.parametrize("roots", [1, 4])
def test_pool_of_few_blocks_is_filtered_unmeasured(tmp_path, roots):
    data = Dataset(
        replace(p, lineage=Lineage(f"{row % roots}", f"{row % roots}"), twin_id=None)
        for row, p in enumerate(make_twins(60))
    )
    _, record, page = filtered(tmp_path, data, splits=5)
    assert (record["measures"]["before"] is None) == (roots == 1)
    assert "requires 20 blocks or more" in record["figures"][0]["note"]
    assert "Not measured: there" in page


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


@pytest.mark.parametrize(
    ("label", "said"),
    [("first-mentioned", "the option mentioned first"), ("option-1", "option 1")],
)
def test_pmi_label_is_in_page_and_json(tmp_path, label, said):
    _, record, page = filtered(tmp_path, method="pmi", keep=50, pmi_label=label)
    assert record["parameters"]["filter"]["pmi_label"] == label
    assert said in [figure["value"] for figure in record["figures"]]
    assert f"In PMI filtering, y = 1 if {said} is correct." in page


@pytest.mark.parametrize("combine", ["difference", "concat"])
def test_chance_is_one_half_for_difference_and_concat(tmp_path, combine):
    """The combination is read from the recipe, or from the signature of an array."""
    embed = EmbedRecipe(dimensions=16, combine=combine)
    assert get_combination(embed) == combine
    of_file = save_vectors(tmp_path, LightEmbedder(16).embed(DATA), DATA, combine)
    assert get_combination(of_file) == combine
    _, record, _ = filtered(tmp_path / "out", DATA, embed, method="pmi", keep=50, splits=1)
    found = record["measures"]["verified"]
    assert {one["chance"] for when in ("before", "after") for one in found[when].values()} == {0.5}


@pytest.mark.parametrize("notes", [{}, {"signature": "[not JSON"}])
def test_array_without_a_valid_signature_has_no_combination(tmp_path, notes):
    save_array(tmp_path / "own.npz", np.ones((len(DATA), 2)), DATA.ids, **notes)
    assert get_combination(EmbedRecipe(array=str(tmp_path / "own.npz"))) == ""
