# `make demo` and `make test` start from nothing but python3 (3.11 or newer) and a package index.
PYTHON ?= python3
DATA ?=
PORT ?= 9092
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format cover chaos bench kafka-up kafka-down slurm-up slurm-down lock clean
MAKEFLAGS += --no-print-directory

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

setup: .venv/.ready ## the environment, from the lock; instant when nothing changed

.venv/.locked: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Tenure needs Python 3.11 or newer; say which: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { echo "Making .venv (once, about a minute)"; $(PYTHON) -m venv .venv; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r requirements.lock
	@touch $@

.venv/.ready: .venv/.locked pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: setup ## a month of a cluster, from events to statements; DATA=dir keeps the book there
	@$(BIN)/tenure demo $(if $(DATA),--data "$(DATA)")

test: lint ## lint, then every test that needs no Docker and no patience
	@$(PYTHON) -m deploy.kafka.node fetch >/dev/null || echo "The tests that need Kafka are skipped." >&2
	@$(BIN)/python -m pytest -n 2

lint: setup ## style, types, direction of imports, dependencies
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/deptry --no-ansi .

format: setup ## what ruff can put right by itself
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

cover: setup ## branches of the pure ledger that no test takes
	@$(BIN)/python -m pytest -n 2 --cov --cov-report=term-missing

chaos: setup ## kill, restart, compare; minutes
	@$(BIN)/python -m pytest -m chaos

bench: setup ## what is fast, and how fast
	@if test -e bench/__main__.py; then $(BIN)/python -m bench; else echo "There is no bench/__main__.py yet."; fi

kafka-up: ## a Kafka node on loopback, without Docker; PORT=9092, and DATA=dir keeps its records there
	@$(PYTHON) -m deploy.kafka.node up --port $(PORT) $(if $(DATA),--data "$(DATA)")

kafka-down: ## stop it; the records stay
	@$(PYTHON) -m deploy.kafka.node down $(if $(DATA),--data "$(DATA)")

slurm-up: ## a Slurm with fake GPUs on this machine, as root; installs what it lacks. DATA=dir is its folder
	@$(PYTHON) -m deploy.slurm.lab up $(if $(DATA),--data "$(DATA)")

slurm-down: ## end it, its jobs too
	@$(PYTHON) -m deploy.slurm.lab down $(if $(DATA),--data "$(DATA)")

lock: .venv/.locked ## requirements.lock from pyproject.toml; UPGRADE=1 takes newer versions
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-emit-find-links --custom-compile-command "make lock" --all-extras --group dev $(if $(UPGRADE),--upgrade) \
		--output-file requirements.lock pyproject.toml

clean: ## caches and build output; the environment stays
	@rm -rf build dist htmlcov .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
