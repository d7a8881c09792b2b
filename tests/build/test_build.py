"""Builds, from a file of twins to the published folder."""

import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from tests.build.conftest import AFLITE, TABLE
from tests.conftest import everything
from winosmith import Dataset, Extra, Response, answers, debias, formats, practice, validate
from winosmith.build import build, parse_recipe
from winosmith.build._report_filter import make_figures, write_verdict
from winosmith.cli import main
from winosmith.cli.build import print_build
from winosmith.errors import DataError, OutputError, RecipeError
from winosmith.outputs import sha256
from winosmith.report import format_value, percent
from winosmith.testing import make_families, make_twins


def contents(folder):
    """Return the bytes of every file except run.json, the record of computer and date."""
    return {name: data for name, data in everything(folder).items() if name != "run.json"}


def test_every_problem_is_kept_or_dropped_with_a_reason(small_build, telling_twins):
    folder = small_build.folder
    kept = set()
    for name in ("train_debiased", "dev", "test"):
        kept |= {p.id for p in formats.read(folder / f"{name}.jsonl")}
    dropped = [
        json.loads(line)
        for path in (folder / "dropped.jsonl", folder / "private" / "withheld.jsonl")
        for line in path.read_text("utf-8").splitlines()
    ]
    assert all(record["stage"] and record["reason"] for record in dropped)
    ids = [record["id"] for record in dropped]
    assert len(kept) + len(ids) == len(telling_twins)
    assert kept.isdisjoint(ids)
    assert small_build.funnel.kept.problems == len(kept)


def test_label_files_match_their_problems(small_build):
    for name in ("train_xl", "train_debiased", "dev"):
        problems = formats.read(small_build.folder / f"{name}.jsonl")
        labels = answers.read_labels(small_build.folder / f"{name}-labels.lst")
        assert labels == problems.answers
    private = small_build.folder / "private"
    test = formats.read(private / "test.jsonl")
    assert answers.read_labels(private / "test-labels.lst") == test.answers


def test_training_sets_are_nested(make_build):
    built = make_build(make_twins(120), filter={"method": "none"}, split={"dev": 0.1, "test": 0.1})
    small, all_of_it = (formats.read(built.folder / f"train_{size}.jsonl") for size in ("xs", "xl"))
    assert len(small) == 160
    assert all_of_it.problems[:160] == small.problems
    assert small.singles == ()


def test_checksums_match_all_public_files(small_build):
    listed = dict(
        reversed(line.split("  "))
        for line in (small_build.folder / "checksums.sha256").read_text("utf-8").splitlines()
    )
    assert {"train_xl.jsonl", "test.jsonl", "report.html", "dropped.jsonl"} <= listed.keys()
    assert not [name for name in listed if name.startswith("private")]
    assert all(sha256(small_build.folder / name) == digest for name, digest in listed.items())


class Stop(KeyboardInterrupt):
    """An interrupt by a test, as if by Ctrl-C."""


@pytest.mark.parametrize(
    "where",
    [
        "filtering",
        "filtering halves separately",
        pytest.param("again, another seed", marks=pytest.mark.long),
        pytest.param("again, perturbed vectors", marks=pytest.mark.long),
    ],
)
def test_resumed_build_writes_the_same_bytes(where, tmp_path, small_build, telling_twins):
    formats.write(telling_twins.problems, tmp_path / "twins.jsonl")
    recipe = parse_recipe({**TABLE, "filter": AFLITE}, folder=tmp_path)
    seen = []

    class Step:
        def __init__(self, title, total):
            self.title = title

        def __enter__(self):
            return self.advance

        def __exit__(self, *args):
            return None

        def advance(self, done, note=""):
            seen.append((self.title, note))
            if self.title == where and ("phase 1" in note or "halves" in where):
                raise Stop

    with pytest.raises(KeyboardInterrupt):
        build(recipe, tmp_path / "out", step=Step)
    assert not (tmp_path / "out" / "report.html").exists()
    assert seen[-1][0] == where
    seen.clear()

    class Quiet(Step):
        def advance(self, done, note=""):
            seen.append((self.title, note))

    build(recipe, tmp_path / "out", step=Quiet)
    assert (where, "removed, phase 1") not in seen
    assert ("filtering", "removed, phase 1") not in seen
    assert contents(tmp_path / "out") == contents(small_build.folder)


