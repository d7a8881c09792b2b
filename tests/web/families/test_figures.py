"""Statistics of families equal those of `winosmith.metrics` and `winosmith score`."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.web.growing import family, model, says, version
from tests.web.making import fresh
from winosmith import Dataset, Prediction, answers as answering, formats, metrics as m, report
from winosmith.cli._main import group
from winosmith.web.families.figures import (
    compute_error_depths,
    load_answers,
    measure_accuracy,
)
from winosmith.web.families.lists import list_families
from winosmith.web.families.trees import DEPTHS, load_tree
from winosmith.web.pages import format_percentage_interval, to_percent
from winosmith.web.problems.models import Problem, Version
from winosmith.web.problems.records import as_problem, as_public
from winosmith.web.problems.states import get_public_problems


def _stability(
    found: dict[str, Any], wrong: set[str], kind: Any, ties: frozenset[str] = frozenset()
) -> Any:
    """Return `metrics.measure_stability` of the family."""
    data = Dataset(as_problem(problem) for problem in found.values())
    answers = [
        Prediction(p.ref, 0, tied=(0, 1))
        if name in ties
        else Prediction(p.ref, (p.answer + (name in wrong)) % len(p.options))
        for name, p in found.items()
    ]
    return m.measure_stability(m.grade(data, answers), depth=kind, draws=10)


@pytest.mark.parametrize("wrong", [{"old_big"}, {"old", "pot"}, set(), {"root", "old_big"}])
@pytest.mark.parametrize("kind", ["declared", "lineage", "edit"])
def test_error_depths_and_accuracies_equal_those_of_metrics(db, wrong, kind):
    found, alpha = family(), model()
    for name, problem in found.items():
        says(alpha, problem, name not in wrong)
    tree = load_tree(found["root"], None)
    answers = load_answers(found["root"], tree, alpha)
    of = compute_error_depths(answers)[DEPTHS.index(kind)]
    said = _stability(found, wrong, kind)
    assert (of.n, of.errors, of.mean, of.first) == (
        said.n, said.mean.errors, said.mean.value, said.first.value,
    )  # fmt: skip
    assert of.chance_mean == pytest.approx(said.mean.null.coin)
    assert of.chance_first == pytest.approx(said.first.null.coin, abs=0.08)
    by = {row.depth: (row.right, row.n) for row in measure_accuracy(answers, kind)}
    roots = {0: (said.roots.right, said.roots.n)}
    assert by == roots | {depth: (one.right, one.n) for depth, one in said.by_depth.items()}


@pytest.mark.parametrize("answer", [0, 1])
def test_ties_count_as_in_metrics(db, answer):
    """A tie is half correct and half an error, is counted as a tie, and ends half a path."""
    found, alpha = family(), model()
    Problem.objects.filter(pk__in=[one.pk for one in found.values()]).update(answer=answer)
    for name, problem in found.items():
        says(alpha, fresh(problem), name != "old_big", tie=name in ("root", "old"))
    answers = load_answers(found["root"], load_tree(found["root"], None), alpha)
    assert answers.unanswered_count == 0
    said = _stability(found, {"old_big"}, "edit", frozenset({"root", "old"}))
    of = compute_error_depths(answers)[2]
    assert (of.n, of.errors, of.mean, of.first) == pytest.approx(
        (said.n, said.mean.errors, said.mean.value, said.first.value)
    )
    by = {row.depth: (row.right, row.n, row.ties) for row in measure_accuracy(answers, "edit")}
    assert by[0] == (0.5, 1, 1)
    assert {depth: one[:2] for depth, one in by.items() if depth} == {
        depth: (one.right, one.n) for depth, one in said.by_depth.items()
    }


@pytest.mark.parametrize("answer", [0, 1])
def test_ties_do_not_count_as_fooled_models(db, ann, answer):
    """Whichever option is correct."""
    found, alpha = family(by=ann), model()
    Problem.objects.update(answer=answer)
    for problem in found.values():
        says(alpha, fresh(problem), tie=True)
    assert [one.error_count for one in list_families()] == [0]


@pytest.mark.parametrize("options", [2, 3])
def test_list_counts_ties_like_the_page_of_a_family(database, visit, options):
    """A model that ties on every version has answered."""
    names = ("cup", "jug", "pan")[:options]
    root = version(None, "The cup hit the jug in the pan and the _ broke .", options=names)
    alpha, beta = model("alpha"), model("beta")
    for number in range(2):
        made = version(root, f"The cup hit {number} jugs in the pan and the _ broke .",
                       options=names)  # fmt: skip
        says(alpha, made, tie=True)
        says(beta, made, right=False, tie=number == 0)
    (one,) = list_families()
    tree = load_tree(root, None)
    for who, wrong in ((alpha, 0), (beta, 1)):
        of = compute_error_depths(load_answers(root, tree, who))[2]
        assert (one.results[who.pk]["wrong"], one.results[who.pk]["answered"]) == (of.errors, of.n)
        assert of.errors == pytest.approx(wrong + (2 - wrong) * (1 - 1 / options))
        assert one.results[who.pk]["ties"] == 2 - wrong
    assert one.error_count == 1
    page = " ".join(visit().get("/families/").text.split())
    share = "1" if options == 2 else "1.33"
    assert f"alpha: {share} of 2 incorrect" in page
    assert "(2 ties)" in page
    assert "has not answered" not in page
    (told,) = visit().get("/api/v1/families").json()["items"]
    assert told["errors"][0] == {
        "model": "alpha", "wrong": one.results[alpha.pk]["wrong"], "answered": 2, "ties": 2,
    }  # fmt: skip


def test_error_depths_of_public_data_equal_those_of_the_page(db):
    """Even if a version on the way is hidden."""
    found, alpha, wrong = family(), model(), {"old_big", "pot"}
    for name, problem in found.items():
        says(alpha, problem, name not in wrong)
    Problem.objects.filter(pk=found["old"].pk).update(state="judging")
    root = found["root"]
    answers = load_answers(root, load_tree(root, None), alpha)
    rows = list(get_public_problems().filter(version__root=root).order_by("pk"))
    data = Dataset(as_public(rows))
    names = {problem.ref: name for name, problem in found.items()}
    said = [Prediction(one.id, ((one.answer or 0) + (names[one.id] in wrong)) % 2) for one in data]
    for kind, of in zip(DEPTHS, compute_error_depths(answers), strict=True):
        measured = m.measure_stability(m.grade(data, said), depth=kind, draws=10)
        assert (of.n, of.errors, of.mean, of.first) == (
            measured.n, measured.mean.errors, measured.mean.value, measured.first.value,
        )  # fmt: skip


def test_unanswered_versions_are_only_counted_as_unanswered(db):
    found, alpha = family(), model()
    says(alpha, found["root"])
    says(alpha, found["old"], False)
    says(alpha, found["old_big"], None)
    says(alpha, found["pot"], None, stand="late")
    answers = load_answers(found["root"], load_tree(found["root"], None), alpha)
    assert answers.unanswered_count == 2
    assert [(of.n, of.errors) for of in compute_error_depths(answers)] == [(1, 1)] * 3


@pytest.mark.parametrize("value", [1.0, 69 / 80, 0.35, 0.03125, 0.0001, 2e-6])
def test_pages_format_numbers_like_reports(db, value):
    assert to_percent(value) == report.percent(value)
    assert format_percentage_interval((value, 1.0)) == report.percent_span((value, 1.0))


def _saved(client: Any, path: str, to: Path) -> Path:
    answer = client.get(path)
    assert answer.status_code == 200
    to.write_bytes(answer.getvalue())
    return to


def test_downloads_can_be_scored_by_depth(db, visit, tmp_path):
    alpha, beta = model("alpha"), model("beta")
    for word in ("cup", "lamp", "pot", "bowl", "mug", "jar"):
        family(alpha, beta, word=word)
    client = visit()
    files = [
        _saved(client, f"/families/data/{name}.jsonl", tmp_path / f"{name}.jsonl")
        for name in ("problems", "alpha", "beta")
    ]
    shown = "winosmith score problems.jsonl alpha.jsonl beta.jsonl --by lineage"
    assert shown in client.get("/families/models/").text
    asked = [*map(str, files), "--by", "lineage", "--json"]
    ran = CliRunner().invoke(group, ["score", *asked], catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    assert _solvers(json.loads(ran.stdout)).keys() == {"alpha", "beta"}


def test_page_names_the_models_that_versions_were_to_fool(db, visit):
    """Contributors saw the answers of these models."""
    alpha, beta = model("alpha"), model("beta")
    family(alpha, beta)
    told = "These models look less stable than they are"
    assert told not in visit().get("/families/models/").text
    written = Version.objects.filter(parent__isnull=False, problem__public=True)
    keys = list(written.values_list("pk", flat=True)[:3])
    Version.objects.filter(pk__in=keys[:2]).update(against=beta)
    Version.objects.filter(pk__in=keys[2:]).update(against=alpha)
    page = visit().get("/families/models/").text
    assert "beta (2), alpha (1)" in page
    assert told in page


def _solvers(said: Any) -> dict[str, Any]:
    """Return the solvers' records from the output of the command."""
    if isinstance(said, dict):
        if "solvers" in said and "depth" in said:
            found: dict[str, Any] = said["solvers"]
            return found
        for value in said.values():
            if found := _solvers(value):
                return found
    return {}


