"""Reading a recipe."""

import tomllib
from pathlib import Path

import pytest

from winosmith.build import format_recipe
from winosmith.build._recipe import Recipe, parse_recipe, read_recipe, tabulate_recipe
from winosmith.errors import RecipeError


def table(**changes):
    """Return the smallest recipe with some changes."""
    return {"name": "mine", "data": "pool.jsonl", **changes}


def test_defaults_are_the_papers():
    """A recipe with a name and data alone has WinoGrande's parameters (sections 2 and 3)."""
    recipe = parse_recipe(table())
    assert (recipe.filter.ensemble_size, recipe.filter.threshold) == (64, 0.75)
    assert (recipe.structure.length, recipe.structure.overlap) == ((15, 30), 0.7)
    assert recipe.votes.judges == 3
    assert (round(12_282 * recipe.split.dev), round(12_282 * recipe.split.test)) == (1265, 1769)


def test_false_leaves_the_encoder_its_own_dropout():
    """`finetune_dropout = false` sets no rate, as the released code does."""
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
def test_what_does_not_fit_is_named(changes, message):
    """A key or value that does not fit is an error that names it and says what would fit."""
    with pytest.raises(RecipeError, match=message):
        parse_recipe(table(**changes))


def test_false_switches_a_rule_off():
    """A rule of structure that is set to false is not applied."""
    recipe = parse_recipe(
        table(structure={"rules": "none", "length": False, "overlap": 0.5, "anchor": False})
    )
    assert recipe.structure.rules == "none"
    assert recipe.structure.length is None
    assert recipe.structure.overlap == 0.5
    assert not recipe.structure.anchor


def test_a_choice_may_also_be_left_open():
    """Pooling is one of two, or false for what fits the encoder; anything else is named."""
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
        {"votes_file": 'a "b" \\ \x7f\n\u00e9\U0001f600.csv', "embed": {"array": "v.npz"}},
    ],
)
def test_a_recipe_that_is_written_is_read_as_it_was(changes):
    """The TOML of a recipe gives the same recipe, whatever is switched off or written in it."""
    recipe = parse_recipe(table(**changes))
    assert parse_recipe(tomllib.loads(format_recipe(recipe))) == recipe


def test_a_written_recipe_names_files_without_their_folders():
    """No path of the machine that built it is in a published recipe."""
    text = format_recipe(Recipe("mine", "/home/you/secret/pool.jsonl"))
    assert 'data = "pool.jsonl"' in text
    assert "secret" not in text


def test_missing_key_is_named():
    """A recipe without data says which key is missing."""
    with pytest.raises(RecipeError, match="the key 'data' is missing"):
        parse_recipe({"name": "mine"})


def test_files_lie_beside_the_recipe(tmp_path):
    """File names in a recipe are relative to the recipe's folder, and must exist."""
    (tmp_path / "pool.jsonl").write_text("x")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('name = "mine"\ndata = "pool.jsonl"\n')
    assert read_recipe(recipe).data == str(tmp_path / "pool.jsonl")
    recipe.write_text('name = "mine"\ndata = "pond.jsonl"\n')
    with pytest.raises(RecipeError, match=r"recipe\.toml: data is 'pond.jsonl', but the file"):
        read_recipe(recipe)


def test_broken_toml_names_the_file_and_the_place(tmp_path):
    """A file that is not TOML is refused with its name and where it breaks."""
    recipe = tmp_path / "recipe.toml"
    recipe.write_text("name = \n")
    with pytest.raises(RecipeError, match=r"recipe\.toml: not a TOML file: .*line 1"):
        read_recipe(recipe)


def test_data_may_be_an_address(tmp_path: Path) -> None:
    """An address is no file next to the recipe, and is published as it is."""
    for data in ("hf:org/name[train]", ("lm-eval:a", "lm-eval:b")):
        made = parse_recipe({"name": "r", "data": data}, folder=tmp_path)
        assert made.data == data
        assert tabulate_recipe(made)["data"] == (data if isinstance(data, str) else [*data])
