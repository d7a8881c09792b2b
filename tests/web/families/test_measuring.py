"""Statistics over all families equal those that winosmith computes from the downloads."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.web.growing import family, model, says, version
from tests.web.working import work_off
from winosmith import answers, formats
from winosmith.cli._main import group
from winosmith.report import to_fixed
from winosmith.web.families import measuring
from winosmith.web.families.measuring import measure_if_changed
from winosmith.web.families.models import Measured
from winosmith.web.jobs import take_over_jobs
from winosmith.web.problems.models import Version


def _saved(client: Any, path: str, to: Path) -> Path:
    answer = client.get(path)
    assert answer.status_code == 200
    to.write_bytes(answer.getvalue())
    return to


def _without_families(record: Any) -> Any:
    """Return a record after a JSON round trip, without its families."""
    return json.loads(json.dumps({k: v for k, v in record.items() if k != "families"}))


@pytest.mark.parametrize("depth", ["declared", "lineage", "edit"])
def test_score_of_the_downloads_equals_the_page(
    db: Any, visit: Any, tmp_path: Path, depth: str
) -> None:
    alpha, beta = model("alpha"), model("beta")
    for word in ("cup", "lamp", "pot", "bowl", "mug", "jar"):
        family(alpha, beta, word=word)
    assert measure_if_changed()
    client = visit()
    files = [
        _saved(client, f"/families/data/{name}.jsonl", tmp_path / f"{name}.jsonl")
        for name in ("problems", "alpha", "beta")
    ]
    asked = [*map(str, files), "--by", "lineage", "--depth", depth, "--json"]
    ran = CliRunner().invoke(group, ["score", *asked], catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    said = json.loads(ran.stdout)
    page = Measured.objects.get(depth=depth)
    assert {one["name"]: _without_families(one["stability"]) for one in page.answers} == {
        name: _without_families(record) for name, record in _solvers(said).items()
    }
    body = client.get(f"/families/models/?depth={depth}").content.decode()
    for one in page.answers:
        assert one["stability"]["signature"] in body
        assert to_fixed(one["stability"]["mean"]["value"], ".2f") in body


def test_page_names_the_models_that_versions_were_to_fool(db: Any, visit: Any) -> None:
    """Contributors saw the answers of these models."""
    alpha, beta = model("alpha"), model("beta")
    family(alpha, beta)
    assert measure_if_changed()
    told = "These models look less stable than they are"
    assert told not in visit().get("/families/models/").content.decode()
    written = Version.objects.filter(parent__isnull=False, problem__public=True)
    keys = list(written.values_list("pk", flat=True)[:3])
    Version.objects.filter(pk__in=keys[:2]).update(against=beta)
    Version.objects.filter(pk__in=keys[2:]).update(against=alpha)
    page = visit().get("/families/models/").content.decode()
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


def test_file_of_predictions_equals_that_of_write_predictions(
    db: Any, visit: Any, tmp_path: Path
) -> None:
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
        read = answers.read_predictions(path, data)
        assert [p.problem_id for p in read.predictions] == [p.ref for p in problems]
        answers.write_predictions(
            read.predictions, tmp_path / "again.jsonl", data, solver="alpha",
            parameters={k: getattr(alpha, k) for k in ("solver", "revision", "digest")},
        )  # fmt: skip
        assert (tmp_path / "again.jsonl").read_bytes() == path.read_bytes()
    tag = client.head("/families/data/alpha.jsonl").headers["ETag"]
    assert client.get("/families/data/alpha.jsonl", HTTP_IF_NONE_MATCH=tag).status_code == 304
    assert client.get("/families/data/nosuch.jsonl").status_code == 404
    assert client.get("/families/data/alpha").status_code == 404


def test_families_are_measured_again_only_after_a_change(db: Any) -> None:
    alpha = model("alpha")
    found = family(alpha)
    assert measure_if_changed()
    assert not measure_if_changed()
    more = version(found["pot"], "The cup hit the jug and the _ fell far down .")
    assert not measure_if_changed()
    says(alpha, more, False)
    assert measure_if_changed()
    row = Measured.objects.get(depth="lineage").answers[0]
    assert row["stability"]["n"] == 4
    assert "never" not in row["fault"]


def test_page_reports_missing_answers_and_missing_lifelines(
    db: Any, visit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha = model("alpha")
    assert "The results are being computed." in visit().get("/families/models/").content.decode()
    assert measure_if_changed()
    assert "alpha can’t be measured yet" in visit().get("/families/models/").content.decode()
    found = family(alpha)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "lifelines", None)
        assert measure_if_changed()
    page = visit().get("/families/models/").content.decode()
    assert "winosmith[stability]" in page
    assert visit().get(f"/families/{found['root'].ref}/").status_code == 200
    Measured.objects.all().delete()
    assert measure_if_changed()
    assert "winosmith[stability]" not in visit().get("/families/models/").content.decode()


def test_charts_are_svg_without_inline_styles(db: Any, visit: Any) -> None:
    family(model("alpha"))
    measure_if_changed()
    page = visit().get("/families/models/").content.decode()
    assert "can’t be measured" not in page
    assert page.count("<svg") == 2
    assert "Families without an error" in page
    assert "style=" not in page
    assert "var(--one)" in page


def test_worker_measures_changed_families_once(database: Any, visit: Any) -> None:
    family(model("alpha"))
    assert "These numbers were computed" not in visit().get("/families/models/").content.decode()
    take_over_jobs()
    work_off()
    assert "These numbers were computed" in visit().get("/families/models/").content.decode()
    assert not measuring.measure_if_changed()
