"""Rounds: a pool becomes a release, solvers' results, and roots for the next round."""

import html
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from winosmith import Dataset, Lineage, Prediction, answers, formats, practice, rounds
from winosmith.build import (
    FilterRecipe,
    MeasureRecipe,
    build,
    read_last_build,
    read_pool,
)
from winosmith.cli import main
from winosmith.errors import InputError, OutputError, RecipeError
from winosmith.finished import BuildFiles
from winosmith.published import read_digests, write_digests
from winosmith.rounds import parse_round, run_round
from winosmith.rounds._round import measure_people
from winosmith.rounds._solving import measure_solver
from winosmith.solver_rule import SolverRule
from winosmith.study import TrainingData, find_training_data, make_solver
from winosmith.testing import make_twins
from winosmith.validate import read_votes, write_votes


@pytest.fixture(scope="session")
def two(pools: Path) -> tuple[rounds.Round, rounds.Round]:
    """Return two rounds; the second has a larger pool."""
    first = rounds.run_round(rounds.read_round(pools / "round-1.toml"), pools / "1")
    second = rounds.run_round(
        rounds.read_round(pools / "round-2.toml"), pools / "2", last=pools / "1"
    )
    return first, second


def _read(folder: Path, name: str):
    return formats.read(folder / name)


def test_round_publishes_a_release_and_solver_accuracies(two):
    first, _ = two
    assert (first.folder / "build" / "train_xl.jsonl").is_file()
    assert set(first.record["solvers"]) == {"words", "chance", "hunting"}
    for solver in first.record["solvers"].values():
        low, high = solver["accuracy"]["interval"]
        assert 0 <= low <= solver["accuracy"]["value"] <= high <= 1
        assert len(solver["digest"]) == 64
    dev, test = first.record["build"]["counts"]["dev"], first.record["build"]["counts"]["test"]
    assert first.record["solvers"]["words"]["accuracy"]["n"] == dev + test


