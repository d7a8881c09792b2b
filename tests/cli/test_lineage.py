"""`winosmith score` and `compare --by lineage` show how stable solvers are under perturbation."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Cli
from tests.metrics.answering import right_but
from winosmith import Dataset, Lineage, Prediction, Problem, answers, formats
from winosmith.cli._stability import _make_survival_table
from winosmith.lineage import depths, make_child
from winosmith.metrics import compare_survival, grade, measure_stability
from winosmith.testing import make_families, make_twins


def evolved(families: int = 8, versions: int = 12) -> Dataset:
    """Return families in which each version adds a word to an earlier one."""
    rng = np.random.default_rng(0)
    problems: list[Problem] = []
    for root in make_twins(0, singles=families):
        family = [root]
        for number in range(versions):
            parent = family[int(rng.integers(0, len(family)))]
            words = parent.sentence.split()
            at = int(rng.integers(2, len(words) - 4))
            words.insert(at, ("old", "small", "quickly")[number % 3])
            sentence = " ".join(words)
            child = make_child(parent, sentence, root.options, root.answer, source="made")
            if child.id not in {one.id for one in family}:
                family.append(child)
        problems += family
    return Dataset(problems, "evolved")


DATA = evolved()
ROOTS = make_twins(0, singles=12)
CHAINS = Dataset(
    [
        *ROOTS,
        *(
            replace(p, id=f"{p.id}.{n}", sentence=f"{'well ' * n}{p.sentence}",
                    lineage=Lineage(p.id, p.id, declared=n))
            for p in ROOTS for n in range(1, 7)
        ),
    ],
    "chains",
)  # fmt: skip
DEPTHS = [found.lineage or 0 for found in depths(DATA)]
ROWS = range(len(DATA))
WRONG = {
    "near": [depth > 0 and row % 3 == 0 for row, depth in enumerate(DEPTHS)],
    "far": [depth > 2 and row % 2 == 0 for row, depth in enumerate(DEPTHS)],
}
SAID = {
    name: [Prediction(DATA[row].id, (DATA[row].answer or 0) ^ wrong[row]) for row in ROWS]
    for name, wrong in WRONG.items()
}
BOTH = ["evolved.jsonl", "near.jsonl", "far.jsonl", "--by", "lineage"]


@pytest.fixture(autouse=True)
def _folder(cli: Cli) -> None:
    """Work in a folder with perturbed problems and two solvers' predictions."""
    formats.write(DATA, "evolved.jsonl")
    for name, said in SAID.items():
        answers.write_predictions(said, f"{name}.jsonl", DATA, solver=name)


def test_depth_option_is_shown_and_signed(cli):
    found = cli.told("score", *BOTH, "--depth", "edit")["stability"]["solvers"]["near"]
    assert found["depth"] == "edit"
    assert "|depth:edit|" in found["signature"]
    assert "no perturbed problem has a known declared depth" in cli.refused(
        "score", *BOTH, "--depth", "declared"
    )


def test_accuracy_is_withheld_if_training_included_a_root(cli):
    formats.write(Dataset(DATA[:1]), "train.jsonl")
    arguments = [*BOTH, "--trained-on", "near=train.jsonl", "--out", "report.html"]
    found = cli.told("score", *arguments)
    assert "accuracy" not in found["solvers"]["near"]
    assert found["solvers"]["near"]["withheld"]["problems"] == 13
    assert found["solvers"]["far"]["accuracy"]["n"] == len(DATA)
    stable = found["stability"]
    near = stable["solvers"]["near"]
    assert (near["accuracy"], near["by_depth"], near["roots"]) == (None, None, None)
    assert near["mean"]["value"] > 0
    assert set(stable["kinds"]["near"]["kinds"][0]) == {"kind", "edits", "wrong_edits"}
    shown = cli("score", *arguments)
    rows = [line.split() for line in shown.splitlines() if line.startswith("near ")]
    assert rows[0] == ["near", "—", "—", "—"]
    assert "No accuracy is shown for near: 13 of" in shown
    assert max(map(len, shown.partition("Signature of")[0].splitlines())) <= 80


