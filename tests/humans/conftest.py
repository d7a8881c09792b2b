"""Materials for sheets: schemas with pronouns and blanks, and texts with several questions."""

from winosmith import Dataset, Problem

_SCHEMAS = (
    ("The cup hit the jug, and _ {} at once.", ("the cup", "the jug"), ("broke", "held")),
    ("Ann paid Sue because _ {} for the work.", ("Ann", "Sue"), ("asked", "thanked her")),
    ("The van overtook the bus since _ was so {}.", ("the van", "the bus"), ("fast", "slow")),
    ("Tom lifted his son because _ was too {}.", ("Tom", "his son"), ("strong", "small")),
)


def materials(schemas: int, texts: int = 0) -> Dataset:
    """Make schemas of two halves, and texts with two questions."""
    problems = []
    for at in range(schemas):
        sentence, options, triggers = _SCHEMAS[at % len(_SCHEMAS)]
        for half, trigger in enumerate(triggers):
            problems.append(
                Problem(
                    f"w{at}-{half}",
                    f"{' '.join(f'{word}{at}' for word in _APART)} {sentence.format(trigger)}",
                    options[::-1] if at % 2 else options,
                    half,
                    f"w{at}",
                    "it" if at % 2 else "they",
                )
            )
    for at in range(texts):
        text = f"Page {at}: {_NAMES[at % 5]}{at} told Ned that {{}} saw {{}} at gate {at * 3}."
        options = (f"{_NAMES[at % 5]}{at}", "Ned", "somebody")[: 2 + at % 2]
        problems.append(Problem(f"p{at}-1", text.format("_", "him"), options, at % 2, pronoun="he"))
        problems.append(
            Problem(f"p{at}-0", text.format("he", "_"), options, 1 - at % 2, pronoun="him")
        )
    return Dataset(problems, "made")


_APART = "on day of week in year".split()
"""Words that differ from schema to schema, so that no two are similar."""

_NAMES = ("Ben", "Carl", "Dan", "Ed", "Finn")
