"""Version 1 of the API, and its OpenAPI 3.1 description.

django-ninja generates the description; this module adds the properties common to all operations.
The page with django-ninja's Swagger UI shows the description.
"""

from __future__ import annotations

import json
from functools import cache, wraps
from typing import Any

from django.http import Http404, HttpRequest
from django.urls import URLResolver
from django.urls.resolvers import RegexPattern
from ninja import NinjaAPI
from ninja.errors import ValidationError
from ninja.openapi.docs import Swagger
from ninja.params.models import QueryModel

from winosmith import __version__
from winosmith.web.api import families, reading, schemas


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
            message = "Extra inputs are not permitted"
            raise ValidationError([{"loc": ("query", name), "msg": message} for name in unknown])
        return view(request, *args, **named)

    operation.view_func = checked_view


ABOUT = """Read the public data of [this site](/) from a program. To write, perturb, judge or
moderate, use the pages. Your own data are one file on [About you](/people/).

Errors are problem details (RFC 9457): `detail` explains the error and what to do, and `errors`
lists the parameters.

Version 1 only gets additional operations and fields. Each is marked as deprecated for half a year
before it is removed.
"""

_TAGS = {
    "read": "The public problems, their files and statistics.",
    "families": "Families of perturbed problems, and the models’ predictions.",
    "models": "The models of the site.",
}

api = NinjaAPI(
    title="Winosmith",
    version=__version__,
    description=ABOUT,
    openapi_extra={"tags": [{"name": name, "description": about} for name, about in _TAGS.items()]},
    # Without a validator URL, Swagger UI would send the description to swagger.io.
    docs=Swagger({"validatorUrl": None, "defaultModelsExpandDepth": 0}),
    docs_url=None,
    openapi_url=None,
    urls_namespace="api",
)
for _area in (reading, families):
    for _path in _area.router.path_operations.values():
        for _operation in _path.operations:
            _reject_unknown_parameters(_operation)
    api.add_router("", _area.router)
api.add_exception_handler(Http404, lambda _request, _error: schemas.make_error_response(404))
api.add_exception_handler(ValidationError, schemas.handle_invalid_parameters)

resolver = URLResolver(RegexPattern(r"^"), api.urls[0])
"""Resolver that finds the operation for a path below the version's prefix."""


@cache
def build_api_description() -> dict[str, Any]:
    schema: dict[str, Any] = dict(api.get_openapi_schema(path_prefix="/api/v1/"))
    components = schema["components"]
    error = schemas.Error.model_json_schema(ref_template="#/components/schemas/{model}")
    components["schemas"] |= {**error.pop("$defs"), "Error": error}
    for _path, _method, operation in list_api_operations(schema):
        operation["operationId"] = operation["operationId"].removeprefix("winosmith_web_api_")
        operation["responses"]["default"] = {
            "description": "An error, and what to do about it.",
            "content": {
                schemas.ERROR_CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Error"}}
            },
        }
    # django-ninja also describes the models of query parameters, to which nothing refers.
    text = json.dumps(schema)
    components["schemas"] = {
        name: one for name, one in components["schemas"].items() if f'/{name}"' in text
    }
    return schema


def list_api_operations(schema: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
