"""Version 1 of the API, and its description.

The description is OpenAPI 3.1, from django-ninja and the properties common to all operations.
Ninja's own page shows it to people.
"""

from __future__ import annotations

from functools import cache, wraps
from typing import Any

from django.http import HttpRequest
from django.urls import URLResolver
from django.urls.resolvers import RegexPattern
from ninja import NinjaAPI
from ninja.openapi.docs import Swagger
from ninja.params.models import QueryModel

from winosmith import __version__
from winosmith.web.api import families, own, reading
from winosmith.web.api.door import TYPE, Error, MalformedError, register_handlers


def _reject_unknown_parameters(operation: Any) -> None:
    """Make an operation reject unknown parameters, such as misspelt ones.

    django-ninja ignores them, even if the parameters' model forbids them.
    """
    act = operation.view_func
    known = {
        name
        for model in operation.models
        if issubclass(model, QueryModel)
        for name in model.__ninja_flatten_map__
    }

    @wraps(act)
    def acted(request: HttpRequest, *args: Any, **named: Any) -> Any:
        if unknown := sorted(set(request.GET) - known):
            raise MalformedError(
                {f"query.{name}": ["Extra inputs are not permitted"] for name in unknown}
            )
        return act(request, *args, **named)

    operation.view_func = acted


api = NinjaAPI(
    title="Winosmith",
    version=__version__,
    # Without a validator URL, Swagger UI would send the description to swagger.io.
    docs=Swagger({"validatorUrl": None, "defaultModelsExpandDepth": 0}),
    docs_url=None,
    openapi_url=None,
    urls_namespace="api",
)
for _area in (reading, families, own):
    for _path in _area.router.path_operations.values():
        for _operation in _path.operations:
            _reject_unknown_parameters(_operation)
    api.add_router("", _area.router)
register_handlers(api)

resolver = URLResolver(RegexPattern(r"^"), api.urls[0])
"""Resolves an address below the version's to its operation."""


ROOT = "/api/v1"

ABOUT = """Reading, for programs. People write, perturb, judge and moderate, on pages.

Public data needs no token. For what only you can see, make a [token](/tokens/) on the site and send
it in each request: `Authorization: Bearer ws_…`. Errors are problem details (RFC 9457): `detail`
says what is wrong and what to do, `errors` for which field.

Operations and fields of version 1 are only added; before one is removed, it is marked as deprecated
for half a year.
"""

_TAGS = {
    "read": "The public problems, their files and figures.",
    "families": "Families of perturbed problems, and the models’ predictions.",
    "models": "The models of the site.",
    "me": "The owner of the token, and what they wrote.",
}


@cache
def api_description() -> dict[str, Any]:
    """Return the description for JSON."""
    made: dict[str, Any] = dict(api.get_openapi_schema(path_prefix=f"{ROOT}/"))
    made["info"]["description"] = ABOUT
    made["tags"] = [{"name": name, "description": about} for name, about in _TAGS.items()]
    components = made["components"]
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "from /tokens/"}
    }
    error = Error.model_json_schema(ref_template="#/components/schemas/{model}")
    components["schemas"] |= {**error.pop("$defs"), "Error": error}
    for _path, _method, operation in list_api_operations(made):
        operation["operationId"] = operation["operationId"].removeprefix("winosmith_web_api_")
        operation["responses"]["default"] = {
            "description": "What is wrong, and what to do.",
            "content": {TYPE: {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
    return made


def list_api_operations(made: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the operations of a description: path, method, and definition."""
    return [
        (path, method, operation)
        for path, methods in made["paths"].items()
        for method, operation in methods.items()
    ]
