# `make demo` and `make test` need nothing but Python 3.11+ (as PYTHON) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --constraint scripts/constraints.txt --editable
JOBS ?= 2

.PHONY: demo test lint clean

demo: $(VENV)/demo.stamp
	$(BIN)/arena demo --jobs $(JOBS) --out runs/demo

test: $(VENV)/test.stamp lint
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

clean:
	rm -rf $(VENV) runs

$(VENV)/pyvenv.cfg:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: pyproject.toml scripts/constraints.txt | $(VENV)/pyvenv.cfg
	$(INSTALL) '.[classical,report]'
	touch $@

$(VENV)/test.stamp: pyproject.toml scripts/constraints.txt | $(VENV)/pyvenv.cfg
	$(INSTALL) '.[test]'
	touch $@
