"""Each command with --json has a published JSON Schema, generated from its results."""

import jsonschema
import pytest

from tests.cli.conftest import ways
from tests.json_schemas import FOLDER, refuse_invalid, validator
from tests.test_docs import schemas


def test_each_command_with_json_has_a_schema() -> None:
    offered = {
        name for name, way in ways().items() if any("--json" in p.opts for p in way[-1].params)
    }
    assert set(schemas.PRINTED) == offered


def test_published_schemas_are_up_to_date_and_valid() -> None:
    made = schemas.files()
    assert {path: path.read_text("utf-8") for path in made} == made
    assert {*FOLDER.iterdir()} == {path for path in made if path.suffix == ".json"}
    for command in schemas.PRINTED:
        jsonschema.Draft202012Validator.check_schema(validator(command).schema)


@pytest.mark.parametrize(
    "printed", ['{"schema": "data get 1"}', '{"schema": "data get 1", "files": {}, "more": 1}']
)
def test_missing_and_unknown_keys_are_invalid(printed: str) -> None:
    """The schema refuses missing keys; the tests also refuse unknown keys."""
    with pytest.raises(AssertionError, match="data get --json"):
        refuse_invalid(printed)
