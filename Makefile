# `make` says what there is. PYTHON chooses the interpreter of a new environment, WORKERS
# how many tests run at once, ARGS goes to pytest: make test ARGS="-k cpuset"
PYTHON ?= python3
VENV ?= .venv
CONSTRAINTS ?= constraints.txt
WORKERS ?= auto
ARGS ?=

GATE := -m "not slow and not check and not e2e" -n $(WORKERS)
CHECK := -m "check and not slow and not e2e" -n $(WORKERS)
# What is run against the wheel, too: it imports every module, and every command runs.
WHEEL_TESTS := tests/house tests/cli tests/instance tests/scheduler tests/words

BIN := $(VENV)/bin
READY := $(VENV)/.ready
WHEEL_VENV := build/wheel-venv
OLDEST_VENV := build/oldest-venv

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup demo test check slow mutants refusals vm-test container-test e2e e2e-test bench lint hooks wheel oldest constraints clean
.DELETE_ON_ERROR:

help:
	@echo 'make demo         solve a small cluster, check the answer, draw it'
	@echo 'make test         the tests of the gate, on a pinned environment in $(VENV): a few minutes'
	@echo 'make check        the tests that take longer; .ci/run runs both'
	@echo 'make slow         the tests that run for minutes'
	@echo 'make mutants      small wrong changes of the source, each of which some test should notice'
	@echo 'make refusals     500 random worlds in which pods have no place: what is said of them is so'
	@echo 'make vm-test      tests inside emulated machines: cgroup v1 and v2, NUMA, SMT, CPUs that go'
	@echo 'make container-test real containers of crun and runc, and systemd on a D-Bus of its own'
	@echo 'make e2e          build a control plane of Kubernetes, once; make e2e-test uses it'
	@echo 'make bench        every benchmark; figures on stdout'
	@echo 'make lint         ruff, mypy --strict, import contracts'
	@echo 'make hooks        run make lint before each commit'
	@echo 'make wheel        sdist, wheel from it, its contents, some tests against it'
	@echo 'make oldest       the tests against the oldest versions that pyproject.toml allows'
	@echo 'make constraints  renew constraints.txt'
	@echo 'make clean        remove what was built, and the environment'

# pip comes from the interpreter's own pip, so ensurepip is not needed.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(v < (3, 11) and f"Placer needs Python 3.11 or later, $(PYTHON) is {v[0]}.{v[1]}; try: make PYTHON=python3.11")'
	$(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) -m pip --python $(BIN)/python install -q -c $(CONSTRAINTS) pip

$(READY): pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	$(BIN)/python -m pip install -q -c $(CONSTRAINTS) --build-constraint $(CONSTRAINTS) --group dev -e .
	@touch $@

setup: $(READY)

test: $(READY)
	$(BIN)/pytest $(GATE) $(ARGS)

check: $(READY)
	$(BIN)/pytest $(CHECK) $(ARGS)

slow: $(READY)
	$(BIN)/pytest -m slow $(ARGS)

mutants: $(READY)
	nice $(BIN)/python tests/mutants/run.py $(ARGS)

WORLDS ?= 1 500

refusals: $(READY)
	nice $(BIN)/python tests/explain/random_refusals.py $(WORLDS) $(ARGS)

vm-test: $(READY)
	nice $(BIN)/python tests/vm/run.py $(ARGS)

container-test: $(READY)
	nice $(BIN)/python tests/containers/run.py $(ARGS)

# A quarter of an hour the first time; kept in PLACER_E2E_CACHE, else in the user's cache.
e2e: $(READY)
	$(BIN)/python tests/e2e/run.py build

e2e-test: $(READY)
	$(BIN)/python tests/e2e/run.py test $(ARGS)

# One that lacks what only its caller has, such as traces, says so and ends with 3.
bench: $(READY)
	@set -e; for file in $(filter-out benchmarks/_%,$(sort $(wildcard benchmarks/*.py))); do \
		echo "== $$file"; $(BIN)/python $$file || [ $$? -eq 3 ]; \
	done

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini
	$(BIN)/lint-imports --no-logo

hooks: $(READY)
	$(BIN)/pre-commit install

DEMO := build/demo.json
DUMP := instances/dumps/cluster.yaml

demo: $(READY)
	@mkdir -p build
	@echo; echo 'Who runs where? Ten seconds for an answer, with a bound that says how good it is.'
	$(BIN)/placer solve instances/demo.yaml --time-limit 10 --output $(DEMO)
	@echo; echo 'Does the answer keep every rule? The judge is separate code and knows no solver.'
	$(BIN)/placer verify instances/demo.yaml $(DEMO)
	@echo; echo 'What does it look like inside the machines?'
	$(BIN)/placer show instances/demo.yaml --placement $(DEMO)
	@echo; echo 'And a cluster of yours? What kubectl get prints is read as it is.'
	$(BIN)/placer show $(DUMP)
	@echo; echo 'Who waits there gets a place, and the cluster is told by files that kubectl takes.'
	@rm -rf build/cluster
	$(BIN)/placer solve $(DUMP) --time-limit 10 --emit patches,bindings build/cluster
	@echo; cat build/cluster/patches/ml/train-1.yaml

# PYTHONSAFEPATH keeps the checkout's own packages off sys.path, so that only the
# installed wheel can answer an import; tests/house checks that it does.
wheel: $(READY)
	rm -rf dist $(WHEEL_VENV)
	PIP_CONSTRAINT=$(CONSTRAINTS) $(BIN)/python -m build
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/python -m venv --without-pip $(WHEEL_VENV)
	$(BIN)/python -m pip --python $(WHEEL_VENV)/bin/python install -q -c $(CONSTRAINTS) --group test dist/*.whl
	PYTHONSAFEPATH=1 $(WHEEL_VENV)/bin/pytest $(GATE) $(WHEEL_TESTS) $(ARGS)

oldest: $(READY)
	rm -rf $(OLDEST_VENV)
	$(BIN)/python -m venv --without-pip $(OLDEST_VENV)
	$(BIN)/python -m pip --python $(OLDEST_VENV)/bin/python install -q -c constraints-oldest.txt --group test -e .
	$(OLDEST_VENV)/bin/pytest $(GATE) $(ARGS)

constraints:
	rm -rf build/resolve
	$(PYTHON) -m venv build/resolve
	build/resolve/bin/python -m pip install -q --upgrade pip
	build/resolve/bin/python -m pip install -q --group dev hatchling editables .
	( echo '# Exact versions of everything that is installed, tools too; make constraints renews them.'; \
	  build/resolve/bin/python -m pip freeze --all --exclude placer --exclude setuptools ) > constraints.txt

clean:
	rm -rf build dist $(VENV) .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
