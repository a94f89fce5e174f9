# demo: install and run the example campaign from end to end.
# demo-web: the pages of annotators with open rounds of the example, until Ctrl-C.
# quick: the tests of a minute.  test: all tests but those that need an environment of their own.
# test-outside: those (Label Studio, Chromium, LibreOffice, lm-eval and minicons, readers of
# releases, Ray, the wheel).
PYTHON ?= python3
VENV ?= .venv
IN = $(VENV)/bin
WEB = curation/rounds/platforms/web
SCRIPTS = $(WEB)/static/curation.js $(WEB)/static/worker.js curation/pages/static/search.js
STYLES = data/pages/tokens.css $(WEB)/static/style.css curation/pages/static/report.css curation/board/static/board.css
# Many tests start a process. Without bytecode files, each would compile all modules again.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo demo-web quick test test-outside check bench schemas docs browser office

demo: $(VENV)/demo.ready
	rm -rf curation-demo
	$(IN)/curation demo curation-demo

demo-web: $(VENV)/demo.ready
	rm -rf curation-demo-web
	$(IN)/curation demo --web curation-demo-web

quick: $(VENV)/test.ready
	$(IN)/python -m pytest --ignore=curation/models -m "not outside and not models and not long"

test: $(VENV)/test.ready
	$(IN)/python -m pytest -m "not outside"

test-outside: $(VENV)/test.ready browser office
	$(IN)/python -m pytest -m "outside"

check: $(VENV)/test.ready
	$(IN)/ruff format --check
	$(IN)/djlint --check --quiet $(WEB)/templates curation/pages/templates curation/board/templates
	for f in $(SCRIPTS); do $(IN)/js-beautify -b collapse,preserve-inline -n $$f | diff $$f - || exit; done
	for f in $(STYLES); do $(IN)/css-beautify --space-around-combinator -n $$f | diff $$f - || exit; done
	$(IN)/ruff check
	$(IN)/mypy

bench: $(VENV)/test.ready
	$(IN)/python benchmarks/board.py
	$(IN)/python benchmarks/board_attack.py --work 0.1 --cats 177 2700
	$(IN)/python benchmarks/chat.py
	$(IN)/python benchmarks/coverage.py
	$(IN)/python benchmarks/hidden.py --sets 20 --cats 222 500
	$(IN)/python benchmarks/labels.py
	$(IN)/python benchmarks/dump.py
	$(IN)/python benchmarks/growth.py
	$(IN)/python benchmarks/import_labels.py
	$(IN)/python benchmarks/measures.py
	$(IN)/python benchmarks/pull.py
	$(IN)/python benchmarks/release.py
	$(IN)/python benchmarks/scoring.py
	$(IN)/python benchmarks/trust.py
	$(IN)/python benchmarks/workbooks.py

schemas: $(VENV)/test.ready
	$(IN)/python -c "from curation import files, records; [files.shipped('schemas', files.schema_name(r)).write_bytes(files.schema(r)) for r in records.ON_DISK]"

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.ready: $(VENV)/bin/python pyproject.toml constraints.txt
	$(IN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[models,language,parquet]'
	touch $@

$(VENV)/test.ready: $(VENV)/bin/python pyproject.toml constraints.txt
	$(IN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@ $(VENV)/demo.ready

docs: $(VENV)/test.ready
	$(IN)/python docs/make_commands.py
	$(IN)/python docs/make_columns.py
	$(IN)/python docs/make_steps.py

# Pages are tested in a real Chromium and Firefox, and with tools of Node. On Debian and Ubuntu, root
# gets what is missing here; else install it.
browser:
	@sh tests/support/need.sh "command -v chromium || command -v chromium-browser" chromium
	@sh tests/support/need.sh "command -v firefox || command -v firefox-esr" firefox-esr
	@sh tests/support/need.sh "command -v npm" npm

# Workbooks are opened in a real LibreOffice, which Debian's Python drives.
office:
	@sh tests/support/need.sh "command -v soffice" libreoffice-calc-nogui
	@sh tests/support/need.sh "/usr/bin/python3 -c 'import uno'" python3-uno