def test_results_of_another_recipe_or_of_other_answers_are_refused(
    make_build, telling_twins, tmp_path
):
    """The difference is stated, except that no digest of the answers is public."""
    make_build(telling_twins, filter={"method": "none"}, out=tmp_path / "out")
    flipped = Dataset(replace(p, answer=1 - p.answer) for p in telling_twins)
    with pytest.raises(OutputError, match="results from other settings"):
        make_build(flipped, filter={"method": "none"}, out=tmp_path / "out")
    with pytest.raises(OutputError, match=r"filter\.method is 'none' there, 'random' here"):
        make_build(telling_twins, filter={"method": "random", "keep": 9}, out=tmp_path / "out")


JUDGED = {"name": "judged", "data": "twins.jsonl", "votes_file": "votes.csv"}
JUDGED |= {"filter": {"method": "none"}}


def test_votes_and_embargo_are_stages_of_the_funnel(tmp_path):
    """Copies of problems under embargo are also dropped."""
    made = practice.generate_corpus(40, seed=1)
    problems = [replace(p, embargo=True) if row < 2 else p for row, p in enumerate(made.dataset)]
    problems.append(replace(problems[0], id="copy", twin_id=None, embargo=False))
    formats.write(problems, tmp_path / "twins.jsonl")
    validate.write_votes(made.votes, tmp_path / "votes.csv")
    built = build(parse_recipe(JUDGED, folder=tmp_path), tmp_path / "out")
    stages = {step.stage: step.kept.problems for step in built.funnel.steps}
    assert list(stages) == ["embargo", "structure", "votes", "none"]
    assert stages["embargo"] == 78
    assert stages["votes"] < stages["structure"]
    public = "".join(
        path.read_text("utf-8") for path in (tmp_path / "out").iterdir() if path.is_file()
    )
    assert not [p.sentence for p in problems[:2] if p.sentence in public]


def test_judge_of_an_embargoed_half_does_not_count_for_the_other(tmp_path):
    made = practice.generate_corpus(40, seed=1)
    first, second = made.dataset.twins[0]
    ids = made.dataset[first].id, made.dataset[second].id
    problems = [replace(p, embargo=p.id == ids[0]) for p in made.dataset]
    formats.write(problems, tmp_path / "twins.jsonl")
    answer = made.dataset[second].answer
    votes = [Response(id_, "judge", "validate", answer) for id_ in ids]
    others = [vote for vote in made.votes if vote.problem_id not in ids]
    validate.write_votes([*votes, *others], tmp_path / "votes.csv")
    table = {"name": "judged", "data": "twins.jsonl", "votes_file": "votes.csv"}
    table |= {"votes": {"judges": 1}, "filter": {"method": "none"}}
    with pytest.warns(formats.ReadingNote, match="1: the judge had seen the other half"):
        built = build(parse_recipe(table, folder=tmp_path), tmp_path / "out")
    assert built.funnel.steps[2].dropped["enough votes"] == 1


def test_uncounted_votes_are_reported(tmp_path):
    """A votes file without votes drops all problems; no votes file at all would drop none."""
    made = practice.generate_corpus(40, seed=1)
    formats.write(made.dataset, tmp_path / "twins.jsonl")
    other = [replace(vote, problem_id=f"old-{vote.problem_id}") for vote in made.votes[:5]]
    validate.write_votes([*made.votes, *other], tmp_path / "votes.csv")
    recipe = parse_recipe(JUDGED, folder=tmp_path)
    with pytest.warns(formats.ReadingNote, match=r"votes are not counted \(.*5: the data set has"):
        build(recipe, tmp_path / "out")
    validate.write_votes([], tmp_path / "votes.csv")
    with pytest.raises(DataError, match=r"no problems are left.*by votes \(enough votes\)"):
        build(recipe, tmp_path / "none")


