# Every target makes .venv where it is missing, and installs only what it needs, so that each works alone in a new checkout.
#   make PYTHON=python3.12    another Python for .venv
#   make TORCH=torch          another torch; the one below is installed first, and plain `torch` where there is no such
#   make NUMPY='numpy==2.2.*'  another NumPy than the newest that pip picks
#   make VENV=.other          another folder for the environment
#   make test JOBS=1 ARGS="-k views -x"
#   make test CPU=avx2        as on another processor: see tests/cpus.py

PYTHON ?= python3
TORCH ?= torch==2.13.0
NUMPY ?= numpy
JOBS ?= 2
ARGS ?=
MATRIX ?=
BENCH ?= .
CPU ?=
PROGRAMS ?= 20000
COMPILED ?= 20000
EXPRESSIONS ?= 50000
POINTS ?= 200
KILLS ?= 200
CALLS ?= 200000
RUNS ?= 20000
FORKS ?= 500

VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
AS := $(if $(CPU),$(BIN)/python tests/cpus.py $(CPU))
PIP := $(BIN)/python -m pip --disable-pip-version-check
CHECKED := lazynp tests examples asv_bench compat docs

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo readme test matrix fuzz fuzz-jax faults spread accuracy kills threads lint format bench bench-check bench-programs bench-peers bench-numpy compat compat-jax libraries suites types dist docs clean distclean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 24

demo: $(STAMP)-demo ## a network behind both doors, then each example program under NumPy and under lazynp, in one table
	$(BIN)/python examples/jax/beside.py --epochs 1
	$(BIN)/python examples/run_demo.py $(ARGS)

readme: $(STAMP)-demo ## some ten minutes: measure what the README shows, and write its tables and its plot; ARGS=--counts for a part
	$(BIN)/python docs/readme_figures.py $(ARGS)

# The tests that measure come first, with nothing beside them, then those of the JAX door, and all others last, in
# processes of their own, which stay smaller so. 5: none was chosen.
# BLAS gets one thread in each of several test processes: with one a core in each they wait for one another.
test: $(STAMP)-test ## the tests; of the long property tests a part that takes seconds
	@$(AS) $(BIN)/python -m pytest -m alone $(ARGS); alone=$$?; \
	failed=0; any=0; \
	for part in jax others; do \
		OPENBLAS_NUM_THREADS=1 $(AS) $(BIN)/python -m pytest -m "not alone" --part $$part -n $(JOBS) $(ARGS); \
		case $$? in 0) any=1 ;; 5) ;; *) failed=1 ;; esac; \
	done; \
	case "$$failed $$any $$alone" in "0 1 0" | "0 1 5" | "0 0 0") ;; *) exit 1 ;; esac

# `make matrix MATRIX="--python 3.12 --numpy newest"` for a part of it; JOBS and ARGS are those of `make test`.
matrix: ## the tests with each Python that this machine has, the oldest NumPy and the newest: a table
	$(PYTHON) tests/matrix.py $(MATRIX) JOBS="$(JOBS)" ARGS="$(ARGS)" TORCH="$(TORCH)"

fuzz: $(STAMP)-test ## CALLS=200000 random calls, PROGRAMS=20000 random programs interpreted and COMPILED=20000 compiled
	$(BIN)/python -m compat fuzz --calls $(CALLS) --jobs $(JOBS)
	LAZYNP_PROGRAMS=$(PROGRAMS) LAZYNP_COMPILED=$(COMPILED) OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) -rP \
		tests/test_property_views.py tests/test_property_indexing.py tests/test_property_compiled.py $(ARGS)

fuzz-jax: $(STAMP)-test ## EXPRESSIONS=50000 expressions in JAX's names beside JAX, and what differs; ARGS="--values" with values
	$(BIN)/python tests/jax/expressions.py --count $(EXPRESSIONS) $(ARGS)

faults: $(STAMP)-test ## POINTS=200 faults in each of the programs of tests/fault_programs.py (0: at every line), compared with no fault
	$(BIN)/python tests/faults.py --points $(POINTS) $(ARGS)

accuracy: $(STAMP)-test ## sums, means, norms and products in every tier against exact ones, ARGS="--tiers compiled" for a part
	$(BIN)/python -m tests.accuracy $(ARGS)

spread: $(STAMP)-test ## several processes: PROGRAMS=5000 random programs on two and three, and KILLS=200 faults in one of them
	LAZYNP_PROGRAMS=$(PROGRAMS) $(BIN)/python -m pytest -q -s tests/test_spread.py -k values
	$(BIN)/python tests/spread_faults.py $(KILLS)

kills: $(STAMP)-test ## KILLS=200 kills while kernels are compiled and the cache is written
	LAZYNP_KILLS=$(KILLS) $(BIN)/python -m pytest -q -s tests/test_kills.py

threads: $(STAMP)-test ## RUNS=20000 runs of eight threads on rows of one array in each mode, FORKS=500 forks while threads compute
	LAZYNP_THREAD_RUNS=$(RUNS) LAZYNP_FORKS=$(FORKS) $(BIN)/python -m pytest tests/test_concurrency.py $(ARGS)

lint: $(STAMP)-lint ## ruff, its formatter, mypy, and what nothing uses
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy
	$(BIN)/python tests/unused.py

