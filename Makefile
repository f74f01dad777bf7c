# One line a target: everything is decided by the harness. `make help` lists them.
.DEFAULT_GOAL := help
HARNESS := .venv/bin/harness
.PHONY: help setup test report browse lint

help: ## list the targets
	@grep -hE '^[a-z0-9%-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

problem-%: setup ## run problem N here, judge its claims and write its worklog
	@$(HARNESS) run $* $(ARGS) || [ $$? -eq 4 ] # 4: some cells failed, the others tell
	@$(HARNESS) check $* || [ $$? -ne 2 ]
	@$(HARNESS) report $*

report: setup ## render every committed report again from its evidence
	@$(HARNESS) report

test: setup ## the whole test suite
	@.venv/bin/python -m pytest -q

lint: setup ## style and types
	@.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/mypy
	@.venv/bin/hadolint docker/Dockerfile problems/*/Dockerfile 

browse: ## where the worklogs are
	@echo reports/README.md

setup: .venv/ready
.venv/ready: requirements/harness.lock pyproject.toml
	@scripts/setup
