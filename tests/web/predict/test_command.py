"""`winosmith admin models`."""

from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tests.web.predict.making import asked
from winosmith.cli.admin import models
from winosmith.errors import InputError
from winosmith.web.predict.asking import NOT_LOADED, set_current_models, update_model
from winosmith.web.predict.models import Model
from winosmith.web.predict.process import get_fault_path


def _run(site: Any, *arguments: str) -> Any:

    return CliRunner().invoke(models, [str(site.folder), *arguments])


def test_command_prints_progress_and_faults_of_models(db: Any) -> None:
    set_current_models(db.rules.models)
    asked(1).predictions.filter(model__name="hunting").update(stand="failed")
    update_model("association", fault=NOT_LOADED)
    path = get_fault_path(Path(db.folder), "association")
    path.parent.mkdir(exist_ok=True)
    path.write_text("/srv/x: there is no config.json\n")
    told = _run(db).output
    path.unlink()
    assert "0 of 1 predicted" in told
    assert "/srv/x: there is no config.json" in told
    assert f"1 failed; retry with: winosmith admin models {db.folder} --retry hunting" in told
    assert Model.objects.filter(current=True).count() == 2


def test_retry_resets_failed_predictions_of_one_model(db: Any) -> None:
    set_current_models(db.rules.models)
    problem = asked(1)
    problem.predictions.update(stand="late")
    assert "1 prediction of hunting will be retried" in _run(db, "--retry", "hunting").output
    assert problem.predictions.get(model__name="hunting").stand == "waiting"
    assert problem.predictions.get(model__name="association").stand == "late"
    refused = _run(db, "--retry", "nobody").exception
    assert isinstance(refused, InputError)
    assert "association, hunting" in str(refused)