def test_training_data_are_compared_by_content(cli):
    """WinoGrande contains none of these problems."""
    found = cli.told("score", *BOTH, "--trained-on", "winogrande")["solvers"]
    assert all("withheld" not in one for one in found.values())


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("xyzzy", r"of 'xyzzy' are unknown; known data sets are wsc, pdp.*other:xyzzy"),
        ("near=xyzzy", r"the contents of 'xyzzy' are unknown"),
        ("gone.jsonl", r"'gone\.jsonl' is not a file"),
        ("other:", r"'other:' is not a file"),
        ("third=evolved.jsonl", r"'third' is not one of the solvers near, far"),
    ],
)
def test_unknown_training_data_and_solvers_are_refused(cli, given, reason):
    assert re.search(reason, cli.refused("score", *BOTH, "--trained-on", given))


def test_unavailable_corpus_leaves_the_overlap_unknown(cli):
    found = cli.told("score", *BOTH, "--trained-on", "near=other:private-crawl")["solvers"]
    assert found["near"]["overlap_unknown"] == ["private-crawl"]
    assert found["near"]["accuracy"]["n"] == len(DATA)
    assert "overlap_unknown" not in found["far"]
    shown = " ".join(cli("score", *BOTH, "--trained-on", "near=other:private-crawl").split())
    assert "near was also trained on private-crawl, which is not available: it is unknown" in shown


def test_by_another_field_compares_versions_with_their_roots(cli):
    found = cli.told("score", *BOTH, "--by", "origin.source")["stability"]["root_comparisons"]
    (made,) = found["origin.source"]["near"]
    errors = sum(WRONG["near"])
    assert (made["value"], made["lost"], made["won"]) == ("made", errors, 0)
    told = " ".join(cli("score", *BOTH, "--by", "origin.source").split())
    assert "near compared with its answers to the roots, by origin.source" in told
    assert "The solver is correct on every root: if roots were chosen for that" in told


def test_curves_of_six_solvers_need_two_figures(cli):
    for number in range(4):
        answers.write_predictions(SAID["near"], f"n{number}.jsonl", DATA, solver=f"n{number}")
    more = [f"n{number}.jsonl" for number in range(4)]
    arguments = [*BOTH[:3], *more, *BOTH[3:], "--out", "report.html"]
    shown = cli("score", *arguments)
    assert Path("report.html").read_text("utf-8").count("<title id=") == 5
    assert max(map(len, shown.partition("Signature")[0].splitlines())) <= 80


