"""Build the published files of a benchmark and their report from raw twins.

>>> from winosmith.build import parse_recipe
>>> recipe = parse_recipe({"name": "mine", "data": "pool.jsonl", "filter": {"threshold": 0.8}})
>>> recipe.filter.method, recipe.filter.threshold
('aflite', 0.8)
"""

from __future__ import annotations

from winosmith.build._build import BuildResult, build, is_build_finished
from winosmith.build._debias import DebiasResult, debias_to_folder, is_filter_finished
from winosmith.build._filter import METHOD_NAMES, FilterRun, run_filter
from winosmith.build._filtering import Measures
from winosmith.build._pool import describe_copies, read_pool, read_pool_votes
from winosmith.build._publish import read_last_build
from winosmith.build._recipe import (
    Recipe,
    format_recipe,
    parse_recipe,
    read_recipe,
    tabulate_recipe,
)
from winosmith.build._report import (
    describe_missing_columns,
    describe_previous_splits,
    describe_small_splits,
    make_previous_split_blocks,
)
from winosmith.build._report_filter import make_figures
from winosmith.options import EmbedRecipe, FilterRecipe, MeasureRecipe

__all__ = [
    "METHOD_NAMES",
    "BuildResult",
    "DebiasResult",
    "EmbedRecipe",
    "FilterRecipe",
    "FilterRun",
    "MeasureRecipe",
    "Measures",
    "Recipe",
    "build",
    "debias_to_folder",
    "describe_copies",
    "describe_missing_columns",
    "describe_previous_splits",
    "describe_small_splits",
    "format_recipe",
    "is_build_finished",
    "is_filter_finished",
    "make_figures",
    "make_previous_split_blocks",
    "parse_recipe",
    "read_last_build",
    "read_pool",
    "read_pool_votes",
    "read_recipe",
    "run_filter",
    "tabulate_recipe",
]
