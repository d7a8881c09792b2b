"""The questions of a datasheet (Gebru et al. 2021, sections 3.1 to 3.7), in our words."""

from __future__ import annotations

__all__ = ["KEYS", "SECTIONS"]

SECTIONS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Motivation",
        (
            ("purpose", "Why was the data set made?"),
            ("creators", "Who made it, and on whose behalf?"),
            ("funding", "Who paid for it?"),
        ),
    ),
    (
        "Composition",
        (
            ("instances", "What does one record stand for?"),
            ("counts", "How many are there of each kind?"),
            ("sample", "Is it all there is, or a part of something larger?"),
            ("fields", "What does a record consist of?"),
            ("labels", "Is there a label or target for each record?"),
            ("missing", "Is anything missing from single records, and why?"),
            ("relations", "Are relations between records made explicit?"),
            ("splits", "Are there recommended splits?"),
            ("noise", "Are errors, noise or redundancies known?"),
            ("external", "Does it stand alone, or rely on things elsewhere?"),
            ("confidential", "Does it hold anything confidential?"),
            ("offensive", "Does it hold anything that may offend or frighten?"),
            ("subpopulations", "Does it tell groups of people apart?"),
            ("identifiable", "Can single people be recognised?"),
            ("sensitive", "Does it hold anything sensitive about people?"),
        ),
    ),
    (
        "Collection process",
        (
            ("acquired", "How was each record obtained?"),
            ("mechanisms", "By which tools and procedures, and how were those checked?"),
            ("sampling", "If it is a sample, how was it drawn?"),
            ("collectors", "Who took part in collecting, and how were they paid?"),
            ("timeframe", "Over what time was it collected?"),
            ("ethics", "Was there an ethical review?"),
            ("consent", "Were the people concerned told, and did they agree?"),
            ("revocation", "Can they take their consent back?"),
            ("impact", "Was the effect on the people concerned looked into?"),
        ),
    ),
    (
        "Preprocessing, cleaning, labelling",
        (
            ("preprocessing", "What was done to the records?"),
            ("raw", "Were the raw data kept?"),
            ("software", "Is the software that did it available?"),
        ),
    ),
    (
        "Uses",
        (
            ("used", "What has it been used for already?"),
            ("repository", "Where are papers or systems that use it listed?"),
            ("other_uses", "What else could it be used for?"),
            ("risks", "What about its making may matter for later uses?"),
            ("unsuitable", "What should it not be used for?"),
        ),
    ),
    (
        "Distribution",
        (
            ("distribution", "To whom is it given?"),
            ("how", "In what form, and under which address?"),
            ("when", "Since when?"),
            ("licence", "Under which licence and terms?"),
            ("third_parties", "Do others hold rights in parts of it?"),
            ("regulations", "Do export controls or other regulations apply?"),
        ),
    ),
    (
        "Maintenance",
        (
            ("maintainers", "Who looks after it?"),
            ("contact", "How can they be reached?"),
            ("erratum", "Is there an erratum?"),
            ("updates", "Will it be updated, and how is that made known?"),
            ("retention", "Are there limits to how long data about people are kept?"),
            ("old_versions", "Will older versions stay available?"),
            ("contributions", "How can others contribute?"),
        ),
    ),
)
"""Each section's title and its questions, by the key under which release.toml may answer."""

KEYS = tuple(key for _, questions in SECTIONS for key, _ in questions)
"""The keys of all questions."""