def test_file_of_predictions_equals_that_of_write_predictions(db, visit, tmp_path):
    alpha = model("alpha")
    found = family(alpha)
    alone = version(None, "The cup hit no jug and the _ broke .")
    alone.version.delete()
    says(alpha, alone, False)
    client = visit()
    for query, problems in (("", list(found.values())), ("?of=all", [*found.values(), alone])):
        path = _saved(client, f"/families/data/alpha.jsonl{query}", tmp_path / "alpha.jsonl")
        _saved(
            client,
            f"/families/data/problems.jsonl?model=alpha{query.replace('?', '&')}",
            tmp_path / "problems.jsonl",
        )
        data = formats.read(tmp_path / "problems.jsonl")
        read = answering.read_predictions(path, data)
        assert [p.problem_id for p in read.predictions] == [p.ref for p in problems]
        answering.write_predictions(
            read.predictions, tmp_path / "again.jsonl", data, solver="alpha",
            parameters={k: getattr(alpha, k) for k in ("solver", "revision", "digest")},
        )  # fmt: skip
        assert (tmp_path / "again.jsonl").read_bytes() == path.read_bytes()
    tag = client.head("/families/data/alpha.jsonl").headers["ETag"]
    assert client.get("/families/data/alpha.jsonl", HTTP_IF_NONE_MATCH=tag).status_code == 304
    assert client.get("/families/data/nosuch.jsonl").status_code == 404
    assert client.get("/families/data/alpha").status_code == 404
