"""What `winosmith score` measures only when it is given more: people, marks, switches, genders."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from winosmith import formats, metrics
from winosmith.answers import Response
from winosmith.cli._answered import answered, graded
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, InputError, SameInputError
from winosmith.metrics import (
    Consistency,
    GenderGap,
    Graded,
    HumanAccuracy,
    PersonAccuracy,
)
from winosmith.records import parsed

__all__ = ["Beside", "Extras", "extras", "women_by_occupation"]


@dataclass(frozen=True)
class Extras:
    """What was given beside data and predictions.

    Attributes:
        people: responses of fresh people.
        marks: the records of each file of marks.
        switched: the paths of predictions for the switched problems.
        switched_data: the path of those problems.
        women: column → occupation → percentage of women.
    """

    people: Sequence[Response] | None
    marks: Sequence[Any]
    switched: Sequence[str]
    switched_data: str | None
    women: Mapping[str, Mapping[str, float]]

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> Extras:
        """Read the files that the options name.

        Raises:
            InputError: switched predictions without their data, or not one for each solver.
        """
        from winosmith.validate import read_votes

        if bool(options["switched"]) != bool(options["switched_data"]):
            raise InputError("--switched and --switched-data belong together; give both or none")
        if options["switched"] and len(options["switched"]) != len(options["predictions"]):
            raise InputError(
                f"there are {len(options['switched'])} files of --switched for "
                f"{len(options['predictions'])} of PREDICTIONS; give one for each, in their order"
            )
        return cls(
            read_votes(options["people"]) if options["people"] else None,
            [_records(path) for path in options["marks"]],
            options["switched"],
            options["switched_data"],
            women_by_occupation(options["occupations"]) if options["occupations"] else {},
        )

    def marked(self, dataset: Dataset) -> Dataset:
        """Return the problems with their marks."""
        for records in self.marks:
            dataset = metrics.marked(dataset, records)
        return dataset


@dataclass(frozen=True)
class Beside:
    """What was measured with them.

    Attributes:
        majority, person: how well people do.
        consistency: of each solver, by its name.
        gaps: of each solver, by its name: the gender gap by column and reading.
        refused: solvers, by their names, that can have none, and why.
    """

    majority: HumanAccuracy | None = None
    person: PersonAccuracy | None = None
    consistency: Mapping[str, Consistency] = field(default_factory=dict)
    gaps: Mapping[str, Mapping[str, GenderGap]] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)

    def without(self, solvers: Collection[str]) -> Beside:
        """Return it without what tells how well these solvers do."""
        return replace(
            self,
            consistency={n: of for n, of in self.consistency.items() if n not in solvers},
            gaps={n: of for n, of in self.gaps.items() if n not in solvers},
        )

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it; nothing of what was not asked for."""
        record: dict[str, Any] = {}
        if self.majority:
            record["people_majority"] = asdict(self.majority)
        if self.person:
            record["people_single"] = {
                **self.person.accuracy.record(),
                "people": self.person.people,
                "problems": self.person.problems,
                "spread": self.person.spread,
            }
        if self.consistency:
            record["switched"] = {name: c.record() for name, c in self.consistency.items()}
        if self.gaps:
            record["gender_gap"] = {
                name: {what: gap.record() for what, gap in of.items()}
                for name, of in self.gaps.items()
            }
        if self.refused:
            record["gender_gap_refused"] = dict(self.refused)
        return record


def extras(more: Extras, dataset: Dataset, solvers: Mapping[str, Graded], seed: int) -> Beside:
    """Measure what was given more for."""
    majority = person = None
    if more.people is not None:
        person = metrics.person_accuracy(dataset, more.people)
        majority = _majority(dataset, more.people)
    gaps, refused = _gaps(more, solvers, seed)
    return Beside(majority, person, _consistency(more, solvers), gaps, refused)


def _majority(dataset: Dataset, responses: Sequence[Response]) -> HumanAccuracy | None:
    """Return the majority's accuracy; None when no problem has three subjects."""
    try:
        return metrics.human_accuracy(dataset, responses)
    except InputError:
        return None


def _consistency(more: Extras, solvers: Mapping[str, Graded]) -> dict[str, Consistency]:
    if more.switched_data is None:
        return {}
    dataset = answered(more.switched_data, None)
    return {
        name: metrics.consistency(found, next(iter(graded(dataset, [path]).values())))
        for (name, found), path in zip(solvers.items(), more.switched, strict=True)
    }


def _gaps(
    more: Extras, solvers: Mapping[str, Graded], seed: int
) -> tuple[dict[str, dict[str, GenderGap]], dict[str, str]]:
    """Return the gaps of each solver, and of whom there is none, with the reason.

    Raises:
        SameInputError: there is a gap of none.
    """
    gaps: dict[str, dict[str, GenderGap]] = {}
    refused: dict[str, str] = {}
    for name, found in solvers.items() if more.women else ():
        try:
            gaps[name] = {
                f"{column}, by the {reading}": metrics.gender_gap(
                    found, women, reading=reading, seed=seed
                )
                for column, women in more.women.items()
                for reading in ("answer", "occupation")
            }
        except SameInputError as error:
            refused[name] = str(error)
    if refused and not gaps:
        raise SameInputError(next(iter(refused.values())))
    return gaps, refused


def _records(path: str) -> Any:
    try:
        return parsed(formats.Source(path).text)
    except ValueError as error:
        raise FormatError(f"this is not JSON: {error}", path) from None


def women_by_occupation(path: str) -> dict[str, dict[str, float]]:
    """Return the percentage of women by occupation, for each column that has it."""
    source = formats.Source(path)
    table = csv.DictReader(source.text.splitlines(), delimiter="\t")
    columns = [name for name in table.fieldnames or () if name.endswith("pct_female")]
    if "occupation" not in (table.fieldnames or ()) or not columns:
        raise FormatError(
            "the table needs the column 'occupation' and one that ends in 'pct_female'", path, 1
        )
    women: dict[str, dict[str, float]] = {name.removesuffix("_pct_female"): {} for name in columns}
    for row in table:
        for name in columns:
            try:
                women[name.removesuffix("_pct_female")][row["occupation"]] = float(row[name])
            except (TypeError, ValueError):
                raise FormatError(
                    f"{row[name]!r} is no percentage of women", Path(path), table.line_num
                ) from None
    return women
