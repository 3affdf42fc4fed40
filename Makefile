# make demo   set everything up and serve the demo (DRAGOMAN_PORT chooses the port)
# make test   set everything up and run the tests
# make demo TORCH_INDEX=URL   the same, with torch from another index, such as PyTorch's own of CPU builds
# make lint   ruff, mypy and the import contracts, and deno for the web page

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP_INSTALL := $(BIN)/python -m pip --disable-pip-version-check --quiet --require-virtualenv install --no-warn-conflicts -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help setup demo test browser-test lint format clean

help:
	@sed -n 's/^# make/make/p' Makefile

setup: $(STAMP)

# pyserini is wanted for the Lucene jar inside it, not for the many packages its Python modules import: --no-deps.
$(STAMP): pyproject.toml constraints.txt Makefile
	@test -n "$(PYTHON)" || { echo "Dragoman needs Python 3.11 or newer, and no python3 was found (set PYTHON=/path/to/python)" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "Dragoman needs Python 3.11 or newer; $(PYTHON) is $$("$(PYTHON)" -V 2>&1) (set PYTHON=/path/to/python)" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { echo "Creating $(VENV) with $(PYTHON)"; "$(PYTHON)" -m venv $(VENV); } || { \
	    echo "No virtual environment could be made: $(PYTHON) lacks the venv module (Debian: the package python3-venv)" >&2; \
	    rm -rf $(VENV); exit 1; }
	@echo "Installing the packages of constraints.txt into $(VENV) (about 2 GB on disk with a CPU build of torch, a few minutes the first time)"
	@$(PIP_INSTALL) setuptools wheel
	@$(PIP_INSTALL) --no-deps pyserini
	@test -z "$(TORCH_INDEX)" || $(PIP_INSTALL) --index-url "$(TORCH_INDEX)" torch
	@$(PIP_INSTALL) --no-build-isolation -e '.[dev,postgresql,telemetry]'
	@touch $@

demo: $(STAMP)
	@$(BIN)/dragoman demo || [ $$? -eq 130 ]

# Two processes: most of the tests' time is spent waiting for servers. A file's tests stay together, with what they share.
test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile

browser-test: $(STAMP)
	$(BIN)/python -m pytest tests/browser

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PATH="$(CURDIR)/$(BIN):$$PATH" lint-imports
	$(BIN)/deno lint && $(BIN)/deno check dragoman/service/web/page.js && $(BIN)/deno fmt --check

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/deno fmt

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
