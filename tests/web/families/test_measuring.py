"""What is measured over all families is what winosmith measures on the downloads."""

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


def _rid(record: Any) -> Any:
    """Return a record as JSON gives it back, without the families."""
    return json.loads(json.dumps({k: v for k, v in record.items() if k != "families"}))


@pytest.mark.parametrize("depth", ["declared", "lineage", "edit"])
def test_the_downloads_give_the_figures_of_the_page(
    db: Any, visit: Any, tmp_path: Path, depth: str
) -> None:
    """`winosmith score --by lineage` on the files says what the page says, signature included."""
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
    assert {one["name"]: _rid(one["stability"]) for one in page.answers} == {
        name: _rid(record) for name, record in _solvers(said).items()
    }
    body = client.get(f"/families/models/?depth={depth}").content.decode()
    for one in page.answers:
        assert one["stability"]["signature"] in body
        assert to_fixed(one["stability"]["mean"]["value"], ".2f") in body


def test_the_page_tells_against_whom_versions_were_written(db: Any, visit: Any) -> None:
    """Models whose answers contributors saw are named with how many versions were to fool them."""
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
    """Return the records of the solvers out of what the command wrote."""
    if isinstance(said, dict):
        if "solvers" in said and "depth" in said:
            found: dict[str, Any] = said["solvers"]
            return found
        for value in said.values():
            if found := _solvers(value):
                return found
    return {}


def test_files_of_predictions_are_those_of_the_formats(db: Any, visit: Any, tmp_path: Path) -> None:
    """The file of a model is, byte for byte, what `answers.write_predictions` writes."""
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


def test_it_is_measured_anew_when_something_changed(db: Any) -> None:
    """Nothing new, nothing measured; one more answer, and the figures are others."""
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


def test_the_page_says_what_can_not_be_measured(
    db: Any, visit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without lifelines the page says what to install; without an answer, that there is none."""
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


def test_drawings_pass_the_policy(db: Any, visit: Any) -> None:
    """The page has a survival curve and accuracies as SVG, and no style in any element."""
    family(model("alpha"))
    measure_if_changed()
    page = visit().get("/families/models/").content.decode()
    assert "can’t be measured" not in page
    assert page.count("<svg") == 2
    assert "Families without an error" in page
    assert "style=" not in page
    assert "var(--one)" in page


def test_the_worker_measures_what_has_changed(database: Any, visit: Any) -> None:
    """A page shows the figures once the worker has found them; nothing is measured twice."""
    family(model("alpha"))
    assert "These numbers were computed" not in visit().get("/families/models/").content.decode()
    take_over_jobs()
    work_off()
    assert "These numbers were computed" in visit().get("/families/models/").content.decode()
    assert not measuring.measure_if_changed()
