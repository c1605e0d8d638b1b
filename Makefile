# Each target makes what it needs first: `make demo` on a fresh clone is enough.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install install-dev demo demo-cluster run test test-slow test-all mutants lint proofs lighthouse bench lock clean
install: .venv/installed
install-dev: .venv/installed-dev

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: requirements.txt | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	touch $@

.venv/installed-dev: requirements-dev.txt | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	touch $@ .venv/installed

demo: install
	$(BIN)/python -m bot demo

demo-cluster: install-dev
	$(BIN)/python -m demo_cluster $(ARGS)

run: install
	$(BIN)/python -m bot run

# `make test` is quick and for every change; `make test-slow` is the rest, `make test-all` both.
SLOW := long or process or simulation or browser or schema or postgresql or property
# Quick tests compute: a worker for each core. Slow ones wait too: three for two cores.
CORES := $(shell $(PYTHON) -c "import os; print(os.cpu_count())")
WORKERS := $(shell expr $(CORES) \* 3 / 2)
PYTEST := $(BIN)/python -m pytest --dist worksteal
# Without stored bytecode each worker compiles all tests anew, and each start of the product its modules.
test test-slow test-all: export PYTHONDONTWRITEBYTECODE :=

test: install-dev
	$(PYTEST) -n $(CORES) -m "not ($(SLOW))" $(ARGS)

test-slow: install-dev
	$(PYTEST) -n $(WORKERS) -m "$(SLOW)" $(ARGS)

test-all: install-dev
	$(PYTEST) -n $(WORKERS) $(ARGS)

# Half an hour and more, so not part of a build; CONTRIBUTING says when.
mutants: install-dev
	$(BIN)/python -m tests.mutants --quick "not ($(SLOW))" $(ARGS)

lint: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: install-dev
	$(BIN)/python -m bench $(ARGS)

# Run nightly: `make proofs` runs all of them for hours, `make proofs ARGS=kill` one.
proofs: install-dev
	$(BIN)/python -m tests.proofs $(ARGS)

# Needs Node 18.20 or newer with npm, and a Chromium.
lighthouse: install-dev tests/proofs/node/node_modules
	$(BIN)/python -m tests.proofs lighthouse

tests/proofs/node/node_modules: tests/proofs/node/package-lock.json
	npm ci --prefix tests/proofs/node --ignore-scripts --no-audit --no-fund
	touch $@

# Needs uv (`pip install uv`); writes hashes for every platform, no addresses.
lock:
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --upgrade pyproject.toml -o requirements.txt
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --upgrade --extra dev pyproject.toml -o requirements-dev.txt
	uv pip compile -q --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --upgrade tests/lnbits/requirements.in -o tests/lnbits/requirements.txt
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --upgrade bench/peers/requirements.in -o bench/peers/requirements.txt
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --upgrade tests/clients/requirements.in -o tests/clients/requirements.txt
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --upgrade tests/mutants/requirements.in -o tests/mutants/requirements.txt

clean:
	rm -rf .venv data/peers tests/proofs/node/node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis
