PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Two more than there are cores: a test in a browser, or of a server, waits for most of its time.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN || echo 1) + 2)

# Tests start hundreds of processes; each would compile the sources anew without what is kept.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-all test-shuffled test-lowest test-newest lint docs site bench trials clean

$(BIN)/winosmith: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -e .
	@touch $@

$(VENV)/.tests-installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -c constraints.txt torch
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[test]'
	@touch $@ $(BIN)/winosmith

# axe-core judges the pages in the browser tests; without npm they are skipped, and counted.
$(VENV)/npm/node_modules/axe-core/axe.min.js: | $(VENV)/.tests-installed
	-command -v npm >/dev/null && npm install --prefix $(VENV)/npm --no-save --no-package-lock \
	  --no-audit --no-fund --loglevel=error axe-core@4

demo: $(BIN)/winosmith
	$(BIN)/winosmith demo --out winosmith-demo

PYTEST = OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

# All but what is marked `long`, with a fifth of the examples of each law.
test: $(VENV)/.tests-installed $(VENV)/npm/node_modules/axe-core/axe.min.js
	$(PYTEST) -m "not long" --hypothesis-profile hurried

test-all: $(VENV)/.tests-installed $(VENV)/npm/node_modules/axe-core/axe.min.js
	$(PYTEST)

# The same in another order: of files, and of tests in a file. It prints a seed, which SEED gives back.
test-shuffled: $(VENV)/.tests-installed $(VENV)/npm/node_modules/axe-core/axe.min.js
	$(PYTEST) --random-order $(if $(SEED),--random-order-seed $(SEED))

# What lies below everything, with the oldest libraries that are allowed (PYTHON: 3.11) and with the
# newest that are to be had; no extra is needed. See CONTRIBUTING.md.
VERSIONS := tests/embed/test_light.py tests/debias tests/metrics \
  tests/formats tests/validate tests/practice tests/test_blocks.py tests/test_text.py tests/test_prediction.py \
  tests/answers/test_predictions.py

test-lowest:
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install -q -c constraints-lowest.txt -e . pytest pytest-timeout hypothesis jsonschema scikit-learn statsmodels
	OMP_NUM_THREADS=1 $(VENV)-lowest/bin/python -m pytest $(VERSIONS)

test-newest:
	$(PYTHON) -m venv $(VENV)-newest
	$(VENV)-newest/bin/python -m pip install -q -U --upgrade-strategy eager -e . pytest pytest-timeout hypothesis jsonschema scikit-learn statsmodels
	OMP_NUM_THREADS=1 $(VENV)-newest/bin/python -m pytest $(VERSIONS)

lint: $(VENV)/.tests-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# What the pages print, the reference, and the README's picture: all of one run.
docs: $(VENV)/.tests-installed
	OMP_NUM_THREADS=1 $(BIN)/python docs/make.py

# The documentation as a static site with search, in the folder site; dead links are errors.
site: $(VENV)/.tests-installed
	$(BIN)/python docs/make_site.py site

bench: $(VENV)/.tests-installed
	for file in benchmarks/bench_*.py; do $(BIN)/python $$file || exit 1; done

# What is long: files larger than memory. A machine with nothing else to do is best.
trials: $(VENV)/.tests-installed
	for file in trials/*.py; do $(BIN)/python $$file || exit 1; done

clean:
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-newest build dist site winosmith-demo
