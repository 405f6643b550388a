# Everything runs in .venv, which is made, and made anew when it is stale, by whatever needs it.
PYTHON ?= python3
PIP = .venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
.DELETE_ON_ERROR:
.PHONY: demo reproduce test check bench clean

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
	.venv/bin/python -m benchmarks

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

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
