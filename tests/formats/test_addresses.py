"""Reading data sets of the Hugging Face Hub and tasks of evaluation harnesses."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import installed, needed, run_alone
from winosmith import audit, data, formats
from winosmith.errors import FormatError, MissingExtraError

ROWS = [
    {"id": f"{n}", "question": f"Which is {n}?", "choices": [f"a{n}", f"b{n}", f"c{n}"],
     "answer": "ABC"[n % 3]}
    for n in range(9)
]  # fmt: skip

TASK = """task: mine
dataset_path: json
dataset_kwargs: {data_files: {test: DATA}}
test_split: test
output_type: multiple_choice
doc_to_text: "Q: {{question}}"
doc_to_choice: choices
doc_to_target: "{{['A', 'B', 'C'].index(answer)}}"
"""

CONTEXTS = """task: gaps
dataset_path: json
dataset_kwargs: {data_files: {test: DATA}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{['A', 'B', 'C'].index(answer)}}"
doc_to_choice: choices
doc_to_target: "is {{question}}"
"""

READ = """
import json, sys
from winosmith import formats
from winosmith.errors import FormatError
for address in sys.argv[1:]:
    try:
        found = formats.read(address)
        print("RESULT" + json.dumps([[p.sentence, p.options, p.answer] for p in found]))
    except FormatError as error:
        print("RESULT" + json.dumps(str(error)))
"""


def _read(place: Path, *addresses: str) -> list[Any]:
    """Read addresses offline, in a separate process; return problems or errors."""
    printed = run_alone(READ, *addresses, where=place)
    return [json.loads(line) for line in re.findall(r"RESULT(.*)", printed)]


def _write(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    return path


WANTED = [[row["question"], row["choices"], n % 3] for n, row in enumerate(ROWS)]


def test_hub_data_set_is_read_from_its_only_or_named_split(tmp_path):
    installed("datasets")
    _write(tmp_path / "one/train.jsonl")
    for split in ("train", "test"):
        _write(tmp_path / f"two/{split}.jsonl")
    card = "configs:\n" + "".join(
        f"- config_name: {name}\n  data_files: {name}.jsonl\n" for name in ("easy", "hard")
    )
    for name in ("easy", "hard"):
        _write(tmp_path / f"three/{name}.jsonl")
    (tmp_path / "three/README.md").write_text(f"---\n{card}---\n", "utf-8")
    one, two, three = (f"hf:{tmp_path / name}" for name in ("one", "two", "three"))
    named = (one, two, f"{two}[test]", f"{two}[dev]", three, f"{three}:hard", f"{three}:soft")
    found = _read(tmp_path, *named, "hf:nobody/nothing", f"hf:{tmp_path}/four", "hf:a:b:c")
    assert [found[0], found[2], found[5]] == [WANTED] * 3
    assert found[1] == f"{two}: there are 2 splits (train, test); name one: {two}[train]"
    assert found[3].endswith(f"there is no split 'dev' (train, test); name one: {two}[train]")
    assert found[4].endswith(f"2 configurations (easy, hard); name one: {three}:easy")
    assert "there is no configuration 'soft' (easy, hard)" in found[6]
    assert "connect to the internet, or download the data set and use hf:FOLDER" in found[7]
    assert "check the name" in found[8]
    assert found[9] == "hf:a:b:c: the address must be hf:ORG/NAME or hf:ORG/NAME:CONFIG[SPLIT]"


def test_error_about_a_gated_data_set_says_what_to_do(monkeypatch, tmp_path):
    datasets = needed("datasets")
    error = datasets.exceptions.DatasetNotFoundError("Dataset 'a/b' is a gated dataset on the Hub.")

    def refuse(path: str) -> list[str]:
        raise error

    monkeypatch.setattr(datasets, "get_dataset_config_names", refuse)
    with pytest.raises(FormatError, match="accept the terms on the data set's page, then log in"):
        data.read(f"hf:{tmp_path}")


def test_unreachable_hub_is_not_retried(tmp_path):
    """The `datasets` library would retry each request for half a minute."""
    installed("datasets")
    script = f"""
import os, time
del os.environ["HF_HUB_OFFLINE"]
os.environ["HF_ENDPOINT"] = "http://127.0.0.1:9"
time.sleep = lambda seconds: print("waited", seconds)
{READ}"""
    printed = run_alone(script, "hf:org/name", where=tmp_path)
    assert "waited" not in printed
    assert "'org/name' can't be reached on the Hub; connect to the internet" in printed


def test_lm_eval_task_is_read(tmp_path):
    """The task's own functions make the questions. Contexts that differ are the choices."""
    installed("lm_eval")
    rows = _write(tmp_path / "rows.jsonl")
    for name, text in (("mine", TASK), ("gaps", CONTEXTS)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "task.yaml").write_text(text.replace("DATA", str(rows)), "utf-8")
    free = TASK.replace("DATA", str(rows)).replace("multiple_choice", "generate_until")
    (tmp_path / "free").mkdir()
    (tmp_path / "free/task.yaml").write_text(free, "utf-8")
    mine, gaps, free = (f"lm-eval:{tmp_path / n / 'task.yaml'}" for n in ("mine", "gaps", "free"))
    found = _read(tmp_path, mine, gaps, free, "lm-eval:no_such_task", "lm-eval:no.yaml")
    assert found[0] == [[f"Q: {text}", choices, key] for text, choices, key in WANTED]
    assert found[1] == [[f"is {text}", choices, key] for text, choices, key in WANTED]
    assert "the task has no choices (output_type: generate_until)" in found[2]
    assert "there is no such task; see: lm_eval ls tasks" in found[3]
    assert found[4] == "lm-eval:no.yaml: there is no such file"


def test_exported_lm_eval_task_is_read_with_its_answers(tmp_path):
    installed("lm_eval")
    from winosmith.release import write_lm_eval_task
    from winosmith.testing import make_twins

    twins = make_twins(6)
    write_lm_eval_task(twins, tmp_path / "task")
    (found,) = _read(tmp_path, f"lm-eval:{tmp_path}/task/made_partial.yaml")
    assert [answer for _, _, answer in found] == list(twins.answers)
    assert [len(options) for _, options, _ in found] == [2] * len(twins)


def test_inspect_task_and_dataset_are_read():
    installed("inspect_ai")
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser

    samples = [
        Sample(row["question"], choices=row["choices"], target=row["answer"], id=row["id"])
        for row in ROWS
    ]
    talk = [ChatMessageSystem(content="Choose."), ChatMessageUser(content=ROWS[0]["question"])]
    samples[0] = samples[0].model_copy(update={"input": talk})
    whole = MemoryDataset(samples)
    wanted = formats.read(ROWS)
    assert wanted.ids == tuple(f"{n}" for n in range(9))
    for one in (whole, Task(dataset=whole)):
        assert list(formats.read(one)) == list(wanted)
    assert len(audit.audit(whole, draws=20, probe_draws=0).parts[0].dataset) == 9
    with pytest.raises(FormatError, match="sample 1 has no choices"):
        formats.read(MemoryDataset([Sample("Why?")]))


def test_error_about_a_missing_library_names_the_extra(monkeypatch):
    for module, address, extra in (
        ("datasets", "hf:a/b", "hub"),
        ("lm_eval", "lm-eval:x", "lm-eval"),
    ):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingExtraError, match=re.escape(f"'winosmith[{extra}]'")):
            data.read(address)
