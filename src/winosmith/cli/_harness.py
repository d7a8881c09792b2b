"""`winosmith convert --to` a harness: a folder that it runs as it is."""

from __future__ import annotations

import shlex

from winosmith import formats
from winosmith.cli._printing import print_json, say

__all__ = ["HARNESSES", "export"]

HARNESSES = ("lm-eval", "inspect-ai")


def export(source: str, target: str, format_name: str | None, harness: str, as_json: bool) -> None:
    """Write the problems of a file as a task of a harness, and say how to run it."""
    from winosmith import release  # imports every filter

    everything = formats.read(source, format_name)
    data = everything.select(row for row, p in enumerate(everything) if not p.embargo)
    left_out = len(everything) - len(data)
    if harness == "lm-eval":
        names = release.lm_eval_task(data, target)
        run = f"lm_eval --include_path {shlex.quote(target)} --tasks {','.join(names)} --model hf …"
    else:
        names = (release.inspect_task(data, target),)
        run = f"cd {shlex.quote(target)} && inspect eval {names[0]}.py --model …"
    if as_json:
        report = {"to": harness, "tasks": list(names), "written": len(data)}
        print_json({**report, "embargoed": left_out})
        return
    if left_out:
        say(f"left out: {left_out} under embargo")
    say(f"wrote: {target} ({harness}), {len(data)} problems")
    say(f"run: {run}")
