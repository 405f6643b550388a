# Everything runs in .venv, which is made, and made anew when it is stale, by whatever needs it.
PYTHON ?= python3
PIP = .venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
.DELETE_ON_ERROR:
.PHONY: demo reproduce test check bench docs clean

demo: .venv/installed
	.venv/bin/paralesn demo

reproduce: .venv/installed
	.venv/bin/paralesn reproduce
	.venv/bin/paralesn report

test: .venv/browser
	.venv/bin/pytest

check: .venv/browser
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	.venv/bin/pytest

bench: .venv/bench
	PARALESN_FIGURES=docs/benchmarks .venv/bin/python -m benchmarks --save docs/benchmarks

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

.venv/bench: .venv/installed
	$(PIP) -e ".[all,dev,bench]"
	@touch $@

.venv/docs: .venv/installed
	$(PIP) -e ".[all,dev,docs]"
	@touch $@

clean:
	rm -rf docs/_build docs/gallery docs/api/generated docs/_generated
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