def test_missing_pronouns_are_refused_before_the_build(pools, tmp_path):
    """The solver needs them, and the pool has none."""
    recipe = rounds.read_round(pools / "round-1.toml")
    seeing = SolverRule("words", "association", {"sees": "pronoun"})
    with pytest.raises(InputError, match='the solver words has sees = "pronoun": the pronoun of'):
        rounds.run_round(replace(recipe, solvers=(seeing,)), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_roots_are_dev_problems_that_solvers_answer_correctly(two):
    """Solvers with equal scores don't count, but at least one solver prefers the answer."""
    for found in two:
        roots = _read(found.folder, "roots.jsonl")
        dev = {problem.sentence: problem for problem in _read(found.folder / "build", "dev.jsonl")}
        assert 0 < len(roots) == found.record["roots"]["drawn"] <= found.record["roots"]["asked"]
        preferred = {root.id: set() for root in roots}
        for name in found.record["solvers"]:
            predictions = answers.read_predictions(found.folder / "predictions" / f"{name}.jsonl")
            given = {answer.problem_id: answer for answer in predictions.predictions}
            for root in roots:
                answer = given[dev[root.sentence].id]
                if len(set(answer.scores)) > 1:
                    preferred[root.id].add(answer.choice)
        assert preferred == {root.id: {root.answer} for root in roots}


def test_fooling_problems_are_sorted_by_fooled_solvers(two):
    """They are perturbed problems of dev that a solver answers incorrectly."""
    _, second = two
    fooling = _read(second.folder, "fooling.jsonl")
    told = second.record["fooling"]
    assert [problem.id for problem in fooling] == list(told)
    assert told
    assert all(problem.lineage is not None for problem in fooling)
    counts = [len(names) for names in told.values()]
    assert counts == sorted(counts, reverse=True)


def test_rounds_are_compared_by_each_number(two):
    first, second = two
    assert all(change.old is None for change in first.changes)
    by_name = {change.name: change for change in second.changes}
    collected = by_name["collected"]
    assert (collected.old, collected.new, collected.difference) == (280, 540, 260)
    assert collected.difference_text == "+260"
    valid = by_name["valid fraction of collected problems"]
    assert valid.difference_text == f"{100 * (valid.new - valid.old):+.1f} points"
    assert by_name["words: mean depth of errors"].old is None


def test_last_dev_set_excludes_problems_that_a_solver_saw(two):
    """Solvers that don't learn answer all of it."""
    _, second = two
    words, chance = (second.record["solvers"][name] for name in ("words", "chance"))
    n = second.record["build"]["counts"]["dev"]
    last = len(_read(two[0].folder / "build", "dev.jsonl"))
    assert n > 0
    assert chance["last"]["n"] == last
    assert chance["taught"] == 0
    assert words["last"]["n"] + words["taught"] == last


def test_record_has_the_agreement_of_judges(two):
    """Without a human test, it has no human accuracy."""
    people = two[0].record["people"]
    assert 0.5 < people["agree"] <= 1
    assert people["unanimous"] <= people["agree"]
    assert people["accuracy"] is None


def test_ineligible_votes_are_excluded_from_agreement(two, pools, tmp_path):
    """Here they are second votes of the same judges."""
    recipe = rounds.read_round(pools / "round-1.toml").build
    files = BuildFiles(two[0].folder / "build")
    dataset = Dataset([*files.read_problems("dev"), *files.read_problems("private/test")])
    known = {problem.id: problem.answer for problem in read_pool(recipe)}
    votes = [vote for vote in read_votes(pools / "votes-1.csv") if vote.purpose == "validate"]
    again = [replace(vote, choice=1 - known[vote.problem_id]) for vote in votes]
    write_votes([*votes, *again], tmp_path / "twice.csv")
    found = measure_people(replace(recipe, votes_file=str(tmp_path / "twice.csv")), files, dataset)
    told = two[0].record["people"]
    assert found is not None
    assert found.agree == pytest.approx(told["agree"])
    assert (found.judged, found.unanimous) == (told["judged"], told["unanimous"])
    problems = {id_: files.read_pool_ids()[id_] for id_ in dataset.ids}
    shares = [
        [vote.choice == known[old] for vote in votes if vote.problem_id == old]
        for old in problems.values()
    ]
    assert found.agree == pytest.approx(sum(map(sum, shares)) / sum(map(len, shares)))


def test_agreement_weights_votes_and_not_problems(two, pools, tmp_path):
    recipe = rounds.read_round(pools / "round-1.toml").build
    files = BuildFiles(two[0].folder / "build")
    dataset = Dataset([*files.read_problems("dev"), *files.read_problems("private/test")])
    known = {problem.id: problem.answer for problem in read_pool(recipe)}
    votes = [vote for vote in read_votes(pools / "votes-1.csv") if vote.purpose == "validate"]
    kept = [files.read_pool_ids()[id_] for id_ in dataset.ids]
    short = next(vote for vote in votes if vote.problem_id == kept[0])
    left = [vote for vote in votes if vote.problem_id != kept[0] or vote is short]
    write_votes(left, tmp_path / "left.csv")
    found = measure_people(replace(recipe, votes_file=str(tmp_path / "left.csv")), files, dataset)
    right = [vote.choice == known[vote.problem_id] for vote in left if vote.problem_id in kept]
    assert found is not None
    assert 0 < sum(right) < len(right)
    assert found.agree == pytest.approx(sum(right) / len(right))


def test_stored_vectors_and_predictions_give_the_same_bytes(two, pools, tmp_path):
    """The texts that the hunting solver searches are gone."""
    _, second = two
    recipe = rounds.read_round(pools / "round-2.toml")
    (hunting,) = (rule for rule in recipe.solvers if rule.name == "hunting")
    (pools / "texts").rename(tmp_path / "texts")
    try:
        with pytest.raises(InputError):
            make_solver(hunting, recipe.folder)
        again = rounds.run_round(recipe, tmp_path / "again", last=pools / "1", stored=second.folder)
    finally:
        (tmp_path / "texts").rename(pools / "texts")
    assert rounds.find_differing_files(second.folder, again.folder) == []
    assert again.record == second.record


def test_round_with_blind_vectors_is_not_measured(tmp_path, capfd):
    """Nothing is filtered, and the exit code is 1."""
    data = make_twins(60)
    formats.write(data.problems, tmp_path / "twins.jsonl")
    np.save(tmp_path / "zeros.npy", np.zeros((120, 4), np.float32))
    (tmp_path / "round.toml").write_text(
        'name = "blind"\ndata = "twins.jsonl"\nroots = 2\n[embed]\narray = "zeros.npy"\n'
        '[[solvers]]\nname = "chance"\nsolver = "random"\n',
        "utf-8",
    )
    command = ["round", str(tmp_path / "round.toml"), "--out", str(tmp_path / "out")]
    assert main(command) == 1
    assert "Not measured: for 60 of 60 twins" in capfd.readouterr().out
    record = json.loads((tmp_path / "out" / "round.json").read_text("utf-8"))
    assert (record["artifacts"]["blind"], record["artifacts"]["after"]) == (True, None)
    assert record["build"]["kept"] == 120
    page = html.unescape((tmp_path / "out" / "report.html").read_text("utf-8"))
    assert record["artifacts"]["verdict"] in page


def test_finished_round_is_not_solved_again(two, pools):
    first, _ = two
    times = {path: path.stat().st_mtime_ns for path in first.folder.rglob("*.jsonl")}
    kept = {p: t for p, t in times.items() if p.name not in ("roots.jsonl", "fooling.jsonl")}
    again = rounds.run_round(rounds.read_round(pools / "round-1.toml"), first.folder)
    assert again.record == first.record
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_predictions_on_the_test_set_stay_private(two):
    for found in two:
        names = (found.folder / "checksums.sha256").read_text("utf-8")
        assert "private" not in names
        assert (found.folder / "private" / "test" / "words.jsonl").is_file()
        public = [path for path in found.folder.rglob("*.jsonl") if "private" not in path.parts]
        test_ids = _read(found.folder / "build" / "private", "test.jsonl").ids
        held = json.dumps([path.read_text("utf-8") for path in public if path.name != "test.jsonl"])
        assert not [name for name in test_ids if name in held]


def test_another_recipe_in_the_same_folder_is_refused(two, pools):
    with pytest.raises(OutputError, match="other settings"):
        rounds.run_round(rounds.read_round(pools / "round-2.toml"), two[0].folder)


def test_report_has_changes_and_roots_and_no_script(two):
    page = two[1].report.read_text("utf-8")
    root = _read(two[1].folder, "roots.jsonl")[0]
    assert "What changed" in page
    assert root.sentence.split("_")[0].strip()[:20] in page
    assert "<script" not in page


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "needs at least one \\[\\[solvers\\]\\]"),
        ('[[solvers]]\nname = "a"\n', "needs name"),
        ('[[solvers]]\nname = "a"\nsolver = "oracle"\n', "solver is 'oracle'"),
        ('[[solvers]]\nname = "a"\nsolver = "random"\nlearn = true\n', "learn applies only to"),
        ('[[solvers]]\nname = "a"\nsolver = "random"\nlearn = "yes"\n', "true or false"),
        ('[[solvers]]\nname = "a"\nsolver = "random"\n' * 2, "two solvers are named 'a'"),
        ('[[solvers]]\nname = "a"\nsolver = "encoder"\n', "'model' is missing"),
        ('roots = "many"\n[[solvers]]\nname = "a"\nsolver = "random"\n', "roots is 'many'"),
        ('roots = -1\n[[solvers]]\nname = "a"\nsolver = "random"\n', "roots is -1"),
        ('[split]\ndev = 0.0\n[[solvers]]\nname = "a"\nsolver = "random"\n', "split.dev is 0"),
        ('redraw = 1\n[[solvers]]\nname = "a"\nsolver = "random"\n', "redraw is 1"),
        ('rounds = 3\n[[solvers]]\nname = "a"\nsolver = "random"\n', "unknown|'rounds'"),
    ],
)
def test_invalid_recipes_are_reported_with_their_file(pools, tmp_path, text, told):
    path = tmp_path / "round.toml"
    path.write_text(f'name = "x"\ndata = "{pools / "pool-1.jsonl"}"\n{text}', "utf-8")
    with pytest.raises(RecipeError, match=told) as raised:
        rounds.read_round(path)
    assert str(path) in str(raised.value)


