"""Scenario states of HELM: `scenario_state.json`, which `helm-run` writes for each run.

HELM's key is the reference with the tag "correct". For joint requests, the reply is a letter in the
request's `output_mapping`. For separate requests, each reference has a log-probability, from which
the log-probability of the calibration request, if any, is subtracted
(`multiple_choice_separate_calibrated`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from winosmith.answers._answers import Answers
from winosmith.answers._file import AnswerFile
from winosmith.answers._items import Row
from winosmith.answers._rules import choose_filters, make_repeated_rows_error, read_rows
from winosmith.errors import FormatError

_Trial = dict[str, list[Mapping[str, Any]]]


def can_read(file: AnswerFile) -> bool:
    return "request_states" in file.document


def read(file: AnswerFile) -> list[Answers]:
    """Return the answers in a scenario state for one perturbation and one training trial.

    By default, the unperturbed items and the first trial are read. Failed requests are missing
    answers.
    """
    trials: dict[str, _Trial] = defaultdict(lambda: defaultdict(list))
    try:
        for state in file.document["request_states"]:
            perturbed = state["instance"].get("perturbation") or {}
            name = perturbed.get("name", f"trial {state.get('train_trial_index', 0)}")
            trials[str(name)][str(state["instance"].get("id", len(trials[name])))].append(state)
        names = sorted(trials, key=lambda name: (not name.startswith("trial "), len(name), name))
        (used,), log = choose_filters(file, names)
        rows = [_make_row(name, states, file) for name, states in trials[used].items()]
        model = str(file.document.get("adapter_spec", {}).get("model") or "")
        model = model or Path(file.path).absolute().parent.name
    except FormatError:
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        message = f"this is not a HELM scenario state: {type(error).__name__}: {error}"
        raise file.make_error(message) from None
    return [read_rows(rows, file, model, log)]


def _make_row(item_id: str, states: list[Mapping[str, Any]], file: AnswerFile) -> Row:
    counts = Counter((one.get("reference_index"), one.get("request_mode")) for one in states)
    if (most := max(counts.values())) > 1:
        raise make_repeated_rows_error(file, most, item_id)
    instance = states[0]["instance"]
    references = instance["references"]
    shown = sorted((states[0].get("output_mapping") or {}).items())
    if sorted(text for _, text in shown) == sorted(one["output"]["text"] for one in references):
        order = [text for _, text in shown]  # the letters of the prompt
        references = sorted(references, key=lambda one: order.index(one["output"]["text"]))
    options = tuple(str(one["output"]["text"]) for one in references)
    correct = [at for at, one in enumerate(references) if "correct" in one["tags"]]
    question = str(instance["input"]["text"])
    scores: dict[int, float] = {}
    reply: str | int | None = None
    for state in states:
        result = state.get("result") or {}
        completion = next(iter(result.get("completions") or ()), None)
        if completion is None or result.get("success") is False:
            continue
        if (reference := state.get("reference_index")) is not None:
            sign = -1 if state.get("request_mode") == "calibration" else 1
            scores[reference] = scores.get(reference, 0.0) + sign * float(completion["logprob"])
            continue
        text = str(completion["text"]).strip()
        mapped = (state.get("output_mapping") or {}).get(text.rstrip(".):"))
        reply = options.index(mapped) if mapped in options else text
    return Row(
        None,
        item_id,
        question,
        options,
        question,
        reply,
        tuple(scores[at] for at in range(len(options))) if len(scores) == len(options) else (),
        correct[0] if len(correct) == 1 else None,
    )
