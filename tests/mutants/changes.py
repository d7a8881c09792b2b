"""What is changed of a module, where that is, and which functions' code it is."""

from __future__ import annotations

import ast
import difflib
import importlib.machinery
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from types import CodeType
from typing import Any


@cache
def operators() -> dict[str, Any]:
    """Return Cosmic Ray's operators that need no arguments, by name."""
    from cosmic_ray.plugins import get_operator, operator_names

    known = {name: get_operator(name) for name in sorted(operator_names())}
    return {name: operator for name, operator in known.items() if not operator.arguments()}


def places(text: str) -> list[tuple[str, int]]:
    """Return every operator with each of its places in a text."""
    return [(name, at) for name, counts in _counts(text).items() for at in range(sum(counts))]


@lru_cache(100)
def _counts(text: str) -> dict[str, list[int]]:
    """Return of each operator how many places it has in each part of a text."""
    from cosmic_ray.ast import ast_nodes, get_ast

    each = [list(ast_nodes(get_ast(part))) for part in parts(text)]
    only = {
        kind: [[node for node in nodes if node.type == kind] for nodes in each]
        for kind in SOUGHT.values()
    }
    return {
        name: [
            sum(sum(1 for _ in operator().mutation_positions(node)) for node in nodes)
            for nodes in only.get(SOUGHT.get(name.partition("Operator_")[0], ""), each)
        ]
        for name, operator in operators().items()
    }


SOUGHT = {"core/ReplaceBinary": "operator", "core/ReplaceComparison": "comparison"}
"""The only nodes that most operators change."""


@lru_cache(100)
def parts(text: str) -> list[str]:
    """Return a module's statements, each with all lines up to the next: quicker than the whole."""
    lines = text.splitlines(keepends=True)
    starts = sorted({_first(statement) - 1 for statement in ast.parse(text).body} | {0})
    ends = [*starts[1:], len(lines)]
    return ["".join(lines[start:end]) for start, end in zip(starts, ends, strict=True)]


def changed(text: str, operator: str, number: int) -> str | None:
    """Return the text with one change; None where that means what the text means, or nothing."""
    from cosmic_ray.mutating import mutate_code

    those = parts(text)
    for at, count in enumerate(_counts(text)[operator]):
        if number < count:
            made = mutate_code(those[at], operators()[operator](), number)
            if made and meant(made) not in ("", meant(those[at])):
                return "".join([*those[:at], made, *those[at + 1 :]])
            return None
        number -= count
    raise IndexError(f"{operator} has no such place")


def meant(text: str) -> str:
    """Return what is executed of a text; "" for no Python.

    What is for types alone, or for who looks at an object while debugging, is left out.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of a literal that `is` the same
            compile(text, "", "exec", dont_inherit=True)
    except SyntaxError:
        return ""
    tree = ast.parse(text)
    for of_module in tree.body:
        if isinstance(of_module, ast.Assign) and isinstance(of_module.value, ast.Subscript):
            of_module.value = ast.Constant(None)  # the name of a type
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            node.body = node.body if node.name != "__repr__" else []
        elif isinstance(node, ast.arg | ast.AnnAssign):
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value = ast.Constant(None)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.test, node.body = ast.Constant(None), []
    return ast.dump(tree)


def difference(text: str, made: str) -> list[str]:
    """Return where texts differ, and their lines with - and +."""
    lines = difflib.unified_diff(text.splitlines(), made.splitlines(), n=0, lineterm="")
    return list(lines)[2:]


@dataclass(frozen=True)
class Spot:
    """Where a change is.

    Attributes:
        line: the first that differs.
        loading: is it executed while the module is loaded?
        lines: those that are executed if the change is: of the statement, of the head of one that
            has a body, or of the functions whose head it is.
        names: what it defines for others, if it is executed while the module is loaded.
    """

    line: int
    loading: bool
    lines: frozenset[int]
    names: frozenset[str] = frozenset()


def spot(text: str, made: str) -> Spot:
    """Return where a text was changed."""
    line = int(re.findall(r"^@@ -(\d+)", difference(text, made)[0])[0])
    tree = ast.parse(text)
    chain = list(_around(tree, line))
    inner = chain[-1] if chain else None
    functions = [of for of in chain if isinstance(of, ast.FunctionDef) and line not in _head(of)]
    if functions and inner is not None:
        used = {
            node.id
            for statement in _executed(tree)
            for node in ast.walk(statement)
            if isinstance(node, ast.Name)
        }
        return Spot(line, functions[0].name in used, frozenset(_head(inner)))
    if isinstance(inner, ast.FunctionDef | ast.ClassDef):
        within = [node for node in ast.walk(inner) if isinstance(node, ast.FunctionDef)]
        lines = {n for of in within for n in range(of.body[0].lineno, (of.end_lineno or 0) + 1)}
        return Spot(line, True, frozenset(lines), frozenset({inner.name}))
    names = {
        node.id
        for node in ast.walk(inner or tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return Spot(line, True, frozenset(), frozenset(names))


def _around(node: ast.AST, line: int) -> Iterator[Any]:
    """Yield the statements around a line, the innermost last."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler):
            if _first(child) <= line <= (child.end_lineno or 0):
                yield child
                yield from _around(child, line)
        elif isinstance(child, ast.match_case):
            yield from _around(child, line)


def _first(node: Any) -> int:
    """Return the line of a statement, or of its first decorator."""
    return min([node.lineno, *(of.lineno for of in getattr(node, "decorator_list", ()))])


def _head(node: Any) -> range:
    """Return the lines of a statement up to its body."""
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not body:
        return range(node.lineno, node.end_lineno + 1)
    after = body[0].pattern.lineno if isinstance(body[0], ast.match_case) else _first(body[0])
    return range(_first(node), max(_first(node) + 1, after))


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is executed while a module is loaded: all but what functions have in them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield from child.decorator_list
        if isinstance(child, ast.ClassDef | ast.If | ast.Try):
            yield from _executed(child)
        elif not isinstance(child, ast.FunctionDef):
            yield child


def replaced(one: CodeType, other: CodeType) -> list[tuple[CodeType, CodeType]] | None:
    """Return which functions' code takes the place of which; None if the module's own differs.

    The outermost function comes first, then those within it, which may have been made already.
    """
    if one == other:
        return []
    is_function = bool(one.co_flags & 1)  # CO_OPTIMIZED: neither a module nor a class
    if len(_within(one)) != len(_within(other)):
        return [(one, other)] if is_function else None
    inner = [replaced(*pair) for pair in zip(_within(one), _within(other), strict=True)]
    if not is_function and (_alone(one) != _alone(other) or None in inner):
        return None
    pairs = [pair for found in inner if found for pair in found]
    return [(one, other), *pairs] if is_function else pairs


def _within(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _alone(code: CodeType) -> CodeType:
    """Return a code without those within it."""
    consts = tuple(None if isinstance(own, CodeType) else own for own in code.co_consts)
    return code.replace(co_consts=consts)


class Finder:
    """Finds one module, with another text than that of its file, as `importlib` asks for it."""

    def __init__(self, name: str, text: str):
        self._name, self._text = name, text

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return how the module is loaded; None for all others."""
        if name != self._name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(name, spec.origin, self._text)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, text: str):
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._text, self.path, "exec", dont_inherit=True)
