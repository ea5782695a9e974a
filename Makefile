# Needs Python 3.11 or newer and make, nothing else. `make peers` and `make e2e` also use Go,
# and `make peers` Chromium.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP_COMPILE := $(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host
# Read from pyproject.toml, so that development dependencies are listed in one place only.
DEV_GROUP := import tomllib; \
	print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"], sep="\n")

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types layers generated unit peers e2e e2e-build e2e-all bench proto roles dashboards reference \
	lock clean

help: ## show this list
	@echo 'kueue-gpu-scaler'
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)$$/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
		while IFS='|' read -r name what; do printf '  make %-10s %s\n' "$$name" "$$what"; done

setup: $(READY) ## create .venv with the locked dependencies; once, then instant

$(READY): requirements/runtime.txt requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit( \
		"Python 3.11 or newer is needed, %s is %d.%d; name another with make PYTHON=..." \
		% (sys.executable, *sys.version_info[:2]))'
	@echo 'Setting up $(VENV) (once, about a minute) ...'
	@$(BIN)/python -c '' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input \
		--require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input \
		--no-deps --no-build-isolation --editable .
	@touch $@

demo: setup ## run the scaler on an embedded cluster, under two minutes
	@$(BIN)/kueue-gpu-scaler demo

test: lint types layers generated unit ## run every check

lint: setup ## ruff: rules and format
	@echo '== ruff'
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: setup ## mypy, strict
	@echo '== mypy'
	@$(BIN)/mypy

layers: setup ## import-linter: imports point one way
	@echo '== import-linter'
	@$(BIN)/lint-imports

generated: setup ## what code gives is fresh: scaler/pb, deploy/'s Roles, deploy/grafana, docs/reference
	@echo '== generated code, Roles, dashboards and pages'
	@$(BIN)/python protos/generate.py --check
	@$(BIN)/python deploy/roles.py --check
	@$(BIN)/python -m dashboards --check
	@$(BIN)/python -m docs.generate --check

unit: setup ## pytest alone
	@echo '== pytest'
	@$(BIN)/pytest -n auto --maxprocesses 8

peers: setup ## try it against KEDA, Prometheus, Helm, kustomize and Chromium; needs Go
	@$(BIN)/python -m tests.peers.run

e2e: setup ## play every scenario with the real KEDA, Kueue, Prometheus ...; needs Go
	@$(BIN)/python -m tests.e2e.run

e2e-build: setup ## only build those programs into .build/, once
	@$(BIN)/python -m tests.e2e.run --build

e2e-all: setup ## play with older versions too and write docs/compatibility.md; 90 minutes
	@$(BIN)/python -m tests.e2e.versions

bench: setup ## measure, each figure beside its goal
	@$(BIN)/python -m benchmarks

proto: setup ## generate scaler/pb anew
	@$(BIN)/python protos/generate.py

roles: setup ## write the rules of deploy/'s Roles anew
	@$(BIN)/python deploy/roles.py

dashboards: setup ## generate deploy/grafana anew
	@$(BIN)/python -m dashboards

reference: setup ## write docs/reference anew from the code
	@$(BIN)/python -m docs.generate

lock: setup ## resolve the dependencies anew, newest versions
	@CUSTOM_COMPILE_COMMAND='make lock' $(PIP_COMPILE) --upgrade \
		--output-file requirements/runtime.txt pyproject.toml
	@CUSTOM_COMPILE_COMMAND='make lock' $(PIP_COMPILE) --upgrade --only-build-deps \
		--build-deps-for wheel --output-file requirements/build.txt pyproject.toml
	@$(BIN)/python -c '$(DEV_GROUP)' | CUSTOM_COMPILE_COMMAND='make lock' $(PIP_COMPILE) --upgrade \
		--constraint requirements/runtime.txt --output-file requirements/dev.txt pyproject.toml -

clean: ## remove what make made: .venv, binaries, caches
	@rm -rf $(VENV) .build .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
