"""The canary of a release: a string that no text holds by chance, in each file that takes one."""

from __future__ import annotations

__all__ = ["canary_text", "comment"]


def canary_text(name: str, canary: str) -> str:
    """Return the file CANARY: what the string is for, after BIG-bench's practice (2022)."""
    return (
        f"{name}: benchmark data, to be kept out of training corpora.\n{canary}\n\n"
        "Every problem carries the line above, and every file here that takes a comment. Leave it\n"
        "where it is. Whoever gathers training data can search for it and leave these texts out;\n"
        "whoever suspects that a model has seen them can ask the model for the line.\n"
    )


def comment(canary: str) -> str:
    """Return the canary as a comment of Markdown."""
    return f"<!-- {canary} -->"
