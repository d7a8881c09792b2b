"""Penn tags by HanTa's model, compared with another tagger."""

import json
from pathlib import Path

import numpy as np
import pytest

from winosmith import formats
from winosmith.text import tokenize

COARSE = {"N": "noun", "V": "verb", "J": "adjective", "R": "adverb"}

TAGGED = [
    ("Ann/NNP lent/VBD Bea/NNP a/DT car/NN because/IN _/NNP had/VBD two/CD ./."),
    ("The/DT bigger/JJR boxes/NNS were/VBD carried/VBN by/IN the/DT _/NN ./."),
    ("He/PRP can/MD sing/VB but/CC wants/VBZ to/TO dance/VB ./."),
    ("The/DT children/NNS did/VBD n't/RB eat/VB the/DT soup/NN ,/, so/RB _/NNP left/VBD ./."),
    ("Bea/NNP noticed/VBD something/NN and/CC liked/VBD swimming/VBG ./."),
    ("She/PRP has/VBZ bought/VBN the/DT oldest/JJS house/NN quickly/RB ./."),
]


@pytest.mark.parametrize("line", TAGGED)
def test_content_words_get_the_tags_of_the_treebank(line: str) -> None:
    from winosmith.language import tag

    words, wanted = zip(*(pair.rsplit("/", 1) for pair in line.split()), strict=True)
    content = [at for at, name in enumerate(wanted) if name[0] in COARSE and name != "RB"]
    found = tag(words)
    assert [found[at] for at in content] == [wanted[at] for at in content]


def test_tags_do_not_depend_on_earlier_sentences() -> None:
    from winosmith.language import tag

    lines = [[pair.rsplit("/", 1)[0] for pair in line.split()] for line in TAGGED]
    assert [tag(line) for line in lines] == [tag(line) for line in reversed(lines)][::-1]


def test_nltks_tagger_agrees_on_parts_of_speech(data_dir: Path) -> None:
    """At least 92 % of the words are a noun, verb, adjective or adverb to both taggers.

    Most of the others are NLTK's errors ("a pediatrician" as an adjective), or words such as
    "so", "only" and "tired", which each tagger treats in its way.
    """
    from nltk.tag.perceptron import PerceptronTagger

    from winosmith.language import tag

    folder = data_dir / "nltk_data/averaged_perceptron_tagger_eng"
    rival = PerceptronTagger(load=False)
    weights, tagdict, classes = (
        json.loads((folder / f"{folder.name}.{part}.json").read_text(encoding="utf-8"))
        for part in ("weights", "tagdict", "classes")
    )
    rival.model.weights, rival.tagdict, rival.classes = weights, tagdict, set(classes)
    rival.model.classes = rival.classes
    data = formats.read(data_dir / "winogrande/dev.jsonl")
    same = total = 0
    for row in np.random.default_rng(0).choice(len(data), 150, replace=False):
        cut = tokenize(data[int(row)].fill_all()[0])
        for ours, (word, theirs) in zip(tag(cut), rival.tag(cut), strict=True):
            kinds = COARSE.get(ours[0], ""), COARSE.get(theirs[0], "")
            if word.isalpha() and any(kinds):
                same += kinds[0] == kinds[1]
                total += 1
    print(f"{same / total:.2%} of {total:,}")
    assert same >= 0.92 * total