format: $(STAMP)-lint ## put imports in order and lay the code out
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

bench: $(STAMP)-bench ## the asv suite on .venv; BENCH=micro for a part; then `asv compare`, `asv publish` in asv_bench
	cd asv_bench && ../$(BIN)/asv machine --yes > /dev/null
	cd asv_bench && ../$(BIN)/asv run -E existing --set-commit-hash $$(git rev-parse HEAD) --show-stderr -b '$(BENCH)' $(ARGS)

bench-check: $(STAMP)-bench ## some minutes: ratios to NumPy beside those of asv_bench/baseline.json; ARGS=--write writes them
	OPENBLAS_NUM_THREADS=1 $(BIN)/python asv_bench/bench_check.py $(ARGS)

# `make bench-programs ARGS=--quick` for short rounds; asv_bench/program_table.py says what is timed, and what else ARGS may be.
bench-programs: $(STAMP)-bench ## programs in plain NumPy text at three sizes: NumPy, lazynp, and JAX by hand, in one table
	$(BIN)/python asv_bench/program_table.py $(ARGS)

bench-peers: $(STAMP)-bench ## elementwise work, a stencil, grad, vmap and scan: lazynp, JAX, torch.compile, numba, numexpr, autograd beside NumPy
	$(BIN)/python asv_bench/benchmarks/peers.py $(ARGS)

# It downloads NumPy's source distribution into a cache folder, or ARGS="--source PATH" names one; ARGS=--quick for a part.
bench-numpy: $(STAMP)-bench ## NumPy's own benchmarks, on NumPy and on lazynp in turns: ratios by group, and the slowest
	$(BIN)/python asv_bench/numpy_suite.py $(ARGS)

# `make compat ARGS=--quick` for a part that takes minutes, with results and a report of its own (compat/report/quick); the
# whole takes most of an hour on two cores.
compat: $(STAMP)-test ## NumPy's own tests in three modes: compat/report/index.html
	$(BIN)/python -m compat run --jobs $(JOBS) $(ARGS)
	$(BIN)/python -m compat report $(ARGS)
	$(BIN)/python -m compat check $(ARGS)

libraries: $(STAMP)-libraries ## uses of libraries, with NumPy's arrays and ours: docs/library-uses.md
	$(BIN)/python -m compat libraries $(ARGS)

# It downloads the libraries into a cache folder; ARGS="--modules control emcee" for some. Some ten minutes.
suites: $(STAMP)-suites ## the own tests of libraries that are Python over NumPy, with their import swapped: docs/library-suites.md
	$(BIN)/python -m compat suites $(ARGS)

# ARGS="--programs haiku --suites none" for a part; optax's own tests take most of an hour.
compat-jax: $(STAMP)-jaxlibs ## libraries that stand on JAX, on lazynp.jax: programs beside JAX, and their own tests: compat/jax.md
	$(BIN)/python -m compat.jaxlibs $(ARGS)

types: $(STAMP)-types ## the stubs, and what mypy, pyright and jedi make of them: docs/types.md
	$(BIN)/python -m compat.stubs
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m compat.stubs check --write

# A wheel is tried in an environment that has nothing but what it asks for: no torch, no compiler's output of this checkout.
# So is the source distribution, where there is no C compiler.
dist: $(STAMP)-dist ## the source distribution and a wheel of it, in dist; both are tried in empty environments
	rm -rf dist build/empty && $(BIN)/python -m build
	$(BIN)/auditwheel show dist/*.whl || true
	$(PYTHON) -m venv build/empty && build/empty/bin/python -m pip --disable-pip-version-check install --quiet dist/*.whl
	cd build && empty/bin/python ../tests/installed.py
	du -sh build/empty
	rm -rf build/plain && $(PYTHON) -m venv build/plain
	CC=false build/plain/bin/python -m pip --disable-pip-version-check install --quiet dist/*.tar.gz
	cd build && plain/bin/python ../tests/installed.py --plain

docs: $(STAMP)-docs ## the documentation, asv's pages of earlier commits in it, into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean: ## remove what was built and cached, but for .venv
	rm -rf build dist *.egg-info docs/_build docs/api .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -path ./$(VENV) -prune -o -path ./.matrix -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## remove .venv and .matrix, too
	rm -rf $(VENV) .matrix

# A stamp for each extra, newer than pyproject.toml and the C modules' sources where it is installed, so that a checkout
# that was brought up to date is built again.
$(STAMP)-%: pyproject.toml setup.py $(wildcard lazynp/*.c lazynp/*.h) $(STAMP)
	@echo "== installing lazynp[$*] into $(VENV)"
	$(PIP) install --editable ".[$*]" "$(NUMPY)"
	@touch $@

# torch goes first and by version: a range would replace it with the newest, or bring several GB for a GPU that is not there.
$(STAMP):
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("lazynp needs Python 3.11: make PYTHON=...")'
	@echo "== making $(VENV); what is installed takes a minute or two and up to 2 GB"
	$(PYTHON) -m venv $(VENV)
	@$(PIP) show --quiet torch 2>/dev/null || { echo "== installing $(TORCH)" && $(PIP) install "$(TORCH)"; } \
		|| { echo "== no $(TORCH) here: installing torch" && $(PIP) install torch; }
	@touch $@
