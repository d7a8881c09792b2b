"""Build a benchmark from raw twins: the published files and their report.

>>> from winosmith.build import recipe_of
>>> recipe = recipe_of({"name": "mine", "data": "pool.jsonl", "filter": {"threshold": 0.8}})
>>> recipe.filter.method, recipe.filter.threshold
('aflite', 0.8)
"""

from __future__ import annotations

from winosmith.build._build import Built, build, finished_build
from winosmith.build._debias import Debiased, debias_to_folder, finished_filter
from winosmith.build._filter import METHOD_NAMES, FilterRun, run_filter
from winosmith.build._filtering import Measures
from winosmith.build._pool import describe_copies, read_pool, read_pool_votes
from winosmith.build._publish import digest_of, read_last, write_json
from winosmith.build._recipe import Recipe, read_recipe, recipe_of, recipe_table, recipe_toml
from winosmith.build._report import (
    describe_columns,
    describe_former_splits,
    describe_small_splits,
    make_former_split_blocks,
)
from winosmith.build._report_filter import key_figures
from winosmith.options import EmbedRecipe, FilterRecipe, MeasureRecipe
from winosmith.parallel import Advance, Step, no_progress

__all__ = [
    "METHOD_NAMES",
    "Advance",
    "Built",
    "Debiased",
    "EmbedRecipe",
    "FilterRecipe",
    "FilterRun",
    "MeasureRecipe",
    "Measures",
    "Recipe",
    "Step",
    "build",
    "debias_to_folder",
    "describe_columns",
    "describe_copies",
    "describe_former_splits",
    "describe_small_splits",
    "digest_of",
    "finished_build",
    "finished_filter",
    "key_figures",
    "make_former_split_blocks",
    "no_progress",
    "read_last",
    "read_pool",
    "read_pool_votes",
    "read_recipe",
    "recipe_of",
    "recipe_table",
    "recipe_toml",
    "run_filter",
    "write_json",
]