def test_planted_artifacts_are_counted_in_the_report(tmp_path):
    """A duplicate id in the file is refused."""
    made = practice.generate_corpus(80, seed=0)
    formats.write(made.dataset.problems, tmp_path / "twins.jsonl")
    (tmp_path / "planted.json").write_text(json.dumps(made.planted))
    table = {
        "name": "planted",
        "data": "twins.jsonl",
        "planted": "planted.json",
        "embed": {"dimensions": 64},
        "filter": {"ensemble_size": 16, "cutoff": 20, "again": False},
        "measure": {"splits": 0},
    }
    recipe = parse_recipe(table, folder=tmp_path)
    built = build(recipe, tmp_path / "out")
    found = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))["measures"]["found"]
    assert found["all"]["recall"] == {"count": 0, "total": len(made.planted)}
    assert found["AFLite"]["recall"]["count"] > found["random"]["recall"]["count"]
    assert built.measures.recalls["AFLite"].false_removals.total == 160 - len(made.planted)
    (tmp_path / "planted.json").write_text('{"a": "word", "a": "length"}')
    with pytest.raises(RecipeError, match="the key 'a' occurs twice"):
        build(recipe, tmp_path / "other")


@pytest.mark.parametrize("rules", [None, "winogrande"])
def test_winogrande_rules_apply_to_perturbed_problems_only_on_request(tmp_path, capsys, rules):
    """Without the request, they and their roots are exempt, which page, JSON and command state."""
    data = Dataset([*make_twins(30), *make_families([1, 2, 3], [2, 4])])
    formats.write(data.problems, tmp_path / "twins.jsonl")
    said = [Response(p.id, f"{w}-{p.id}", "validate", p.answer) for p in data for w in "xyz"]
    validate.write_votes(said, tmp_path / "votes.csv")
    table = {**JUDGED, "structure": {"rules": rules} if rules else {}}
    built = build(parse_recipe(table, folder=tmp_path), tmp_path / "out")
    recipe = (tmp_path / "out/recipe.toml").read_text("utf-8")
    if rules:
        assert built.funnel.steps[0].dropped["length"] == 7
        assert built.funnel.kept.problems == 60
        assert 'rules = "winogrande"' in recipe
        return
    assert built.funnel.kept.problems == 67
    told = (
        "WinoGrande's rules for authors were applied to 60 of 67 problems; not to 7 (perturbed or "
        "their roots)"
    )
    assert str(built.applied_rules) == told
    record = json.loads((tmp_path / "out/report.json").read_text("utf-8"))
    assert record["rules_used"]["words"] == [told]
    assert "not to 7 (perturbed or their roots)" in built.report.read_text("utf-8")
    (tmp_path / "mine.toml").write_text(recipe)
    assert main(["build", str(tmp_path / "mine.toml"), "--out", str(tmp_path / "again")]) == 0
    verdict, rest = capsys.readouterr().out.split("WinoGrande's rules for authors were ", 1)
    assert "accuracy of a linear model" in verdict
    assert rest.startswith("applied to 60 of 67")


def test_report_is_small_and_complete(small_build):
    html = small_build.report.read_text("utf-8")
    assert len(html.encode()) < 2_000_000
    for heading in ("In short", "From twins to problems", "AFLite, phase by phase", "Examples"):
        assert heading in html
    assert "<script" not in html
    assert "default-src" in html
    assert ("No removed twin is shown" in html) != ("Removed twins whose words" in html)
    assert ("Words marked + " in html) == ("Problems whose words point to an option" in html)
    assert "Problems whose answers are not published are not shown." in html


def test_report_has_the_verdict_as_subtitle_and_the_recipe(small_build):
    page = unescape(small_build.report.read_text("utf-8"))
    first, _, _ = page.partition('class="subtitle">')[2].partition("</p>")
    assert first == write_verdict(small_build.run, small_build.measures)
    assert first.startswith(("A model can still predict", "No model predicts"))
    assert (small_build.folder / "recipe.toml").read_text("utf-8").strip() in page


Accuracy = debias.GuesserAccuracy
CHANCE = Accuracy(0.5, 0.4, 0.6, 0.5)


