"""Published files are read completely, and recognised by only one format."""

import functools
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from winosmith import Dataset, Problem, data, formats
from winosmith.errors import FormatError


class File(NamedTuple):
    """The expected format, number of items and of twins, and the lines of malformed records."""

    format: str
    items: int
    twins: int = 0
    bad: tuple[int, ...] = ()


FILES: dict[str, File] = {
    "winogrande/train_xs.jsonl": File("winogrande", 160, 80),
    "winogrande/train_s.jsonl": File("winogrande", 640, 320),
    "winogrande/train_m.jsonl": File("winogrande", 2558, 1279),
    "winogrande/train_l.jsonl": File("winogrande", 10_234, 5117),
    "winogrande/train_xl.jsonl": File("winogrande", 40_398, 20_199),
    "winogrande/train_debiased.jsonl": File("winogrande", 9248, 2011),
    "winogrande/dev.jsonl": File("winogrande", 1267, 284),
    "winogrande/test.jsonl": File("winogrande", 1767, 387),
    "wsc/WSCollection.xml": File("wsc-xml", 285, 142),
    "wsc/WSCollection.csv": File("wsc-csv", 285, 142),
    "wsc/wsc-273.jsonl": File("wsc273-jsonl", 273, 136),
    "wsc/wsc273.json": File("substitutions", 273, 136),
    "wsc/wsc273.txt": File("dpr", 273, 136),
    "wsc/wsc273_test.tsv": File("dpr-tsv", 273, 136),
    "pdp/PDPChallenge2016.xml": File("pdp-xml", 60),
    "pdp/PDPChallenge.xml": File("pdp-xml", 60),
    "pdp/pdp60.json": File("substitutions", 60),
    "pdp/PDP.txt": File("dpr", 60),
    "superglue_wsc/train.jsonl": File("superglue-wsc", 554),
    "superglue_wsc/val.jsonl": File("superglue-wsc", 104),
    "superglue_wsc/test.jsonl": File("superglue-wsc", 146),
    "superglue_wsc/wsc_test_glue.jsonl": File("superglue-wsc", 146),
    "superglue_wsc/fewglue_train.jsonl": File("superglue-wsc", 32),
    "superglue_wsc/fewglue_unlabeled.jsonl": File("superglue-wsc", 554),
    "superglue_copa/train.jsonl": File("superglue-copa", 368),
    "superglue_copa/unlabeled.jsonl": File("superglue-copa", 32),
    "superglue_copa/val.jsonl": File("superglue-copa", 100),
    "superglue_copa/test.jsonl": File("superglue-copa", 500),
    "superglue_copa/fewglue_train.jsonl": File("superglue-copa", 32),
    "superglue_copa/fewglue_unlabeled.jsonl": File("superglue-copa", 400),
    "copa/copa-all.xml": File("copa-xml", 1000),
    "copa/copa-dev.xml": File("copa-xml", 500),
    "copa/copa-test.xml": File("copa-xml", 500),
    "dpr/train.c.txt": File("dpr", 1322, 661),
    "dpr/test.c.txt": File("dpr", 564, 282),
    "dpr/train.c.wsc-decontaminated.txt": File("dpr", 1316, 658),
    "dpr/train.tsv": File("dpr-tsv", 1322, 661),
    "dpr/test.tsv": File("dpr-tsv", 564, 282),
    "knowref/knowref_test.json": File("knowref", 1267, bad=(239, 478)),
    "winogender/all_sentences.tsv": File("winogender", 720, 360),
    "winogender/templates.tsv": File("winogender-templates", 720, 360),
    "winogender/WinoGender.bert-commonsense.txt": File("dpr", 240, 15),
    "perturbed_wsc/dataset/enhanced_wsc.tsv": File("perturbed-wsc", 2898, 1426),
    **{
        f"perturbed_wsc/dataset/enhanced_wsc_jsons/text_{kind}.jsonl": File(
            "perturbed-wsc-jsonl", items, twins
        )
        for kind, items, twins in (
            ("original", 285, 141), ("voice", 220, 108), ("tense", 281, 139),
            ("number", 253, 125), ("gender", 155, 76), ("rel_1", 283, 140),
            ("syn", 283, 140), ("adverb", 283, 140),
        )
    },
    "winogender/WinoGender.jsonl": File("questions", 356),
    "openbookqa/train.jsonl": File("questions", 4957),
    "openbookqa/test.jsonl": File("questions", 500),
    "arc/challenge-train.jsonl": File("questions", 1119),
    "arc/challenge-test.jsonl": File("questions", 1172),
    "arc/easy-train.jsonl": File("questions", 2251),
    "arc/easy-test.jsonl": File("questions", 2376),
    "piqa/dev.jsonl": File("questions", 1838),
    "social_iqa/dev.jsonl": File("questions", 1953, bad=(670,)),
    "mmlu_pro_answers/items.jsonl": File("questions", 12_015, bad=(2028, 2151, 5508, 5510, 6748)),
    "mmlu_redux/items.jsonl": File("questions", 5697, bad=(2426, 3426, 5314)),
    "winogrande_predictions/cuichenx_dev_preds.csv": File("winogrande", 1267, 284, (1269,)),
    "winogrande_predictions/hsjplus_krr_ws_both_paired.csv": File("winogrande", 80, 40),
    "winogrande_predictions/hsjplus_krr_ws_both_non_paired.csv": File("winogrande", 91),
    "winogrande_predictions/ugorsahin_chatgpt_results.csv": File("csv", 1267, 284),
}  # fmt: skip
"""All published files with problems or claims, by their path in the data folder."""

