# A thin wrapper: every target is a command that can be typed without make. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# targets run one after the other: they share .venv and two of them would measure each other
.NOTPARALLEL:

BIN := .venv/bin

# What `make eval` and others take. Values reach scripts/*.sh through the environment and as typed: make
# expands no `$` in them, and no shell ever parses them. Only words on make's command line count, so
# that a MODEL or an N which happens to be in the environment changes no run; CKPT may come from it.
EVAL_VARIABLES := SUBSET AGENT N CONCURRENCY SANDBOX BASE_URL MODEL LIKE BASE ARGS
typed = $(if $(filter command\ line,$(origin $(1))),$(value $(1)))
define pass_on
override export $(1) := $$(call typed,$(1))
endef
$(foreach name,$(EVAL_VARIABLES),$(eval $(call pass_on,$(name))))
override export CKPT := $(value CKPT)

.PHONY: help
help: ## Show this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 22

.PHONY: setup
setup: ## Make .venv and check the system packages (quick when nothing changed; PYTHON= names a Python)
	@scripts/setup.sh

.PHONY: eval
eval: setup ## Evaluate a checkpoint: CKPT= [SUBSET= AGENT= N= CONCURRENCY= SANDBOX= BASE_URL= MODEL= LIKE= ARGS=]
	@scripts/eval.sh

.PHONY: report compare gate
report: setup ## Write a report of what was run: [CKPT= ARGS=]
	@scripts/look.sh report
compare: setup ## Compare checkpoints with a base: BASE= CKPT='… …' [ARGS=]
	@scripts/look.sh compare
gate: setup ## Judge a checkpoint against a baseline: CKPT= BASE= [ARGS=] (make ends with 2 for any verdict but PASS)
	@scripts/look.sh gate

# most tests wait for servers, sandboxes and clocks, so there may be more of them than cores
TESTS_AT_ONCE := $(shell echo $$(( 2 * $$(nproc) )))

.PHONY: test
test: setup ## Run all tests (ARGS= goes to pytest; ARGS=-n0 runs one after the other)
	@xargs -a <(printf '%s' "$$ARGS") $(BIN)/python -m pytest -n $(TESTS_AT_ONCE) --dist worksteal

.PHONY: lint
lint: setup ## Check style, formatting and the import arrows
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

.PHONY: type
type: setup ## Check the types
	$(BIN)/mypy

.PHONY: format
format: setup ## Format the code and mend what can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: demo-check
demo-check: setup ## Evaluate oracle, nop and smollm2 on the demo subset and check what comes out (minutes)
	@$(BIN)/python scripts/demo_check.py

.PHONY: bench
bench: setup ## Measure speed, memory and the gateway's cost (25 minutes; ARGS="--quick", ARGS="cpu resume")
	@xargs -a <(printf '%s' "$$ARGS") $(BIN)/python -m benchmarks

.PHONY: lock
lock: setup ## Write requirements/*.txt anew from pyproject.toml (ARGS=--upgrade takes the newest versions)
	@scripts/lock.sh $$ARGS

.PHONY: clean
clean: ## Remove .venv, builds and caches of tools; results and reports stay
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find tbeval tests scripts benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