@pytest.mark.parametrize(
    ("others", "guesser", "guess", "begins", "tells"),
    [
        # the whole interval is above chance
        (CHANCE, "two-piece", Accuracy(0.52, 0.51, 0.6, 0.5), "A model can still predict",
         "a two-piece model"),
        (CHANCE, "two-piece", Accuracy(0.52, 0.49, 0.6, 0.5), "No model predicts",
         "a two-piece model"),
        # the whole interval is below chance: the opposite prediction is correct
        (CHANCE, "linear", Accuracy(0.46, 0.44, 0.48, 0.5),
         "A model can still predict the answers of the kept problems: a linear model is",
         "44.0–48.0 %; chance is 50.0 %); the opposite prediction is correct on the rest"),
        # of several models at chance, the best one, not the one with the narrowest interval
        (Accuracy(0.501, 0.499, 0.503, 0.5), "independent", Accuracy(0.52, 0.48, 0.56, 0.5),
         "No model predicts",
         "The best, a linear model on hashed words, is correct on 52.0 %"),
    ],
)  # fmt: skip
def test_verdict_is_about_the_model_furthest_from_chance(
    small_build, others, guesser, guess, begins, tells
):
    """A model that is significantly below chance also predicts answers, by their opposite."""
    known = small_build.measures.verification
    after = {**dict.fromkeys(known.after, others), guesser: guess}
    measures = replace(small_build.measures, verification=replace(known, after=after))
    said = write_verdict(small_build.run, measures).replace("\xa0", " ")
    assert said.startswith(begins)
    assert tells in said


def test_different_kept_fraction_of_halves_is_reported(small_build):
    """A difference of more than ten percentage points from the whole data set is reported."""
    run, known = small_build.run, small_build.measures.verification
    share = len(run.kept) / len(run.pool)
    for kept, told in ((share + 0.09, False), (share - 0.11, True)):
        measures = replace(small_build.measures, verification=replace(known, kept=kept))
        said = f"; the filter kept {format_value(kept, '.1%')} of the halves, "
        said += f"{format_value(share, '.1%')} of the whole"
        assert (said in write_verdict(run, measures)) == told
        assert (said in make_figures(run, measures)[0].note) == told


def test_histograms_state_the_number_removed_per_phase(small_build):
    page, phases = small_build.report.read_text("utf-8"), small_build.run.aflite.phases
    for phase in (phases[0], phases[-1]):
        drawn = page.partition(f'-title">Scores in phase {phase.number + 1}</title>')[2]
        said, _, _ = drawn.partition("</desc>")
        assert said.endswith(f"threshold 0.6; number removed: {phase.removed:,}.")


def test_report_shows_no_dev_test_or_withheld_problem(small_build):
    html = small_build.report.read_text("utf-8")
    folder = small_build.folder
    hidden = [*formats.read(folder / "dev.jsonl"), *formats.read(folder / "test.jsonl")]
    withheld = (folder / "private" / "withheld.jsonl").read_text("utf-8").splitlines()
    sentences = [p.sentence for p in hidden] + [json.loads(line)["sentence"] for line in withheld]
    assert not [sentence for sentence in sentences if sentence.split("near")[0] in html]


def test_problem_with_three_options_is_refused_by_id(make_build):
    """AFLite filters only problems with two options."""
    made = list(make_twins(60))
    made[7] = replace(made[7], options=(*made[7].options, "amber"))
    with pytest.raises(DataError, match="3-1"):
        make_build(Dataset(made), structure={"same_options": False, "options_in_sentence": False})


def test_fine_tuning_problems_of_an_array_are_dropped(make_build, tmp_path):
    """The array lists the problems on which its encoder was fine-tuned."""
    data = make_twins(60)
    rows = np.random.default_rng(0).normal(size=(110, 4))
    tuned_on = {"train_ids": np.array(data.ids[:6]), "dev_ids": np.array(data.ids[6:10])}
    np.savez(tmp_path / "tuned.npz", X=rows, ids=np.array(data.ids[10:]), **tuned_on)
    array = str(tmp_path / "tuned.npz")
    built = make_build(data, embed={"array": array}, filter={"method": "none"})
    steps = {step.stage: step.dropped for step in built.funnel.steps}
    assert steps["embed split"] == {"discarded": 10}
    assert built.funnel.kept.problems == 110


def test_files_in_winogrande_format_have_its_keys(make_build):
    built = make_build(make_twins(40), filter={"method": "none"}, files={"format": "winogrande"})
    first = json.loads((built.folder / "dev.jsonl").read_text("utf-8").splitlines()[0])
    assert first.keys() == {"qID", "sentence", "option1", "option2", "answer"}