def test_missing_tagger_only_omits_the_kinds_of_edits():
    script = (
        "import sys; sys.modules['HanTa'] = None\n"
        "from winosmith.cli import main\n"
        f"sys.exit(main(['score', *{BOTH!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "pip install 'winosmith[language]'" in " ".join(done.stdout.split())
    assert "Families without an error" in done.stdout
    assert "Most frequent kinds of edits" not in done.stdout


def test_partial_predictions_are_measured_on_answered_problems(cli):
    lines = ["id,choice", *(f"{p.problem_id},{p.choice + 1}" for p in SAID["near"][:26])]
    Path("some.csv").write_text("\n".join(lines) + "\n")
    arguments = ["evolved.jsonl", "far.jsonl", "some.csv", *BOTH[3:], "--partial"]
    found = cli.told("score", *arguments)["stability"]["solvers"]
    perturbed = [problem.lineage is not None for problem in DATA]
    assert found["some"]["n"] == sum(perturbed[:26])
    assert found["far"]["n"] == sum(perturbed)


@pytest.mark.long
@pytest.mark.data
def test_kinds_of_the_perturbed_wsc_are_scored_as_families(data_dir, cli):
    """All ten kinds of the published table are compared with the 285 originals.

    The solvers are real.
    """
    table = str(data_dir / "perturbed_wsc/dataset/enhanced_wsc.tsv")
    solve = ["solve", table, "--solver", "association", "--train"]
    solve.append(str(data_dir / "winogrande/train_xs.jsonl"))
    cli(*solve, "--out", "whole.jsonl")
    cli(*solve, "--local-context", "--out", "local.jsonl")
    asked = ["--by", "lineage", "--by", "perturbed_wsc.kind"]
    found = cli.told("score", table, "whole.jsonl", "local.jsonl", *asked)["stability"]
    for name in ("whole", "local"):
        stable = found["solvers"][name]
        assert (stable["n"], len(stable["families"])) == (2898 - 285, 285)
        kinds = {
            kind["value"]: kind for kind in found["root_comparisons"]["perturbed_wsc.kind"][name]
        }
        assert len(kinds) == 10
        assert all(kind["roots"]["n"] == kind["accuracy"]["n"] for kind in kinds.values())
        assert kinds["synonym"]["consistent"]["value"] > kinds["context"]["consistent"]["value"]
    tagged = {name: found["kinds"][name]["kinds"][0]["kind"] for name in ("whole", "local")}
    assert tagged == {"whole": "+NN", "local": "+NN"}


def _fail_from(depth: int) -> list[Prediction]:
    """Return predictions that are incorrect from a declared depth on."""
    deep = [(p.lineage.declared or 0) >= depth if p.lineage else False for p in CHAINS]
    return [
        Prediction(p.id, (p.answer or 0) ^ wrong) for p, wrong in zip(CHAINS, deep, strict=True)
    ]


@pytest.fixture
def compare(cli: Cli) -> str:
    """Write chains and answers of three solvers, one always correct; return a command for two."""
    formats.write(CHAINS, "chains.jsonl")
    for name, depth in (("early", 2), ("late", 5), ("never", 9)):
        answers.write_predictions(_fail_from(depth), f"{name}.jsonl", CHAINS, solver=name)
    return "compare chains.jsonl early.jsonl late.jsonl"


def test_depth_without_by_lineage_is_refused(compare, cli):
    for command in ("score evolved.jsonl near.jsonl", compare):
        assert "--depth needs --by lineage" in cli.refused(f"{command} --depth edit"), command


def test_later_errors_are_reported_with_a_paired_test(compare, cli):
    """In all 12 families, one solver fails at depth 2 and the other at 5: p = 2 / 2^12."""
    (pair,) = cli.told(f"{compare} --by lineage")["by_lineage"]
    early, late = (grade(CHAINS, _fail_from(depth)) for depth in (2, 5))
    expected = json.loads(json.dumps(compare_survival(early, late).record()))
    assert pair == {"first": "early", "second": "late", "survival": expected}
    assert pair["survival"]["p_value"] == pytest.approx(2 / 2**12)
    shown = cli(f"{compare} --by lineage --out page.html")
    assert "Depth of the first error (declared), in 12 families" in shown
    row = next(x for x in shown.splitlines() if x.startswith("A − B") and "2nd" in x).split()
    assert row[3:8] == ["12", "12", "2", "5", "2nd"]
    assert "Signature of A − B by lineage: data:" in shown
    assert "Depth of the first error" in Path("page.html").read_text("utf-8")


def test_three_pairs_have_p_values_corrected_by_holm(compare, cli):
    """The smallest p-value is multiplied by 3.

    The median depth of a solver without errors isn't defined.
    """
    printed = cli(f"{compare} never.jsonl --by lineage --depth edit")
    shown = printed.partition("Depth of the first error (edit)")[2]
    rows = [line.split() for line in shown.splitlines() if line[:1] in "AB" and "2nd" in line]
    assert [row[-2:] for row in rows] == [["0.0005", "0.0015"]] * 3
    assert rows[1][3:7] == ["12", "0", "2", "2nd"]
    assert max(map(len, shown.partition("Signature")[0].splitlines())) <= 80


def test_survival_is_not_extrapolated():
    """The only family without an error ends at depth 3, before the other solver's error at 9."""
    data = make_families([2, 9], [3])
    early, late = (measure_stability(right_but(data, wrong)) for wrong in ({"r0-0"}, {"r0-1"}))
    rows = _make_survival_table({"early": early, "late": late}).rows
    assert [row[-1] for row in rows] == [None, "0.0 %"]
