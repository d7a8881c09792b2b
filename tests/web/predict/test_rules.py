"""The models in `site.toml`: valid options, and errors with the file and the key."""

from pathlib import Path

import pytest

from winosmith.errors import RecipeError
from winosmith.web import SiteRules

CHAT = 'solver = "chat"\nmodel = "m"\nbase_url = "http://localhost:1/v1"\n'


def _read(tmp_path: Path, *tables: str) -> SiteRules:
    path = tmp_path / "site.toml"
    path.write_text("".join(f'[[models]]\nname = "one"\n{table}\n' for table in tables))
    return SiteRules.read(path)


@pytest.mark.parametrize(
    "table",
    [
        'solver = "random"\nseed = 3',
        'solver = "majority"\nrevision = "the first"',
        'solver = "association"\nfeatures = "pairs"',
        'solver = "hunting"\ncollection = "texts"\nsnippets = 5',
        'solver = "causal"\nmodel = "gpt2"\nscoring = "full"\nshots = 3\nthreads = 2',
        'solver = "masked"\nmodel = "roberta"\nscoring = "option_per_token"\nmemory_gb = 4',
        'solver = "encoder"\nmodel = "tuned"\ndevice = "cpu"',
        CHAT + 'key_variable = "MY_KEY"\ntemperature = 0.5\nconcurrency = 8\nswap = true',
    ],
)
def test_options_of_each_solver_are_read(tmp_path, table):
    [rule] = _read(tmp_path, table).models
    assert rule.name == "one"
    assert rule.options or rule.solver == "majority"


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('solver = "oracle"', 'solver is \'oracle\'; it must be "random", "majority"'),
        ("solver = 3", "solver is 3; it must be"),
        ('solver = "random"\ncolour = "red"', "unknown key 'colour'; the keys are seed"),
        ('solver = "random"\nseed = -1', "seed is -1; it must be a whole number, 0 or more"),
        ('solver = "random"\nseed = true', "seed is True; it must be a whole number"),
        ('solver = "association"\nfeatures = "letters"', 'it must be "pairs" or "words"'),
        ('solver = "encoder"', "the key 'model' is missing"),
        ('solver = "encoder"\nmodel = ""', "model is ''; it must be text of 1 to 300"),
        (
            'solver = "encoder"\nmodel = "m"\nthreads = 0',
            "threads is 0; it must be a whole number from 1 to 256",
        ),
        ('solver = "causal"\nmodel = "m"\nscoring = "best"', 'it must be "partial"'),
        ('solver = "chat"\nmodel = "m"', "the key 'base_url' is missing"),
        ('solver = "chat"\nmodel = "m"\nbase_url = "http://far.example/v1"', "not encrypted"),
        (
            'solver = "chat"\nmodel = "m"\nbase_url = "https://a:b@c/v1"',
            "a user, a password or a query",
        ),
        (CHAT + 'swap = "yes"', "swap is 'yes'; it must be true or false"),
        (CHAT + "temperature = 99", "temperature is 99; it must be a number from 0 to 10"),
    ],
)
def test_invalid_option_is_reported_with_file_and_model(tmp_path, table, told):
    with pytest.raises(RecipeError) as caught:
        _read(tmp_path, table)
    assert str(caught.value).startswith(f"{tmp_path / 'site.toml'}: the solver one: ")
    assert told in str(caught.value)


def test_api_key_in_the_file_is_refused_but_not_quoted(tmp_path):
    with pytest.raises(RecipeError) as caught:
        _read(tmp_path, CHAT + 'key_variable = "sk-live-123"')
    assert "the name of an environment variable" in str(caught.value)
    assert "sk-live-123" not in str(caught.value)


def test_models_with_equal_names_are_refused(tmp_path):
    with pytest.raises(RecipeError, match="two models are named 'one'"):
        _read(tmp_path, 'solver = "random"', 'solver = "majority"')


def test_pronoun_as_input_of_a_model_is_refused(tmp_path):
    """Contributors write blanks, so there is no pronoun to see; `sees = "blank"` is allowed."""
    with pytest.raises(RecipeError, match="have a blank, not a pronoun"):
        _read(tmp_path, 'solver = "association"\nsees = "pronoun"')
    _read(tmp_path, 'solver = "association"\nsees = "blank"')


@pytest.mark.parametrize("text", ["models = 3", 'models = "all"', "models = { a = 1 }"])
def test_models_must_be_a_list(tmp_path, text):
    path = tmp_path / "site.toml"
    path.write_text(text)
    with pytest.raises(RecipeError, match="it must be a list of tables"):
        SiteRules.read(path)
