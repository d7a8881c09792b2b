"""The whole of validation: structure, then votes, with the funnel of both."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from winosmith.answers import Response
from winosmith.dataset import Dataset, Filtered
from winosmith.report import Signature, sign
from winosmith.validate._authored import Applied
from winosmith.validate._eligible import SetAside, eligible
from winosmith.validate._examined import Examined
from winosmith.validate._funnel import Funnel, funnel
from winosmith.validate._judged import found_valid, without_marks
from winosmith.validate._structure import StructureRules, examine_structure
from winosmith.validate._votes import VoteRules, examine_votes

__all__ = ["Checked", "check"]

WINOGRANDE_STRUCTURE, WINOGRANDE_VOTES = StructureRules(), VoteRules()


@dataclass(frozen=True)
class Checked:
    """What validation found.

    Attributes:
        stages: the examination of the structure, and that of the votes when there are any; the
            second is of what the first one kept.
        set_aside: the responses that did not count.
        funnel: how many problems each stage kept, and why the others went.
        result: what was kept and dropped by all stages; together they are the input, in order.
        signature: of the data, the votes and the rules.
        valid: the ids of the kept problems that enough judges found valid.
    """

    stages: tuple[Examined, ...]
    set_aside: tuple[SetAside, ...]
    funnel: Funnel
    result: Filtered
    signature: Signature
    valid: frozenset[str] = frozenset()

    @property
    def applied(self) -> Applied:
        """To which problems WinoGrande's rules for authors were applied, and why."""
        found = self.stages[0].applied
        return found or Applied("none", {}, len(self.stages[0].dataset))

    @property
    def kept(self) -> Dataset:
        """What was kept; generated problems that judges found valid are no longer marked."""
        return without_marks(self.result.kept, self.valid)


def check(
    dataset: Dataset,
    responses: Iterable[Response] | None = None,
    structure: StructureRules = WINOGRANDE_STRUCTURE,
    votes: VoteRules = WINOGRANDE_VOTES,
) -> Checked:
    """Validate a data set: its structure, then the votes on what is left.

    Which votes count is told from the whole data set: a judge who saw a half that the first stage
    drops has seen it all the same.

    Args:
        dataset: the problems as collected.
        responses: of the judges, in the order in which they answered; None when none were asked.
        structure: the rules for halves and twins.
        votes: the rules for votes.

    Raises:
        DataError: a response that does not fit its problem.
    """
    first = examine_structure(dataset, structure)
    filtered = first.filtered()
    if responses is None:
        return Checked(
            (first,),
            (),
            funnel({"structure": filtered}),
            filtered,
            sign(dataset, **_parameters(structure)),
        )
    responses = tuple(responses)
    counted, aside = eligible(dataset, responses, both_halves=votes.both_halves)
    second = examine_votes(filtered.kept, counted, votes)
    voted = second.filtered()
    return Checked(
        (first, second),
        aside,
        funnel({"structure": filtered, "votes": voted}),
        _together(dataset, filtered, voted),
        sign(
            dataset, votes_file=_digest(responses), **_parameters(structure), **_parameters(votes)
        ),
        found_valid(voted.kept, counted, votes),
    )


def _together(dataset: Dataset, first: Filtered, second: Filtered) -> Filtered:
    """Return two filters in a row as one, with the rows of the data set that went in."""
    later = (replace(entry, row=dataset.row(entry.problem.id)) for entry in second.dropped)
    dropped = sorted((*first.dropped, *later), key=lambda entry: entry.row)
    return Filtered(second.kept, tuple(dropped))


def _parameters(rules: StructureRules | VoteRules) -> dict[str, Any]:
    """Return the settings as a signature shows them, ranges as "15-30" and what is off left out."""
    on = {n: v for n, v in asdict(rules).items() if v is not None and v is not False}
    if on.get("rules") == "none":
        on = {n: v for n, v in on.items() if n in ("rules", "complete")}
    return {n: "-".join(map(str, v)) if isinstance(v, tuple) else v for n, v in on.items()}


def _digest(responses: tuple[Response, ...]) -> str:
    state = hashlib.sha256()
    for response in responses:
        state.update(repr(response).encode("utf-8", "surrogatepass"))
    return state.hexdigest()[:12]
