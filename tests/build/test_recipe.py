"""Reading and writing recipes."""

import tomllib

import pytest

from winosmith.build import format_recipe
from winosmith.build._recipe import Recipe, parse_recipe, read_recipe, tabulate_recipe
from winosmith.errors import RecipeError


def table(**changes):
    """Return the smallest recipe with changes."""
    return {"name": "mine", "data": "pool.jsonl", **changes}


def test_defaults_are_the_parameters_of_winogrande():
    """See sections 2 and 3 of the paper."""
    recipe = parse_recipe(table())
    assert (recipe.filter.ensemble_size, recipe.filter.threshold) == (64, 0.75)
    assert (recipe.structure.length, recipe.structure.overlap) == ((15, 30), 0.7)
    assert recipe.votes.judges == 3
    assert (round(12_282 * recipe.split.dev), round(12_282 * recipe.split.test)) == (1265, 1769)


def test_finetune_dropout_false_sets_no_rate():
    """As in the released code, the encoder keeps its own rate."""
    embed = {"finetune_dropout": False, "finetune_weight_decay": 0}
    recipe = parse_recipe(table(embed=embed))
    assert (recipe.embed.finetune_dropout, recipe.embed.finetune_weight_decay) == (None, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sead": 1}, "unknown key 'sead'; did you mean 'seed'?"),
        (
            {"filter": {"treshold": 1.0}},
            "filter. unknown key 'treshold'; did you mean 'threshold'?",
        ),
        ({"filter": {"zzz": 1}}, "filter. unknown key 'zzz'; the keys are method, "),
        ({"filter": {"dev": 1}}, "'dev' in the table .split."),
        ({"filter": {"method": "af"}}, 'method is \'af\'; it must be "aflite", "mirror", "pmi", '),
        ({"filter": 3}, r"filter is 3; it must be a table: \[filter\]"),
        ({"votes": "v.csv"}, "must be a table: .votes.; did you mean votes_file?"),
        ({"seed": "1"}, "seed is '1'; it must be a whole number"),
        ({"seed": True}, "seed is True; it must be a whole number"),
        ({"structure": {"length": 15}}, "length is 15; it must be two whole numbers or false"),
        ({"seed": -1}, "seed is -1; it must be a whole number, 0 or more"),
        (
            {"treshold": 0.7},
            r"unknown key 'treshold'; did you mean 'threshold' in the table \[filter\]",
        ),
        (
            {"filter": {"threshold": 1.4}},
            r"\[filter\] threshold is 1.4; it must be a number above 0",
        ),
        ({"filter": {"cutoff": 0}}, r"\[filter\] cutoff is 0; it must be a whole number, 1 or"),
        (
            {"filter": {"cutoff": 1.5}},
            "cutoff is 1.5; .*, or a number above 0 and below 1, or false",
        ),
        ({"filter": {"target_size": 0}}, "target_size is 0; it must be a whole number, 1 or more"),
        ({"filter": {"remove": "halves"}}, "remove is 'halves'; it must be \"problems\" or"),
        ({"filter": {"null": True}}, 'null is True; it must be "off" or'),
        ({"filter": {"null_draws": 5}}, "null_draws is 5; it must be a whole number, 20 or more"),
        ({"split": {"dev": 0.6, "test": 0.6}}, "must leave problems for training"),
        (
            {"structure": {"length": [20, 10]}},
            r"\[structure\] length is \[20, 10\]; it must be a range",
        ),
        ({"votes": {"judges": 0}}, r"\[votes\] judges is 0; it must be a whole number, 1"),
        ({"embed": {"finetune_train": 100}}, "must be set together"),
        ({"embed": {"finetune_weight_decay": -1.0}}, "finetune_weight_decay is -1.0; it must be a"),
        ({"embed": {"finetune_dropout": 1.0}}, "finetune_dropout is 1.0; .* below 1"),
        ({"embed": {"finetune_train": 100, "finetune_dev": 20}}, "needs a Hugging Face encoder"),
        ({"name": "../up"}, "it must consist of letters, digits"),
    ],
)
def test_invalid_keys_and_values_are_refused(changes, message):
    with pytest.raises(RecipeError, match=message):
        parse_recipe(table(**changes))


def test_false_disables_a_structure_rule():
    recipe = parse_recipe(
        table(structure={"rules": "none", "length": False, "overlap": 0.5, "anchor": False})
    )
    assert recipe.structure.rules == "none"
    assert recipe.structure.length is None
    assert recipe.structure.overlap == 0.5
    assert not recipe.structure.anchor


def test_pooling_is_a_choice_or_false():
    """`false` selects what fits the encoder."""
    assert parse_recipe(table(embed={"pooling": "cls"})).embed.pooling == "cls"
    assert parse_recipe(table(embed={"pooling": False})).embed.pooling is None
    with pytest.raises(RecipeError, match=r"\[embed\] pooling is 'max'; it must be \"mean\" or"):
        parse_recipe(table(embed={"pooling": "max"}))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"structure": {"length": False, "overlap": 0.5}, "seed": 10**20},
        {"filter": {"cutoff": 0.01, "target_size": 90, "remove": "twins", "null": "report"}},
        {"filter": {"cutoff": 12, "C": 1e-05, "threshold": 1}, "embed": {"pooling": "cls"}},
        {"filter": {"method": "mirror", "aim": "chance", "folds": 5}},
        {"votes_file": 'a "b" \\ \x7f\n\u00e9\U0001f600.csv', "embed": {"array": "v.npz"}},
    ],
)
def test_recipe_round_trip_through_toml(changes):
    recipe = parse_recipe(table(**changes))
    assert parse_recipe(tomllib.loads(format_recipe(recipe))) == recipe


def test_published_recipe_omits_folders():
    """Published recipes must not contain paths of the author's computer."""
    text = format_recipe(Recipe("mine", "/home/you/secret/pool.jsonl"))
    assert 'data = "pool.jsonl"' in text
    assert "secret" not in text


def test_missing_data_key_is_refused():
    with pytest.raises(RecipeError, match="the key 'data' is missing"):
        parse_recipe({"name": "mine"})


def test_files_are_relative_to_the_recipe_and_must_exist(tmp_path):
    (tmp_path / "pool.jsonl").write_text("x")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('name = "mine"\ndata = "pool.jsonl"\n')
    assert read_recipe(recipe).data == str(tmp_path / "pool.jsonl")
    recipe.write_text('name = "mine"\ndata = "pond.jsonl"\n')
    with pytest.raises(RecipeError, match=r"recipe\.toml: data is 'pond.jsonl', but the file"):
        read_recipe(recipe)


def test_invalid_toml_is_refused_with_file_and_line(tmp_path):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text("name = \n")
    with pytest.raises(RecipeError, match=r"recipe\.toml: not a TOML file: .*line 1"):
        read_recipe(recipe)


def test_addresses_are_not_resolved_as_files(tmp_path):
    for data in ("hf:org/name[train]", ("lm-eval:a", "lm-eval:b")):
        made = parse_recipe({"name": "r", "data": data}, folder=tmp_path)
        assert made.data == data
        assert tabulate_recipe(made)["data"] == (data if isinstance(data, str) else [*data])
