"""Queries that Django compiles once a process; each call fills in their values.

Building a query and compiling it to SQL takes Django about half a millisecond of the processor,
ten times what SQLite takes to answer it. What a judge's every click asks is compiled once here.

>>> # _OPEN = Prepared(lambda: Slot.objects.filter(open=True, holder=Given("holder")))
>>> # _OPEN.rows(holder=person.pk)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import Expression
from django.db.models.query import get_related_populators
from django.db.models.sql import DeleteQuery, UpdateQuery

__all__ = ["Given", "Prepared", "PreparedDelete", "PreparedUpdate", "asked", "insert"]


class Given(Expression):
    """A value that each call of a prepared query gives, by its name: a number, a text, a time."""

    def __init__(self, name: str):
        super().__init__()
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        """Stand in the SQL as a parameter, and among the parameters as itself."""
        return "%s", [self]


class Prepared:
    """A query of rows, with `Given` wherever its values differ from call to call.

    Args:
        build: makes the query, a model's or one of `values_list`; called at the first use, when
            the settings and the database are known.
    """

    def __init__(self, build: Callable[[], Any]):
        self._build = build
        self._plans: dict[str, _Plan] = {}

    def rows(self, **given: Any) -> list[Any]:
        """Return the rows; the names are those of every `Given`."""
        plan = self._plans.get(connection.vendor)
        if plan is None:
            plan = self._plans[connection.vendor] = _planned(self._build())
        made = plan.made
        return [made(row) for row in _asked(plan.sql, _filled(plan.params, given)).fetchall()]

    def first(self, **given: Any) -> Any:
        """Return the first row; None where there is none."""
        rows = self.rows(**given)
        return rows[0] if rows else None


@dataclass(frozen=True, slots=True)
class _Plan:
    """A compiled query, and how its rows become objects as the ORM would make them.

    Attributes:
        names: the model's columns, which stand beside each other from `start` on.
        annotated: what the query adds to each object, by the places of its columns.
    """

    sql: str
    params: Sequence[Any]
    converters: Sequence[tuple[int, Sequence[Any], Any]]
    model: Any = None
    names: Sequence[str] = ()
    start: int = 0
    related: Sequence[Any] = ()
    annotated: Sequence[tuple[str, int]] = ()

    def made(self, row: Sequence[Any]) -> Any:
        values = list(row)
        for at, converters, expression in self.converters:
            for convert in converters:
                values[at] = convert(values[at], expression, connection)
        if self.model is None:
            return tuple(values)
        made = self.model.from_db(
            "default", self.names, values[self.start : self.start + len(self.names)]
        )
        for populator in self.related:
            populator.populate(values, made)
        for name, at in self.annotated:
            setattr(made, name, values[at])
        return made


def _planned(query: Any) -> _Plan:
    compiler = query.query.get_compiler(connection=connection)
    sql, params = compiler.as_sql()
    found = compiler.get_converters([column[0] for column in compiler.select])
    converters = [(at, *how) for at, how in found.items()]
    kind = compiler.klass_info
    if query._fields is not None:  # `values_list`
        return _Plan(sql, params, converters)
    start, end = kind["select_fields"][0], kind["select_fields"][-1] + 1
    names = [column[0].target.attname for column in compiler.select[start:end]]
    related = get_related_populators(kind, compiler.select, "default")
    annotated = tuple(compiler.annotation_col_map.items())
    return _Plan(sql, params, converters, kind["model"], names, start, related, annotated)


def asked(sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the rows of a statement that no query of Django's says, as both databases know it."""
    return [tuple(row) for row in _asked(sql, _filled(values, {})).fetchall()]


def _asked(sql: str, params: Sequence[Any]) -> Any:
    """Run a statement, and return a cursor whose rows are to be read at once."""
    real: Any = connections[DEFAULT_DB_ALIAS]
    if real.vendor == "postgresql":
        return real.ask(sql, params)
    cursor = real.cursor()
    cursor.execute(sql, params)
    return cursor


