"""What is published: tasks for other harnesses, made of a data set.

>>> from winosmith.release import inspect_task, lm_eval_task
"""

from __future__ import annotations

from winosmith.release._interchange_inspect import inspect_task
from winosmith.release._interchange_lm_eval import lm_eval_task

__all__ = ["inspect_task", "lm_eval_task"]
