"""Build a benchmark: from raw twins to the published files and their report.

>>> from winosmith.release import recipe_of
>>> recipe = recipe_of({"name": "mine", "data": "pool.jsonl", "filter": {"threshold": 0.8}})
>>> recipe.filter.method, recipe.filter.threshold
('aflite', 0.8)
"""

from __future__ import annotations

from winosmith.release._build import Built, build, finished_build
from winosmith.release._debias import Debiased, debias_to_folder, finished_filter
from winosmith.release._filter import NAMES, FilterRun, run_filter
from winosmith.release._interchange_inspect import inspect_task
from winosmith.release._interchange_lm_eval import lm_eval_task
from winosmith.release._measure import Measures, measure
from winosmith.release._progress import Advance, Step
from winosmith.release._recipe import (
    EmbedRecipe,
    FilesRecipe,
    FilterRecipe,
    Recipe,
    SplitRecipe,
    read_recipe,
    recipe_of,
)
from winosmith.release._recipe_file import recipe_toml
from winosmith.release._report_filter import filter_sections, key_figures
from winosmith.release._split import nested_sizes
from winosmith.release._vectors import Embedded, embedded

__all__ = [
    "NAMES",
    "Advance",
    "Built",
    "Debiased",
    "EmbedRecipe",
    "Embedded",
    "FilesRecipe",
    "FilterRecipe",
    "FilterRun",
    "Measures",
    "Recipe",
    "SplitRecipe",
    "Step",
    "build",
    "debias_to_folder",
    "embedded",
    "filter_sections",
    "finished_build",
    "finished_filter",
    "inspect_task",
    "key_figures",
    "lm_eval_task",
    "measure",
    "nested_sizes",
    "read_recipe",
    "recipe_of",
    "recipe_toml",
    "run_filter",
]