def test_signature_contains_n_and_every_parameter(small_build, telling_twins):
    told = str(small_build.measures.signature)
    assert f"|n:{len(telling_twins)}|" in told
    for part in ("ensemble:16", "m:60", "k:10", "tau:0.6", "C:1.0", "seed:0", "d:8"):
        assert f"|{part}|" in told


def test_data_digest_is_independent_of_the_seed(make_build):
    data = make_twins(20)
    digests = {
        make_build(data, seed=seed, filter={"method": "none"}).measures.signature.data
        for seed in (0, 1)
    }
    assert len(digests) == 1


def test_train_and_dev_share_no_contributor_if_disjoint(tmp_path):
    made = practice.generate_corpus(200, seed=2, strength=0.0)
    formats.write(made.dataset.problems, tmp_path / "pool.jsonl")
    table = {
        "name": "apart",
        "data": str(tmp_path / "pool.jsonl"),
        "filter": {"method": "none"},
        "embed": {"dimensions": 16},
        "split": {"dev": 0.2, "test": 0.0, "disjoint": "contributor"},
    }
    built = build(parse_recipe(table), tmp_path / "out")
    author = {
        (problem.sentence, problem.options): problem.origin.author for problem in made.dataset
    }
    who = [
        {author[problem.sentence, problem.options] for problem in formats.read(built.folder / name)}
        for name in ("dev.jsonl", "train_xl.jsonl")
    ]
    assert 5 < len(who[0]) < 40
    assert who[0].isdisjoint(who[1])
    assert 72 <= built.counts["dev"] <= 88


def test_private_scores_match_the_reasons_of_dropped_problems(small_build):
    folder = small_build.folder
    lines = (folder / "private" / "scores.jsonl").read_text("utf-8").splitlines()
    scores = {record["id"]: record for record in map(json.loads, lines)}
    assert len(scores) == len(small_build.run.pool)
    for path in (folder / "dropped.jsonl", folder / "private" / "withheld.jsonl"):
        for record in map(json.loads, path.read_text("utf-8").splitlines()):
            if record["stage"] == "aflite":
                told = scores.pop(record["id"])
                by = f"{percent(told['score'], 0)} of the ensemble"
                assert record["reason"] == f"guessed: predicted by {by} in phase {told['phase']}"
    assert {told["phase"] for told in scores.values()} == {None}
    guessed = [told["score"] * told["votes"] for told in scores.values() if told["votes"]]
    assert np.allclose(guessed, np.round(guessed))
    assert max(told["votes"] for told in scores.values()) <= AFLITE["ensemble_size"]


@pytest.mark.parametrize("format_name", ["winosmith", "winogrande"])
def test_extra_columns_stay_in_train_and_private(make_build, capsys, format_name):
    """Public dev and test omit the columns of the source's format; the terminal states this."""
    made = [
        replace(p, extra=Extra({"site.key": f"{p.answer}", "site.row": row}))
        for row, p in enumerate(make_twins(40))
    ]
    by_text = {p.sentence: p.extra for p in made}
    built = make_build(Dataset(made), filter={"method": "none"}, files={"format": format_name})
    folder = built.folder
    print_build(folder)
    told = capsys.readouterr().err
    assert re.search(
        "The columns site.key, site.row are not in (train_xl, train_debiased, )?dev", told
    )
    for name in ("dev", "test"):
        public = (folder / f"{name}.jsonl").read_text("utf-8")
        assert "site." not in public
    if format_name == "winogrande":
        assert "train_xl, train_debiased, dev and test: the format can't store" in told
        assert not (folder / "private/dev.jsonl").exists()
        return
    assert "private/dev.jsonl and private/test.jsonl have them" in told
    for name in ("train_xl", "private/dev", "private/test"):
        held = formats.read(folder / f"{name}.jsonl")
        assert [p.extra for p in held] == [by_text[p.sentence] for p in held]
    assert "site." in built.report.read_text("utf-8")


def test_build_without_extra_columns_mentions_none(small_build, capsys):
    print_build(small_build.folder)
    assert "column" not in capsys.readouterr().err
    assert not (small_build.folder / "private/dev.jsonl").exists()
    assert "columns" not in json.loads((small_build.folder / "report.json").read_text("utf-8"))