def test_folders_without_a_finished_round_are_refused(pools, tmp_path):
    recipe = rounds.read_round(pools / "round-1.toml")
    with pytest.raises(InputError, match="has no finished round"):
        rounds.run_round(recipe, tmp_path / "out", last=tmp_path)
    with pytest.raises(InputError, match="has no finished round"):
        rounds.run_round(recipe, tmp_path / "out", stored=tmp_path)


def _sides(found: rounds.Round) -> dict[tuple[str, tuple[str, ...]], str]:
    """Return the split of each published problem, by its text."""
    build = found.folder / "build"
    sets = {"train_xl": "train", "train_debiased": "train", "dev": "dev", "test": "test"}
    sides = {
        (problem.sentence, problem.options): side
        for name, side in sets.items()
        for problem in _read(build, f"{name}.jsonl")
    }
    dropped = map(json.loads, (build / "dropped.jsonl").read_text("utf-8").splitlines())
    return {**{(p["sentence"], tuple(p["options"])): "train" for p in dropped}, **sides}


def test_problems_keep_their_split_over_rounds(two):
    first, second = two
    before, now = _sides(first), _sides(second)
    both = before.keys() & now.keys()
    assert len(both) > 200
    assert {told for told in both if before[told] != now[told]} == set()
    sides = second.record["sides"]
    assert sides["last"] == first.record["digest"]
    assert sides["joined"] == []
    assert sum(sides["stayed"].values()) > 0 < sum(sides["new"].values())
    published = sum(sides["stayed"].values()) + sum(sides["new"].values())
    assert published == second.record["build"]["kept"]
    assert "sides" not in first.record
    assert "keep their split" in second.report.read_text("utf-8")


