"""Declarations of parameters."""

import runpy
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import click
import pytest
from click.testing import CliRunner
from pydantic import Field

from winosmith.cli._options import add_declared_options
from winosmith.errors import RecipeError
from winosmith.options import Count, FilterRecipe, build_schema, checked, declaration, from_table


@declaration
class Grown(FilterRecipe):
    """`[grown]`: a filter with one more parameter."""

    margin: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Least margin of a problem."""


def test_one_declaration_adds_key_option_help_schema_and_error():
    echo = add_declared_options(Grown, only=["margin"])(lambda margin: click.echo(repr(margin)))
    command, run = click.command("grow")(echo), CliRunner().invoke
    assert from_table(Grown, {"margin": 0.25}) == replace(Grown(), margin=0.25)
    assert run(command, ["--margin", "0.25"]).output == "0.25\n"
    shown = run(command, ["--help"]).output
    assert "Least margin of a problem. [default: 0.5; 0<x<=1]" in " ".join(shown.split())
    line = "| `margin` | number above 0 and at most 1 | `0.5` | Least margin of a problem. |"
    reference = runpy.run_path(str(Path(__file__).parents[1] / "docs/make_reference.py"))
    assert line in reference["table_section"]("Grown", build_schema(Grown))
    assert build_schema(Grown)["properties"]["margin"]["exclusiveMinimum"] == 0
    with pytest.raises(RecipeError, match="margin is 2; it must be a number above 0 and at most 1"):
        from_table(Grown, {"margin": 2})


def test_signature_of_a_checked_function_declares_an_option():
    @checked
    def deal(people: str, tables: Annotated[Count, Field(description="Number of tables.")] = 2):
        click.echo(f"{people} {tables}")

    command = click.command("deal")(add_declared_options(deal)(lambda tables: deal("ann", tables)))
    assert CliRunner().invoke(command, ["--tables", "3"]).output == "ann 3\n"
    shown = CliRunner().invoke(command, ["--help"]).output
    assert "Number of tables. [default: 2; x>=1]" in " ".join(shown.split())
    with pytest.raises(RecipeError, match="tables is 0; it must be a whole number, 1 or more"):
        deal("ann", tables=0)


def test_replace_checks_the_new_values():
    with pytest.raises(RecipeError, match="folds is 1; it must be a whole number, 2 or more"):
        replace(FilterRecipe(), folds=1)
