# make demo    train LeNet-5 on handwritten digits in both modes, and write report.html (DEVICE=GPU: on a GPU)
# make demo-parallel    LeNet-5 and a small GPT on 2 and on 4 ranks: the plan, the bytes, the time of a step (needs MPI)
# make test    style, types and the tests, but for those marked slow
# make test-all    all tests, the slow ones too, on every Python from 3.10 to 3.13 that is found
# make lint    style and types alone
# make bench   every row of docs/performance.md, side by side with jax, PyTorch and MindSpore: bench/results/bench.md
#              (ROWS="text" chooses)
# make bench-data  data pipelines beside PyTorch's DataLoader and MindSpore's engine
# make bench-parallel  two ranks beside PyTorch's: MLP, ResNet-18, transformer; eager operators on sharded tensors (needs MPI)
# make cliffs  where mindlite is far behind jax and PyTorch: SAMPLE (100) rows of operators and pieces of networks, drawn by SEED
# make cold    what the first step of a network costs, stage by stage, beside jax (ROWS="text" chooses)
# make test-gpu     on a machine with an NVIDIA GPU: tests/gpu
# make bench-gpu    there: bench/gpu.py
# make fuzz    N random programs (10000) from SEED (0), in all modes; FIRST goes on where the last line of a run says;
#              WITHOUT=nothing lets them use every construct
# make fuzz-transforms N=5000 SEED=0    random programs under random compositions of grad, jvp, vmap, jit and their kin
# make fuzz-arrays N=1000 SEED=0        random functions of arrays: sizes, dtypes, selections of computed values
# make fuzz-open N=1000 SEED=0          random functions of arrays of open sizes, at sizes not seen before
# make docs   the pages of docs/ and a reference of every public name, with a search: build/docs/site
# make clean   remove what these made: the environment, the kernel cache, the report
#
# Each does its own set-up: it looks for a Python from 3.10 to 3.13 (PYTHON=... to choose one), makes .venv and installs
# mindlite there, editable. Done once; again only when setup.cfg changes.

SHELL := /bin/bash
READY := .venv/.ready
BIN   := .venv/bin
export MINDLITE_CACHE_DIR := $(CURDIR)/.cache/kernels

CHECK := import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))
PYTHON ?= $(shell for p in python3.12 python3.13 python3.11 python3.10 python3 python; do \
                      if $$p -c '$(CHECK)' >/dev/null 2>&1; then echo $$p; break; fi; done)

.PHONY: demo demo-parallel test test-all lint docs bench bench-data bench-parallel cliffs cold peers fuzz fuzz-transforms fuzz-arrays fuzz-open setup clean test-gpu bench-gpu
.DEFAULT_GOAL := demo

setup: $(READY)

$(READY): setup.cfg pyproject.toml
	@if [ -z "$(PYTHON)" ]; then \
	    echo "No Python from 3.10 to 3.13 with venv was found. Install one (Debian: apt install python3 python3-venv)"; \
	    echo "or name it: make PYTHON=/path/to/python3"; exit 1; fi
	@echo "Setting up .venv with $$($(PYTHON) --version): once, one to three minutes."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,demo]'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[onednn]' \
	    || echo "oneDNN has no package for this machine: convolutions will run as matrix products, which is slower."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[mpi]' \
	    || echo "MPI has no package for this machine: tests of ranks as processes are skipped."
	@touch $@

demo: $(READY)
	@$(BIN)/python examples/lenet_digits.py --report report.html $(if $(DEVICE),--device $(DEVICE))

demo-parallel: $(READY)
	@for ranks in 2 4; do timeout 600 $(BIN)/python -m mindlite run -n $$ranks examples/many_ranks.py || exit 1; done

lint: $(READY)
	@echo "Style (flake8) and types (mypy)."
	@status=0; $(BIN)/python -m flake8 mindlite tests examples bench docs || status=1; $(BIN)/python -m mypy || status=1; exit $$status

# Two processes; compiled kernels are kept in .cache between runs. ARGS="-k softmax" chooses tests; ARGS="-m slow" the slow ones.
test: $(READY)
	@status=0; $(MAKE) --no-print-directory lint || status=1; \
	echo "Tests, in two processes."; \
	$(BIN)/python -m pytest -n 2 -m "not slow" $(ARGS) || status=1; \
	exit $$status

