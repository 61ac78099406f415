# One command for each thing that a developer does; `make` lists them. Each installs what it needs by itself.

PYTHON ?= python3
N ?= 20000
CLAIMS ?= 40
BENCH ?= overhead
VERSIONS ?= 4.1 4.2

# Kept, whatever the environment says: each of the processes that tests start would compile the Java anew, for some seconds.
export PYTHONDONTWRITEBYTECODE =

pip = $(1)/bin/python -m pip install --quiet --disable-pip-version-check
# Without PYSPARK_PYTHON, Spark starts its workers with whatever python3 the PATH offers.
python = PYSPARK_PYTHON='$(CURDIR)/$(1)/bin/python' $(1)/bin/python
find_java = $(1)/bin/python -c 'from data_skip.spark.java import ensure_java; ensure_java()' 2>/dev/null

# $(call install,VENV,CONSTRAINTS): pyspark is named so that --upgrade reaches it where no constraint holds it.
define install
	@$(call pip,$(1)) --upgrade -e '.[dev]' pyspark -c $(2)
	@$(call find_java,$(1)) || $(call pip,$(1)) -e '.[java]' -c $(2) \
		|| { echo 'Spark needs Java: install OpenJDK 17 or 21, then run this again.' >&2; exit 1; }
	@touch $(1)/.installed
endef

# ONLY=geo names tests/geo_skip; ONLY=joins a folder and a file; a path, or path::test, names itself.
is_path = $(wildcard $(firstword $(subst ::, ,$(ONLY))))
named = $(wildcard tests/$(ONLY) tests/$(ONLY)_skip tests/test_$(ONLY).py tests/*/test_$(ONLY).py tests/*/*/test_$(ONLY).py)
rooms = $(filter-out __pycache__,$(patsubst tests/%/.,%,$(wildcard tests/*/.)))
nothing = no tests are called '$(ONLY)': give a path, or one of $(rooms:_skip=)
selected = $(if $(ONLY),$(or $(if $(is_path),$(ONLY)),$(named),$(error $(nothing))))

# Beside tests/differential, what draws more of the same where it is told to.
DRAWN = $(addprefix tests/,joins/test_random_joins.py elements/test_random_arrays.py falsifiable/test_monotone.py geo_skip/test_random.py \
	log_skip/test_user_agents.py readings/values/test_text.py test_partitions.py)

.PHONY: help install demo test test-long test-object-store faults test-newest test-versions dist test-dist notebooks screenshots lint docs format fuzz claims bench clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

install: .venv/.installed ## install into .venv, with the versions of constraints.txt

demo: .venv/.installed ## index lakes of real data and watch Spark skip most of them; ONLY=geo, weather, logs or sedona
	@$(call python,.venv) -m sample_data.demo $(if $(ONLY),--only=$(ONLY))

test: .venv/.installed ## run the tests, but for the long ones; ONLY=geo, log, joins, traps, ... or a path: those, long or not
	@$(call python,.venv) -m pytest $(or $(selected),-m 'not long and not faults and not dist')

test-long: .venv/.installed ## run the long ones, half an hour: recipes of readings, claims held against Spark at length
	@$(call python,.venv) -m pytest -m 'long and not object_store and not faults'

test-object-store: .venv/.installed ## run all that is tested against an S3 on this machine
	@$(call python,.venv) -m pytest -m 'object_store and not faults' -n 0 tests/object_store

faults: .venv/.installed ## have every request to a store fail in every way, kill writers, fill disks, damage files
	@$(call python,.venv) -m pytest -m 'faults and not object_store' -n 2 --dist loadgroup tests/faults
	@$(call python,.venv) -m pytest -m 'faults and object_store' -n 0 tests/object_store

test-newest: .venv-newest/.installed ## run the tests that depend on Spark's version on the newest pyspark 4.x
	@$(call python,.venv-newest) -m pytest -m spark_version $(selected)

test-versions: .venv/.installed ## run the demo's first queries on the versions of Spark between, as far as they can be had
	@for version in $(VERSIONS); do \
		folder='$(CURDIR)'/.venv-$$version; \
		if $(MAKE) --no-print-directory .venv-$$version/.installed; then \
			PYTHONPATH=$$folder $(call python,.venv) -m pytest tests/smoke/test_first_queries.py || exit 1; \
		else \
			echo "pyspark $$version cannot be installed: not tested"; \
		fi; \
	done

dist: .venv/.installed ## build the package into dist/: an sdist, and of that a wheel
	@rm -rf dist build/pages  # the second: links to folders, which an sdist would be without
	@.venv/bin/python -m build --quiet

test-dist: dist ## install the wheel outside of this folder, in an environment of its own, and use it there
	@$(call python,.venv) -m pytest -m dist -n 0 tests/test_dist.py

notebooks: .venv/.installed ## run the notebooks of docs/notebooks, every cell; WRITE=1 keeps what they show
	@$(call python,.venv) docs/notebooks/run.py $(if $(WRITE),--write)

screenshots: .venv/.installed ## make the screenshots of the documentation, in a headless Chromium
	@$(call python,.venv) -m docs.screenshots

lint: .venv/.installed ## check style, format and types
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy

docs: .venv/.docs ## build the documentation site into build/site; a link that leads nowhere is an error
	@rm -rf build/pages && mkdir -p build/pages && cd build/pages && ln -s ../../*.md ../../docs ../../site/api .
	@$(call python,.venv) -m mkdocs build
	@echo 'build/site/index.html'

format: .venv/.installed ## repair style and format where that can be done by itself
	.venv/bin/ruff check --fix
	.venv/bin/ruff format

fuzz: .venv/.installed ## compare rows with and without skipping on N=20000 random predicates, and of every function said to be monotone
	@DATA_SKIP_EXAMPLES=$(N) $(call python,.venv) -m pytest tests/differential $(DRAWN)

claims: .venv/.installed ## hold what is claimed of functions against Spark: CLAIMS=40 times as many values as the tests
	@DATA_SKIP_CLAIMS=$(CLAIMS) $(call python,.venv) -m pytest tests/claims -q

bench: .venv/.installed ## measure; BENCH=overhead (of planning), or another file of benchmarks/
	@$(call python,.venv) -m benchmarks.$(BENCH)

clean: ## remove the environments and everything that tools left behind
	rm -rf .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	rm -rf spark-warehouse metastore_db derby.log
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.installed: pyproject.toml constraints.txt
	@echo 'Installing into .venv (a minute or two)'
	@$(PYTHON) -m venv .venv
	$(call install,.venv,constraints.txt)

.venv/.docs: .venv/.installed
	@$(call pip,.venv) -e '.[docs]' -c constraints.txt
	@touch $@

.venv-newest/.installed: pyproject.toml constraints.txt
	@echo 'Installing into .venv-newest (a minute or two)'
	@$(PYTHON) -m venv .venv-newest
	@grep -Ev '^(pyspark|py4j)==' constraints.txt > .venv-newest/constraints.txt
	$(call install,.venv-newest,.venv-newest/constraints.txt)

# Spark alone: all else comes from .venv, which is why py4j must be the same.
.venv-4.%/.installed:
	@echo 'Installing pyspark 4.$* into .venv-4.$* (a minute or two)'
	@rm -rf .venv-4.$*
	@$(call pip,.venv) --target .venv-4.$* --no-deps 'pyspark==4.$*.*'
	@touch $@
