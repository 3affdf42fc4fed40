# make demo   install what running needs and serve the demo (DRAGOMAN_PORT chooses the port)
# make test   install what developing needs as well and run the tests
# make demo TORCH_INDEX=URL   the same, with torch from another index, such as PyTorch's own of CPU builds
# make integrations   run docs/integrations.md with the real clients, which it installs into .integrations
# make lint   ruff, mypy and the import contracts, and deno for the web page and the TypeScript client
# make wheel  build the package with the Lucene classes in it into dist/
# make classes   compile the Java sources into the jar that is committed; needs a JDK
# make types   write the types of the TypeScript client, which are committed, by the service's OpenAPI document

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
DENO := "$(CURDIR)/$(BIN)/deno"
RUNNING := $(VENV)/.installed
DEVELOPING := $(VENV)/.installed-dev
INSTALL := $(BIN)/python scripts/install.py $(if $(TORCH_INDEX),--torch-index "$(TORCH_INDEX)")

.DEFAULT_GOAL := help
.PHONY: help setup demo test browser-test integrations lint format wheel classes types clean

help:
	@sed -n 's/^# make/make/p' Makefile

setup: $(DEVELOPING)

$(RUNNING): pyproject.toml constraints.txt scripts/install.py Makefile
	@test -n "$(PYTHON)" || { echo "Dragoman needs Python 3.11 or newer, and no python3 was found (set PYTHON=/path/to/python)" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "Dragoman needs Python 3.11 or newer; $(PYTHON) is $$("$(PYTHON)" -V 2>&1) (set PYTHON=/path/to/python)" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { echo "Creating $(VENV) with $(PYTHON)"; "$(PYTHON)" -m venv $(VENV); } || { \
	    echo "No virtual environment could be made: $(PYTHON) lacks the venv module (Debian: the package python3-venv)" >&2; \
	    rm -rf $(VENV); exit 1; }
	@echo "Installing what Dragoman needs to run into $(VENV) (about 1.5 GB on disk with a CPU build of torch)"
	@$(INSTALL)
	@touch $@

$(DEVELOPING): $(RUNNING) dragoman_lab/pyproject.toml
	@echo "Installing what developing Dragoman needs as well"
	@$(INSTALL) --lab dev postgresql telemetry
	@touch $@

demo: $(RUNNING)
	@$(BIN)/dragoman demo || [ $$? -eq 130 ]

# The tests start hundreds of processes, and without bytecode each would compile for seconds what it imports.
test: export PYTHONDONTWRITEBYTECODE =
# Four processes: half of the tests' time is spent waiting for servers. Each gets its share of the tests in their order, so
# that a file's stay together with what they share, and one that has done its share takes over some of another's.
test: $(DEVELOPING)
	$(BIN)/python -m pytest -n 4 --dist worksteal

browser-test: $(DEVELOPING)
	$(BIN)/python -m pytest tests/browser

integrations: $(DEVELOPING)
	$(BIN)/python scripts/integrations.py
	$(BIN)/python scripts/nginx_check.py

lint: $(DEVELOPING)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PATH="$(CURDIR)/$(BIN):$$PATH" lint-imports
	$(BIN)/deno lint && $(BIN)/deno check dragoman/service/web/*.js && $(BIN)/deno fmt --check
	cd clients/typescript && $(DENO) lint && $(DENO) check src/*.ts tests/*.ts && $(DENO) fmt --check

format: $(DEVELOPING)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/deno fmt
	cd clients/typescript && $(DENO) fmt

wheel: $(RUNNING)
	@$(BIN)/python scripts/build_wheel.py

classes: $(RUNNING)
	$(BIN)/python scripts/java_classes.py

types: $(DEVELOPING)
	$(BIN)/python scripts/typescript_types.py

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