QUICK = {"filter": FilterRecipe("none"), "measure": MeasureRecipe(splits=0)}
"""Settings that make builds fast and don't affect splits."""


def test_problems_missing_from_one_round_keep_their_split(two, pools, tmp_path):
    _, second = two
    recipe = rounds.read_round(pools / "round-1.toml")
    half = [p for p in formats.read(pools / "pool-1.jsonl") if int(p.id[-1], 36) % 2]
    formats.write(half, tmp_path / "half.jsonl")
    whole = replace(recipe.build, **QUICK)
    small = replace(whole, data=str(tmp_path / "half.jsonl"), votes_file=None)
    build(small, tmp_path / "third", last=second.folder / "build")
    fourth = build(whole, tmp_path / "fourth", last=tmp_path / "third")
    old = {f.problem.id: f.split for f in read_last_build(second.folder / "build").previous}
    new = {f.problem.id: f.split for f in read_last_build(fourth.folder).previous}
    assert old.keys() <= new.keys()
    assert {id_ for id_, side in old.items() if side and new[id_] != side} == set()


def test_redraw_draws_new_splits(two, pools, tmp_path):
    """The release equals one without a last round; the results are compared anyway."""
    recipe = rounds.read_round(pools / "round-2.toml")
    chance = tuple(rule for rule in recipe.solvers if rule.name == "chance")
    quick = replace(recipe.build, **QUICK)
    redrawn = replace(recipe, build=quick, redraw=True, solvers=chance)
    found = rounds.run_round(redrawn, tmp_path / "redrawn", last=two[0].folder)
    build(quick, tmp_path / "alone")
    assert found.record["digest"] == BuildFiles(tmp_path / "alone").digest
    assert "sides" not in found.record
    assert found.record["solvers"]["chance"]["last"]["n"] > 0


def test_stability_is_none_if_no_depth_is_known():
    """The root is gone and no depth is declared; the accuracy is measured anyway."""
    twins = make_twins(20)
    orphans = Dataset(
        replace(p, lineage=Lineage("gone", "gone")) if row < 4 else p for row, p in enumerate(twins)
    )
    said = [Prediction(p.id, p.answer or 0) for p in orphans]
    found = measure_solver(orphans, said)
    assert (found.accuracy.value, found.stability) == (1.0, None)


def test_results_are_withheld_if_training_data_overlap():
    """One problem is enough."""
    twins = make_twins(20)
    said = [Prediction(p.id, p.answer or 0) for p in twins]
    told = measure_solver(
        twins, said, earlier=TrainingData((twins[:2],)), last=(twins[:6], tuple(said[:6]))
    )
    assert (told.accuracy, told.twins, told.stability) == (None, None, None)
    assert told.seen.record()["problems"] == 2
    assert told.last is not None
    assert (told.last.n, told.removed_count) == (4, 2)
    apart = measure_solver(twins[2:], said[2:], earlier=TrainingData((twins[:2],)))
    assert apart.accuracy is not None
    assert apart.accuracy.value == 1.0


def test_round_withholds_results_of_solvers_that_saw_problems(tmp_path):
    """Word association is trained on the shipped twins, under any ids; declared data count too.

    Its accuracy is withheld in the record, the report and the comparison; others are shown.
    """
    ships = practice.read_handwritten()
    formats.write(
        [replace(p, id=f"x{row}", twin_id=f"t{p.twin_id}") for row, p in enumerate(ships)],
        tmp_path / "problems.jsonl",
    )
    table = {
        "name": "ships",
        "data": "problems.jsonl",
        "embed": {"dimensions": 16},
        "filter": {"method": "none"},
        "structure": {"length": False, "overlap": False, "edit": False, "anchor": False},
        "split": {"dev": 0.2, "test": 0.2},
        "solvers": [
            {"name": "words", "solver": "association"},
            {"name": "chance", "solver": "random"},
            {"name": "told", "solver": "random", "trained_on": ["problems.jsonl", "other:web"]},
        ],
    }
    found = run_round(parse_round(table, folder=tmp_path), tmp_path / "out")
    solvers, page = found.record["solvers"], found.report.read_text("utf-8")
    for name in ("words", "told"):
        assert solvers[name]["accuracy"] is None
        assert solvers[name]["seen"]["problems"] == solvers[name]["seen"]["n"] > 0
        assert f"No accuracy is shown for {name}" in page
    assert solvers["chance"]["accuracy"]["value"] > 0
    assert "told was also trained on web, which is not available" in page
    assert not [c.name for c in found.changes if c.name.startswith(("words", "told"))]


def test_digests_next_to_weights_record_training_data(tmp_path):
    """Those of the model that it was fine-tuned from are included."""
    twins = make_twins(12)
    (tmp_path / "tuned" / "model").mkdir(parents=True)
    write_digests(tmp_path / "tuned" / "model", twins[:2])
    (tmp_path / "again").mkdir()
    write_digests(tmp_path / "again", twins[4:6], *read_digests(tmp_path / "tuned"))
    for name, rows in (("tuned", {0, 1}), ("again", {0, 1, 4, 5})):
        rule = SolverRule("mine", "encoder", {"model": name})
        assert set(find_training_data(rule, tmp_path).find_overlap(twins).rows) == rows


@pytest.mark.parametrize("cut", ["empty", "no archive", "cut off", "damaged", "another array"])
def test_damaged_digests_of_training_data_are_reported(tmp_path, cut):
    file = write_digests(tmp_path, make_twins(12))
    whole = file.read_bytes()
    damaged = whole[:200] + bytes(100) + whole[300:]
    kept = {"empty": b"", "no archive": b"x" * 99, "cut off": whole[:-40], "damaged": damaged}
    file.write_bytes(kept.get(cut, b""))
    if cut == "another array":
        np.savez(file, sides=np.arange(3))
    with pytest.raises(
        InputError, match=r"trained_on\.npz: this is not a valid record .*train the model again"
    ):
        read_digests(tmp_path)


def test_invalid_trained_on_settings_are_refused(tmp_path):
    for named, said in (("gone.jsonl", "is not a file"), ("nothing", "are unknown")):
        rule = SolverRule("mine", "random", {"trained_on": [named]})
        with pytest.raises(InputError, match=f"the solver mine: trained_on: .*{said}"):
            find_training_data(rule, tmp_path)
    with pytest.raises(RecipeError, match="trained_on is 'wsc'; it must be a list"):
        SolverRule("mine", "random", {"trained_on": "wsc"})
