# One line a target: everything is decided by the harness. `make help` lists them.
.DEFAULT_GOAL := help
HARNESS := .venv/bin/harness
# Two workers more than there are CPUs: many tests wait for a program, a container or a job.
export PYTEST_XDIST_AUTO_NUM_WORKERS ?= $(shell echo $$(($$(nproc) + 2)))
# Tests work on small tables: handing them to another thread takes more CPU than it saves.
test test-all: export POLARS_MAX_THREADS ?= 1
.PHONY: help setup test test-all battery mutation nightly report browse lint format release

help: ## list the targets
	@grep -hE '^[a-z0-9%-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

problem-%: setup ## judge problem N's headline claims here (FULL=1: all) and write its worklog
	@$(HARNESS) run $* --worklog $(if $(FULL),--full) $(ARGS) || [ $$? -eq 4 ] # 4: some cells failed

report: setup ## render every committed report again from its evidence
	@$(HARNESS) report

test: setup ## the test suite without its slow lane
	@.venv/bin/python -m pytest -q -n auto --dist worksteal -m "not slow"

test-all: setup ## the whole test suite, with a tenth of the battery
	@.venv/bin/python -m pytest -q -n auto --dist loadfile --no-loadscope-reorder \
		-m "not nightly" $(ARGS)

battery: export WORKLOGS_BATTERY_SCALE ?= 1
battery: export WORKLOGS_BATTERY_SEED ?= 0
battery: setup ## all of the battery; its counts go into benchmarks/results/battery.json
	@WORKLOGS_BATTERY_RESULTS=$(CURDIR)/benchmarks/results/battery.json \
		.venv/bin/python -m pytest -q -n auto --dist loadfile tests/battery \
		tests/run/cluster/test_killed_jobs.py tests/site/test_site.py \
		tests/problems/test_conclusions.py tests/problems/gemm_any_shape/test_cubins.py \
		tests/problems/gemm_any_shape/test_work.py

mutation: setup ## the mutation score of readers, claims, verdict, files and process
	@.venv/bin/python -m tests.support.mutation --results benchmarks/results/mutation.json $(ARGS)

nightly: battery mutation ## what takes hours: all of the battery, planted defects, mutants

lint: setup ## style and types
	@.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/mypy
	@.venv/bin/hadolint docker/Dockerfile problems/*/Dockerfile
	@.venv/bin/actionlint && .venv/bin/zizmor --offline --quiet .github

format: setup ## format the code, mend what ruff can mend
	@.venv/bin/ruff check --fix-only . && .venv/bin/ruff format .

browse: setup ## the worklogs as a site, on this machine alone
	@$(HARNESS) browse $(ARGS)

release: setup ## build the release that this commit is tagged as, check it, upload nothing
	@scripts/release

setup: .venv/ready
.venv/ready: requirements/harness.lock pyproject.toml
	@scripts/setup $(filter problem-%,$(MAKECMDGOALS))