# Each Python has an environment of its own below .venvs.
test-all:
	@status=0; for p in python3.10 python3.11 python3.12 python3.13; do \
	    $$p -c '$(CHECK)' >/dev/null 2>&1 || { echo "$$p: not found"; continue; }; \
	    v=.venvs/$$p; echo "All tests on $$($$p --version), in $$v."; \
	    if [ setup.cfg -nt $$v/.ready ]; then \
	        $$p -m venv $$v && $$v/bin/python -m pip install --quiet --disable-pip-version-check -e '.[test,demo]' || { status=1; continue; }; \
	        $$v/bin/python -m pip install --quiet --disable-pip-version-check -e '.[onednn]' || echo "oneDNN has no package here."; \
	        $$v/bin/python -m pip install --quiet --disable-pip-version-check -e '.[mpi]' || echo "MPI has no package here."; \
	        touch $$v/.ready; fi; \
	    $$v/bin/python -m flake8 mindlite tests examples bench docs || status=1; $$v/bin/python -m mypy || status=1; \
	    $$v/bin/python -m pytest -n 2 $(ARGS) || status=1; \
	done; exit $$status

# Peers live in environments of their own, outside of this folder.
PEERS ?= $(HOME)/.cache/mindlite/peers
peers: $(READY)
	@for peer in jax torch mindspore; do \
	    test -x $(PEERS)/$$peer/bin/python && continue; echo "Setting up $$peer in $(PEERS)/$$peer: once."; \
	    index=; test $$peer = torch && index="--index-url https://download.pytorch.org/whl/cpu"; \
	    { $(PYTHON) -m venv $(PEERS)/$$peer && $(PEERS)/$$peer/bin/python -m pip install --quiet numpy pillow && \
	      $(PEERS)/$$peer/bin/python -m pip install --quiet $$peer $$index; } || { rm -rf $(PEERS)/$$peer; \
	      echo "$$peer is not to be had: the table does without it."; }; done

bench: peers
	@$(BIN)/python bench/run.py --peers $(PEERS) $(if $(ROWS),--rows $(ROWS))

bench-data: peers
	@$(BIN)/python bench/data.py --peers $(PEERS) $(if $(ROWS),--rows $(ROWS))

bench-parallel: peers
	@$(BIN)/python bench/parallel.py --peers $(PEERS) $(if $(ROWS),--rows $(ROWS))

cliffs: peers
	@$(BIN)/python bench/cliffs.py --peers $(PEERS) --sample $(or $(SAMPLE),100) --seed $(or $(SEED),0) $(if $(ROWS),--rows $(ROWS))

cold: peers
	@$(BIN)/python bench/cold.py --peers $(PEERS) $(if $(ROWS),--rows $(ROWS))

# A difference is printed as a file that runs.
fuzz: $(READY)
	@$(BIN)/python tests/fuzz/random_programs.py $(or $(N),10000) $(or $(SEED),0) $(or $(FIRST),0) $(WITHOUT)

fuzz-transforms: $(READY)
	@$(BIN)/python tests/functional/random_transforms.py --count $(or $(N),1000) --seed $(or $(SEED),0) --first $(or $(FIRST),0)

fuzz-arrays: $(READY)
	@$(BIN)/python tests/fuzz/random_arrays.py --count $(or $(N),1000) --seed $(or $(SEED),0) --first $(or $(FIRST),0)

fuzz-open: $(READY)
	@PYTHONPATH=.:tests/ops $(BIN)/python tests/fuzz/open_arrays.py --count $(or $(N),1000) --seed $(or $(SEED),0) --first $(or $(FIRST),0)

test-gpu: $(READY)
	@$(BIN)/python -m mindlite doctor
	@$(BIN)/python -m pytest -rs tests/gpu $(ARGS)

bench-gpu: $(READY)
	@mkdir -p build && $(BIN)/python bench/gpu.py --json build/gpu.json $(ARGS)

docs: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@$(BIN)/python docs/site.py build/docs
	@$(BIN)/python -m mkdocs build --quiet -f build/docs/mkdocs.yml
	@echo "build/docs/site is written. To read and search it: python3 -m http.server -d build/docs/site"

clean:
	rm -rf .venv .venvs .cache build dist mindlite.egg-info .pytest_cache .mypy_cache report.html