def _filled(params: Sequence[Any], given: dict[str, Any]) -> list[Any]:
    values = [given[one.name] if isinstance(one, Given) else one for one in params]
    adapt = connection.ops.adapt_datetimefield_value
    return [adapt(value) if isinstance(value, datetime) else value for value in values]


class PreparedUpdate:
    """A change of rows: which, and what is set; `Given` wherever values differ.

    Args:
        build: makes the query of the rows.
        names: the fields that are set to what each call gives by their names.
        expressions: what other fields are always set to.
    """

    def __init__(self, build: Callable[[], Any], *names: str, **expressions: Any):
        self._build, self.names, self._expressions = build, names, expressions
        self._plans: dict[str, tuple[str, Sequence[Any], dict[str, Any]]] = {}

    def __call__(self, **given: Any) -> int:
        """Change the rows; return how many there were."""
        plan = self._plans.get(connection.vendor)
        if plan is None:
            plan = self._plans[connection.vendor] = self._planned()
        sql, params, fields = plan
        for name, field in fields.items():
            given[name] = field.get_db_prep_save(given[name], connection)
        return int(_asked(sql, _filled(params, given)).rowcount)

    def _planned(self) -> tuple[str, Sequence[Any], dict[str, Any]]:
        rows = self._build()
        query = rows.query.chain(UpdateQuery)
        query.add_update_values({**{n: Given(n) for n in self.names}, **self._expressions})
        sql, params = query.get_compiler(connection=connection).as_sql()
        return sql, params, {name: rows.model._meta.get_field(name) for name in self.names}


class PreparedDelete:
    """A removal of rows of which nothing else hangs on; `Given` wherever values differ.

    Args:
        build: makes the query of the rows.
    """

    def __init__(self, build: Callable[[], Any]):
        self._build = build
        self._plans: dict[str, tuple[str, Sequence[Any]]] = {}

    def __call__(self, **given: Any) -> int:
        """Remove the rows; return how many there were."""
        plan = self._plans.get(connection.vendor)
        if plan is None:
            query = self._build().query.chain(DeleteQuery)
            plan = query.get_compiler(connection=connection).as_sql()
            self._plans[connection.vendor] = plan
        return int(_asked(plan[0], _filled(plan[1], given)).rowcount)


_INSERTS: dict[tuple[Any, bool], tuple[str, str, list[Any]]] = {}


def insert(*objects: Any, unless_there: bool = False) -> int:
    """Add new rows of one model, and give the objects their keys; no signals are sent.

    Args:
        objects: one or more, of one model.
        unless_there: pass over rows that a unique constraint is against. Keys are not set then.

    Returns:
        How many rows were added.
    """
    model = type(objects[0])
    kind = (model, unless_there)
    if kind not in _INSERTS:
        _INSERTS[kind] = _insertion(model, unless_there)
    head, tail, fields = _INSERTS[kind]
    row = f"({', '.join(['%s'] * len(fields))})"
    values = [
        field.get_db_prep_save(field.pre_save(one, True), connection)
        for one in objects
        for field in fields
    ]
    keys = _asked(f"{head} {', '.join([row] * len(objects))} {tail}", values).fetchall()
    if not unless_there:
        for one, (key,) in zip(objects, keys, strict=True):
            one.pk = key
            one._state.adding, one._state.db = False, "default"
    return len(keys)


def _insertion(model: Any, unless_there: bool) -> tuple[str, str, list[Any]]:
    quoted = connection.ops.quote_name
    about = model._meta
    fields = [field for field in about.concrete_fields if field is not about.auto_field]
    columns = ", ".join(quoted(field.column) for field in fields)
    tail = f"RETURNING {quoted(about.pk.column)}"
    head = f"INSERT INTO {quoted(about.db_table)} ({columns}) VALUES"
    return head, f"ON CONFLICT DO NOTHING {tail}" if unless_there else tail, fields
