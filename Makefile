# `make help` lists the targets. Each sets up what it needs first.
SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := .venv/bin
STAMP := .venv/.set-up

.PHONY: help setup demo test lint bench results clean

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP) ## .venv with all packages, and Java 17+ where it can be installed

$(STAMP): pyproject.toml constraints.txt scripts/setup.sh scripts/apt.sh
	@scripts/setup.sh
	@touch $@

demo: $(STAMP) ## drain a backlog three ways on local Spark: a table, a picture, a report
	@$(BIN)/penstock demo

test: $(STAMP) ## all tests and the examples in the docstrings
	@echo "penstock: the jars of a Kafka broker and of Spark's connector (50 MB, once)"
	@$(BIN)/python -m penstock.testing.kafka.jars || echo "penstock: no jars, so the Kafka tests cannot run"
	@echo "penstock: running all tests, two files at a time (many start Spark and Kafka; a quarter of an hour)"
	@$(BIN)/pytest -n 2 --dist loadfile --durations=15

lint: $(STAMP) ## style, formatting, types and layers
	@echo "penstock: ruff, mypy and import-linter (the first run of mypy takes a minute)"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(STAMP) ## measure what Penstock costs and gains on this machine
	@$(BIN)/python -m penstock.bench.measures

results: $(STAMP) ## make the tables of results anew (long)
	@$(BIN)/python -m penstock.reproduce.results

clean: ## remove .venv, caches and the output of runs
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache artifacts runs demo \
	  spark-warehouse metastore_db derby.log bench.json dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
