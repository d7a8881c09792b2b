"""Pages, messages, templates and docstrings avoid words that readers found odd.

`python -m tests.test_words` lists the words that exceptions allow, and unused exceptions.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import winosmith

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(winosmith.__file__).parent

EVERYWHERE = {
    r"\banew\b": "again, re-",
    r"\bwhoever\b": "the person, by a noun",
    r"\bby lot\b": "at random",
    r"\bleft out\b": "omitted (options), removed (problems)",
    r"\bstands? over\b": "is shown above",
    r"\bonce more\b": "again",
    r"\bkept aside\b": "cached",
    r"\bgoes on\b": "continues, resumes",
}
"""Patterns that no text may match, in any case, with what to write instead."""

PAGES = {
    r"\btold\b": "reported, printed, shown",
    r"\btell(s|ing)?\b": "report, show; a leak reveals",
    r"\bso many\b": "this many, number of",
    r"\bgo on\b": "continue",
    r"\bbeside\b": "next to, in addition to",
    r"\b(stands|stood)\b": "is, appears, states",
    r"\ball the same\b": "anyway",
    r"\blooks? after\b": "manages",
    r"(?<!\bthere )\bis no\b(?! (longer|more)\b)": "is not a",
}
"""Further patterns that no documentation page may match."""

ALLOWED = {
    "CONTRIBUTING.md": "names the words",
    "src/winosmith/evolve/_chat_dialogue.py": "prompts, on which cached replies depend",
}
"""Files that may contain such words, with the reason."""


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts in a file that people read, each with its first line number."""
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        text = re.sub(r"```.*?```", lambda b: "\n" * b[0].count("\n"), text, flags=re.DOTALL)
        yield 1, re.sub(r"`[^`\n]*`", "", text)
    elif path.suffix in {".html", ".txt"}:
        yield 1, re.sub(r"\{#.*?#\}", "", text)
    else:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.lineno, node.value


def found(path: Path, patterns: dict[str, str]) -> Iterator[str]:
    """Yield each match of a pattern in a file, with its line and what to write."""
    for first, text in sentences(path):
        for pattern, instead in patterns.items():
            for word in re.finditer(pattern, text, re.IGNORECASE):
                line = first + text.count("\n", 0, word.start())
                yield f"{path.relative_to(ROOT)}:{line}: {word[0]!r}; write: {instead}"


def _texts(folder: Path) -> Iterator[Path]:
    for suffix in ("py", "html", "txt"):
        yield from (
            path
            for path in folder.rglob(f"*.{suffix}")
            if not {"migrations", "static"} & {*path.parts}
        )


def _pages() -> Iterator[Path]:
    yield from ROOT.glob("*.md")
    written = {"files.md"}
    for page in (ROOT / "docs").rglob("*.md"):
        if page.parent.name != "reference" or page.name in written:
            yield page


def test_messages_templates_and_docstrings_have_no_odd_word():
    odd = [
        each
        for path in sorted(_texts(SOURCE))
        if path.relative_to(ROOT).as_posix() not in ALLOWED
        for each in found(path, EVERYWHERE)
    ]
    assert odd == []


def test_pages_have_no_odd_word():
    """Blocks of code are exempt."""
    odd = [
        each
        for path in sorted(_pages())
        if path.relative_to(ROOT).as_posix() not in ALLOWED
        for each in found(path, EVERYWHERE | PAGES)
    ]
    assert odd == []


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("page.md", "It is told anew.\n\n```\nanew\n```\n`anew`\n", 2),
        ("page.html", "<p>Whoever it is</p>{# anew #}", 1),
        ("module.py", '"""Drawn by lot."""\n\nNAME = f"{1} left out"  # anew\n', 2),
    ],
)
def test_odd_words_are_found_only_outside_code_and_comments(
    name, text, count, tmp_path, monkeypatch
):
    monkeypatch.setattr("tests.test_words.ROOT", tmp_path)
    (tmp_path / name).write_text(text, "utf-8")
    assert len([*found(tmp_path / name, EVERYWHERE | PAGES)]) == count


if __name__ == "__main__":
    excused = [ROOT / name for name in ALLOWED]
    for path in sorted(excused):
        lines = [*found(path, EVERYWHERE | (PAGES if path.suffix == ".md" else {}))]
        print("\n".join(lines) or f"{path.relative_to(ROOT)}: needs no exception")
