"""Creates problems that models are asked about."""

from typing import Any

from tests.web.making import single

__all__ = ["ASKED", "STANDS", "asked", "row"]

SENTENCE = "The cup hit the jug and the _ broke into {number} pieces."


def row(number: int = 1, *, state: str = "valid", answer: int | None = 0, **fields: Any) -> Any:
    """Return a new problem without a contributor."""
    fields |= {"state": state, "answer": answer, "record": {"single": True}}
    return single(f"p{number}", SENTENCE.format(number=number), **fields)


def asked(number: int = 1, **fields: Any) -> Any:
    """Return a new problem for which the current models are asked to predict."""
    from winosmith.web.predict.asking import request_predictions

    problem = row(number, **fields)
    request_predictions(problem)
    return problem


ASKED = """
from tests.web.predict.making import asked
from winosmith.web._lock import writing
with writing():
    result = asked({number}).pk
"""
"""Code that asks the models about a problem on a served site."""

STANDS = """
from winosmith.web.predict.models import Prediction
rows = Prediction.objects.filter(problem__ref="p{number}", model__current=True)
result = {{row.model.name: [row.stand, row.error, row.tries] for row in rows}}
"""
