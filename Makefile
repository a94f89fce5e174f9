# demo: install and run the example campaign from end to end.  test: install and pass the tests.
PYTHON ?= python3
VENV ?= .venv
IN = $(VENV)/bin

.PHONY: demo test check bench schemas browser

demo: $(VENV)/demo.ready
	rm -rf curation-demo
	$(IN)/curation demo curation-demo

test: $(VENV)/test.ready browser
	$(IN)/python -m pytest

check: $(VENV)/test.ready
	$(IN)/ruff format --check
	$(IN)/ruff check
	$(IN)/mypy

bench: $(VENV)/test.ready
	$(IN)/python benchmarks/coverage.py
	$(IN)/python benchmarks/labels.py
	$(IN)/python benchmarks/dump.py
	$(IN)/python benchmarks/import_labels.py
	$(IN)/python benchmarks/measures.py
	$(IN)/python benchmarks/pull.py
	$(IN)/python benchmarks/scoring.py

schemas: $(VENV)/test.ready
	$(IN)/python -c "from curation import files, records; [files.shipped('schemas', files.schema_name(r)).write_bytes(files.schema(r)) for r in records.ON_DISK]"

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.ready: $(VENV)/bin/python pyproject.toml constraints.txt
	$(IN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[models,language]'
	touch $@

$(VENV)/test.ready: $(VENV)/bin/python pyproject.toml constraints.txt
	$(IN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@ $(VENV)/demo.ready

# The forms are tested in a real Chromium; Debian and Ubuntu bring it, elsewhere install it yourself.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } || \
	echo "no chromium here: the tests of forms are skipped; install it to run them" >&2
