# winkube: `make up` and `make test` are all a newcomer needs.
SHELL := /bin/bash
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
ALL_TESTS := tests/unit tests/integration tests/upstream tests/e2e

.PHONY: help deps up down test unit integration e2e upstream conformance bench check format

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/.installed: pyproject.toml tools/install-venv
	@tools/install-venv $(PYTHON) $(VENV)
	@touch $@

deps: $(BIN)/.installed
	@tools/install-programs

up: deps ## install what is missing and start the cluster
	@$(BIN)/winkube up

down: $(BIN)/.installed ## stop the cluster and remove everything it made
	@$(BIN)/winkube down

check: $(BIN)/.installed ## lint, format, types, layers, module size
	@$(BIN)/ruff check -q .
	@$(BIN)/ruff format -q --check .
	@$(BIN)/mypy
	@out=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$out"; exit 1; }
	@$(PYTHON) tools/module-size

unit: $(BIN)/.installed ## seconds, no root
	@$(BIN)/pytest -q tests/unit

test: deps ## everything; a few tests with clocks get a second try
	@$(BIN)/python -m tests.second_try $(ALL_TESTS)

e2e: deps ## the real cluster only
	@$(BIN)/pytest -q tests/e2e

upstream: ## build upstream's control plane, so that tests and benchmarks compare with it
	@tools/build-upstream

conformance: deps ## Kubernetes' own conformance tests on a cluster made for them (GROUPS="sig-apps ..." or WINDOWS=1; NAME=, OUT=)
	@$(BIN)/python -m tests.conformance $(if $(WINDOWS),--windows) $(if $(NAME),--name $(NAME)) \
		$(if $(OUT),--out $(OUT)) $(GROUPS)

bench: deps ## print the tables of bench/
	@$(BIN)/python -m bench

format: $(BIN)/.installed ## rewrite to the house format
	@$(BIN)/ruff check -q --fix . || true
	@$(BIN)/ruff format -q .
