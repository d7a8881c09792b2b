"""Version 1 of the API, and its OpenAPI 3.1 description.

django-ninja generates the description; this module adds the properties common to all operations.
The page with django-ninja's Swagger UI shows the description.
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
from winosmith.web.api.door import ERROR_CONTENT_TYPE, HANDLERS, Error, MalformedRequestError


def _reject_unknown_parameters(operation: Any) -> None:
    """Make an operation reject unknown query parameters, such as misspelt names.

    django-ninja ignores unknown parameters, even if the parameters' model forbids them.
    """
    view = operation.view_func
    known = {
        name
        for model in operation.models
        if issubclass(model, QueryModel)
        for name in model.__ninja_flatten_map__
    }

    @wraps(view)
    def checked_view(request: HttpRequest, *args: Any, **named: Any) -> Any:
        if unknown := sorted(set(request.GET) - known):
            raise MalformedRequestError(
                {f"query.{name}": ["Extra inputs are not permitted"] for name in unknown}
            )
        return view(request, *args, **named)

    operation.view_func = checked_view


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
for _error, _handler in HANDLERS.items():
    api.add_exception_handler(_error, _handler)

resolver = URLResolver(RegexPattern(r"^"), api.urls[0])
"""Resolver that finds the operation for a path below the version's prefix."""


ROOT = "/api/v1"

ABOUT = """Read the data of [this site](/) from a program. To write, perturb, judge or moderate, use
the pages.

Public data needs no token. To read data that only you can see, create a [token](/tokens/) on the
site and send it with each request: `Authorization: Bearer ws_…`. Errors are problem details
(RFC 9457): `detail` explains the error and what to do, and `errors` lists the fields.

Version 1 only gets additional operations and fields. Each is marked as deprecated for half a year
before it is removed.
"""

_TAGS = {
    "read": "The public problems, their files and statistics.",
    "families": "Families of perturbed problems, and the models’ predictions.",
    "models": "The models of the site.",
    "me": "The owner of the token, and their twins.",
}


@cache
def build_api_description() -> dict[str, Any]:
    schema: dict[str, Any] = dict(api.get_openapi_schema(path_prefix=f"{ROOT}/"))
    schema["info"]["description"] = ABOUT
    schema["tags"] = [{"name": name, "description": about} for name, about in _TAGS.items()]
    components = schema["components"]
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "from /tokens/"}
    }
    error = Error.model_json_schema(ref_template="#/components/schemas/{model}")
    components["schemas"] |= {**error.pop("$defs"), "Error": error}
    for _path, _method, operation in list_api_operations(schema):
        operation["operationId"] = operation["operationId"].removeprefix("winosmith_web_api_")
        operation["responses"]["default"] = {
            "description": "An error, and what to do about it.",
            "content": {ERROR_CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
    return schema


def list_api_operations(schema: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
