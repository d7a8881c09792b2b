"""The fields of Croissant's vocabulary for responsible AI, from release.toml and from the data.

Names and meanings are those of the Croissant RAI specification 1.0 (MLCommons, 2024). The required
fields are those that NeurIPS requests, and those about collection, annotators and maintenance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from winosmith.release._about import About
from winosmith.release._content import PARTS, TEST, Content
from winosmith.text import format_count


@dataclass(frozen=True)
class Field:
    """A field of the vocabulary.

    Attributes:
        name: name in the vocabulary.
        keys: keys of release.toml whose texts the field contains; if the field is missing, the
            first key is requested.
        facts: returns additional sentences from the build and the data.
        is_required: whether the makers should give one of the keys.
    """

    name: str
    keys: tuple[str, ...]
    facts: Callable[[Content], Iterable[str]] = lambda content: ()
    is_required: bool = True


def _describe_collection(content: Content) -> Iterator[str]:
    counts = content.counts["all"]
    if counts["contributors"]:
        authors = format_count(counts["contributors"], "contributor")
        yield f"{format_count(counts['problems'], 'problem')} by {authors}."
    if names := [source.name for source in content.about.source if source.name != "*"]:
        yield f"Sources: {'; '.join(names)}."


def iter_filter_steps(content: Content) -> Iterator[tuple[str, str]]:
    """Yield each stage of the build, and a sentence on the problems that it kept and dropped."""
    for step in content.build.get("funnel", {}).get("steps", ()):
        dropped = ", ".join(f"{reason} {count:,}" for reason, count in step["dropped"].items())
        kept = format_count(step["kept"]["problems"], "problem")
        yield step["stage"], f"{kept} kept; dropped: {dropped or 'none'}."


def _describe_preprocessing(content: Content) -> Iterator[str]:
    yield from (f"{stage}: {text}" for stage, text in iter_filter_steps(content))
    if content.keyed:
        yield (
            f"Secret coins chose one of two equivalent presentations of {content.keyed.blocks:,} "
            f"blocks; {content.keyed.without:,} have only one. Commitment to the coins (SHA-256): "
            f"{content.keyed.commitment}."
        )


def _describe_annotation(content: Content) -> Iterator[str]:
    yield content.judged
    yield from (f"Votes: {text}" for stage, text in iter_filter_steps(content) if stage == "votes")


FIELDS = (
    Field("dataCollection", ("datasheet.acquired", "datasheet.mechanisms"), _describe_collection),
    Field(
        "dataCollectionMissingData",
        ("datasheet.missing",),
        lambda content: ["The answers of test are withheld."] if TEST in content.parts else [],
        is_required=False,
    ),
    Field("dataCollectionRawData", ("datasheet.raw",), is_required=False),
    Field(
        "dataPreprocessingProtocol",
        ("datasheet.preprocessing",),
        _describe_preprocessing,
        is_required=False,
    ),
    Field("dataAnnotationProtocol", ("datasheet.annotation",), _describe_annotation),
    Field("annotationsPerItem", (), lambda content: [content.judged], is_required=False),
    Field("annotatorDemographics", ("datasheet.annotators",)),
    Field(
        "personalSensitiveInformation",
        ("datasheet.sensitive",),
        lambda content: (
            ["Contributors appear only by pseudonym."]
            if content.counts["all"]["contributors"]
            else []
        ),
    ),
    Field(
        "dataUseCases",
        ("intended_use", "datasheet.other_uses"),
        lambda content: (f"{part}: {PARTS[part]}." for part in content.parts),
    ),
    Field(
        "dataLimitations",
        ("known_limits", "datasheet.unsuitable"),
        lambda content: content.warnings,
    ),
    Field(
        "dataBiases",
        ("datasheet.biases",),
        lambda content: (verdict for verdict, *_ in content.audited),
    ),
    Field("dataSocialImpact", ("datasheet.social_impact",)),
    Field(
        "dataReleaseMaintenancePlan",
        ("datasheet.updates", "datasheet.maintainers", "datasheet.old_versions"),
        lambda content: ["CHANGELOG.md and tombstones.jsonl list the changes between versions."],
    ),
)


def _get_statement(about: About, key: str) -> str:
    table, _, question = key.rpartition(".")
    return about.datasheet.get(question, "") if table else getattr(about, question)


def collect_responsible_fields(content: Content) -> dict[str, str | bool]:
    """Map the name of each field that has a value, with the prefix "rai:", to its value."""
    found: dict[str, str | bool] = {}
    for one in FIELDS:
        texts = [_get_statement(content.about, key) for key in one.keys]
        if text := "\n\n".join(text for text in (*texts, *one.facts(content)) if text):
            found[f"rai:{one.name}"] = text
    if content.is_synthetic is not None:
        found["rai:hasSyntheticData"] = content.is_synthetic
    return found


def find_missing_fields(content: Content) -> dict[str, str]:
    """Map each required field without a statement by the makers to the key to add.

    Keys are those of release.toml; "datasheet.biases" is the key `biases` of `[datasheet]`.
    """
    found = {
        f"rai:{one.name}": one.keys[0]
        for one in FIELDS
        if one.is_required and not any(_get_statement(content.about, key) for key in one.keys)
    }
    return found | ({"rai:hasSyntheticData": "synthetic"} if content.is_synthetic is None else {})
