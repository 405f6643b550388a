# Everything runs in .venv, which is made, and brought up to date when pyproject.toml or
# constraints.txt changed, by whatever target needs it.
#
#   make demo       the library in half a minute, with a picture
#   make reproduce  the tables of the paper, and a page that shows them
#   make quick      a minute of tests, while you write: those not marked slow
#   make test       all tests and doctests
#   make check      what a change must pass, and what CI runs: lint, types, imports, all tests
#   make fuzz       attacks with new seeds, MINUTES=5 of them, and a table of what held
#   make lowest     the quick tests with the lowest versions that pyproject.toml allows
#   make newest     the same with the newest
#   make bench      the speed claims, each beside its rivals
#   make interop    dozens of cases of use with other libraries, and what comes of each
#   make docs       the site, with its examples run
#   make clean      removes whatever the above made
PYTHON ?= python3
# Processes that share the tests out; WORKERS=0 runs them in one, as a debugger wants it.
WORKERS ?= auto
MINUTES ?= 5
PIP = .venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
PYTEST = .venv/bin/pytest -n $(WORKERS) --maxprocesses 8 --dist worksteal
.DELETE_ON_ERROR:
.PHONY: demo reproduce quick test check fuzz lowest newest bench interop docs clean

demo: .venv/installed
	.venv/bin/paralesn demo

reproduce: .venv/installed
	.venv/bin/paralesn reproduce
	.venv/bin/paralesn report

quick: .venv/installed
	$(PYTEST) -m "not slow"

test: .venv/browser .venv/engines
	$(PYTEST)

check: .venv/browser .venv/engines
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(PYTEST)

# What fails is kept below tests/hostile/cases, and the tests try it from then on.
fuzz: .venv/installed
	PYTHONPATH=tests .venv/bin/python -m hostile --minutes $(MINUTES) $(if $(SAVE),--save $(SAVE))

# Old releases beside new ones of what they depend on deprecate each other: no errors of ours.
lowest:
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) .ci/floors.py > .venv-lowest/floors.txt
	$(subst .venv/,.venv-lowest/,$(PIP)) -c .venv-lowest/floors.txt -e ".[all,energy,dev]"
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-lowest/kernels $(subst .venv/,.venv-lowest/,$(PYTEST)) -m "not slow" -W default::DeprecationWarning

# Without aeon and sktime, which hold others back, and with PyTorch as in constraints.txt.
newest:
	$(PYTHON) -m venv .venv-newest
	grep ^torch== constraints.txt > .venv-newest/torch.txt
	.venv-newest/bin/python -m pip install --quiet --disable-pip-version-check --upgrade -c .venv-newest/torch.txt \
	  -e ".[data,energy,plot,search,tables,torch,dev]"
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-newest/kernels $(subst .venv/,.venv-newest/,$(PYTEST)) -m "not slow" -W default::DeprecationWarning

bench: .venv/bench
	PARALESN_FIGURES=docs/benchmarks .venv/bin/python -m benchmarks --save docs/benchmarks

interop: .venv/interop
	.venv/bin/python -m benchmarks.interoperability

# Examples of the gallery run while the site is built, those of other pages by the tests.
docs: .venv/docs
	rm -rf docs/api/generated  # pages of names that are gone would be errors
	.venv/bin/sphinx-build -W --keep-going -b html docs docs/_build/html
	.venv/bin/pytest tests/test_docs.py
	@echo "open docs/_build/html/index.html"

# A stamp is touched only after pip succeeded, so an interrupted installation is taken up again.
.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "paralesn needs Python 3.11 or newer, $(PYTHON) is " + sys.version.split()[0])'
	$(PYTHON) -m venv .venv
	$(PIP) -e ".[all,dev]"
	@touch $@

# A browser for the tests of the report; where none can be had, these say that they were skipped.
.venv/browser: .venv/installed
	@command -v chromium >/dev/null || .venv/bin/playwright install chromium >.venv/browser.log 2>&1 \
	  || echo "No browser to test the report in: .venv/browser.log says why"
	@touch $@

# Ray for the tests of the recipes, which skip without it. Spark takes 490 MB and Java: for its
# recipe install the extra `engines` yourself.
.venv/engines: .venv/installed
	@$(PIP) "ray>=2.40" >.venv/engines.log 2>&1 \
	  || echo "No Ray to test its recipe with: .venv/engines.log says why"
	@touch $@

.venv/bench: .venv/installed
	$(PIP) -e ".[all,dev,bench]"
	@touch $@

.venv/interop: .venv/installed
	$(PIP) -e ".[all,dev,interop]"
	@touch $@

.venv/docs: .venv/installed
	$(PIP) -e ".[all,dev,docs]"
	@touch $@

clean:
	rm -rf docs/_build docs/gallery docs/api/generated docs/_generated benchmarks/.cache
	rm -rf .venv .venv-lowest .venv-newest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