OTHERS = (".xml", ".json", ".jsonl", ".tsv", ".csv", ".txt", ".lst", ".md", ".dtd", ".all")
"""Extensions of the files that no format may recognise."""

ONE_OF_EACH = {file.format: path for path, file in FILES.items() if "train_" not in path}

WRITERS = {known.name: known.writer for known in formats.FORMATS if known.writer}


@pytest.mark.parametrize("path", FILES)
def test_published_file_is_read_completely_by_one_format(data_dir, path):
    """Thus, users never need to name the format.

    `questions`, which is tried last, may recognise the file, too.
    """
    contents = formats.scan(data_dir / path)
    problems = Dataset([item for item in contents.items if isinstance(item, Problem)])
    bad = tuple(found.line for found in contents.bad)
    assert FILES[path] == (contents.format.name, len(contents.items), len(problems.twins), bad)
    rows = data.read(data_dir / path)
    *others, last = (known.name for known in formats.FORMATS if known.recognises(rows))
    assert (others or [last]) == [FILES[path].format]
    assert not others or last == "questions"


def test_files_without_problems_are_not_recognised(data_dir):
    """They are labels, predictions, other tasks and readme files."""
    looked_at = 0
    for path in sorted(data_dir.rglob("*")):
        name = path.relative_to(data_dir).as_posix()
        if path.suffix not in OTHERS or name in FILES:
            continue
        looked_at += 1
        with pytest.raises(FormatError, match=r"no known format fits its content"):
            formats.scan(path)
    assert looked_at > 20


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.long) if file.items > 2000 else path
        for path, file in FILES.items()
        if file.format in WRITERS
    ],
)
def test_published_file_round_trips_in_its_own_format(data_dir, tmp_path, path):
    contents = formats.scan(data_dir / path)
    name = contents.format.name
    formats.write(contents.items, tmp_path / "again", name)
    again = formats.scan(tmp_path / "again")
    lost = formats.find_losses(contents.items, again.items)
    assert (again.format.name, again.bad) == (name, [])
    assert lost.missing == 0
    # The two texts of a pair are written as one question; two columns would be a pair again.
    pair = {"extra questions.premise", "extra questions.hypothesis"}
    assert set(lost.lost) == (pair if path == "winogender/WinoGender.jsonl" else set())
    assert not lost.added
    assert not lost.changed


@functools.cache
def _items(path: Path) -> list[formats.Item]:
    """Return the items of a file. Callers must not change them."""
    return list(formats.scan(path).items)


@pytest.mark.parametrize("path", ONE_OF_EACH.values())
@pytest.mark.parametrize("name", ["winosmith", "csv"])
def test_published_file_round_trips_in_our_formats(data_dir, tmp_path, path, name):
    items = _items(data_dir / path)
    if name == "csv" and not all(isinstance(item, Problem) for item in items):
        with pytest.raises(FormatError, match="--recast problems"):
            formats.write(items, tmp_path / "again", name)
        return
    formats.write(items, tmp_path / "again", name)
    assert formats.scan(tmp_path / "again").items == items


@pytest.mark.parametrize("name", ["winogrande", "superglue-wsc", "questions"])
def test_written_format_keeps_its_promised_fields(data_dir, tmp_path, name):
    writer = WRITERS[name]
    for path in ONE_OF_EACH.values():
        found = _items(data_dir / path)[:300]
        items = [item for item in found if isinstance(item, writer.item_types)]
        reasons = formats.find_unwritable(items, name)
        fitting = [collapse_spaces(item) for row, item in enumerate(items) if row not in reasons]
        if not fitting:
            assert len(reasons) == len(items), path
            continue
        again = tmp_path / path.replace("/", "-")
        formats.write(fitting, again, name)
        read = formats.scan(again, name)
        lost = formats.find_losses(fitting, read.items)
        assert not read.bad, path
        assert not lost.missing, path
        assert not writer.kept_fields & (
            lost.lost.keys() | lost.changed.keys() | lost.added.keys()
        ), path


def collapse_spaces(item: formats.Item) -> formats.Item:
    """Return the item with single spaces, as most formats read it."""
    if isinstance(item, Problem):
        return replace(
            item,
            sentence=" ".join(item.sentence.split()),
            options=tuple(" ".join(option.split()) for option in item.options),
        )
    return replace(item, candidate=" ".join(item.candidate.split()))
