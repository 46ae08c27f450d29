# Two commands: `make repro` runs everything, `make test` tests it. Both set up .venv first.
PYTHON ?= python3
VENV := .venv
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
# Small matrices: one thread is faster than two, and gives the same bytes everywhere.
export OMP_NUM_THREADS ?= 1
# Hundreds of processes load the same modules: these are compiled once, whatever is set elsewhere.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: repro mend test test-quick test-library test-portable lint types imports docs map readme durations pictures evidence-gpt2 faults mutations benchmark requirements clean

repro: $(VENV)/ready
	@git rev-parse --git-dir > /dev/null 2>&1 || { dvc config --local core.no_scm true && \
	  echo 'No git repository here: DVC works without one; what compares commits (dvc exp, evidence) needs it'; }
	python -m pipelines.reproduce
	@sed -n 's/^\*\*\(.* cases\)\*\*$$/\1/p' reports/claims.md
	@echo 'Now open reports/index.html'

# What killed runs left of DVC's records, if a plain `dvc repro` ends with "RWLock-file" or "busy".
mend: $(VENV)/ready
	python -m pipelines.reproduce --mend

# The tests of a file run in one process, so that what they share is made once.
PYTEST := pytest -n 2 --dist loadfile --no-loadscope-reorder
test: $(VENV)/ready
	$(PYTEST)

# The tests of the rooms that differ from the last commit, or from another one: BASE=main.
BASE := HEAD
test-quick: $(VENV)/ready
	$(PYTEST) -m "not pipeline and not browser" $$(python -m tests.changed $(BASE))

# The library's own tests, which need nothing of the papers.
test-library: $(VENV)/ready
	$(PYTEST) tests/library

# The numerical tests on another processor, as it were: older instructions, which round otherwise.
NUMERICAL := $(addprefix library/,closed_form curvature models pac_bayes) \
  $(addprefix library/test_,$(addsuffix .py,agreement matrix_products seeding spectrum statistics)) \
  $(addprefix papers/,data models networks studies training test_results.py)
test-portable: $(VENV)/ready
	MKL_CBWR=COMPATIBLE ATEN_CPU_CAPABILITY=default OPENBLAS_CORETYPE=Nehalem SIGNATURES=unchecked \
	  $(PYTEST) $(NUMERICAL:%=tests/%)

lint: $(VENV)/ready
	ruff check .
	ruff format --check .

types: $(VENV)/ready
	mypy

imports: $(VENV)/ready
	lint-imports

# The documentation, from docstrings, guides and the scripts of the gallery: docs/_build/html/index.html. Any warning is an error.
docs: $(VENV)/ready
	python -m sphinx -W --keep-going -E -q -b html -d docs/_build/doctrees docs docs/_build/html
	@echo 'Now open docs/_build/html/index.html'

map: $(VENV)/ready
	python -m tests.map

# The papers, findings and totals in README.md, of the ledger as it is.
readme: $(VENV)/ready
	python -m tests.readme

# How long each figure took, for the report page: of the last `make repro` here, best from nothing.
durations: $(VENV)/ready
	python -m pipelines.durations

# The figures that README.md and the guides show, of recorded runs, as the code of today draws them; and
# what `inspect` draws of a network of one's own.
PICTURES := cracking-fig4 data-fig1c
pictures: $(VENV)/ready
	dvc repro paper
	mkdir -p reports/pictures
	for study in $(PICTURES); do cp reports/figures/*/$$study/recorded.png reports/pictures/$$study.png; done
	hessian-spectra inspect docs.mine:factory --out build/inspection
	cp build/inspection/inspection.png reports/pictures/

# Recorded runs of the language models; what was interrupted goes on where it stood, on another machine,
# too, that has the folder results/shards:
# make evidence-gpt2 SETTINGS="data.root=data launcher.gpus=1"
GPT2 := cracking-fig5 cracking-fig6 cracking-fig23 cracking-fig24 cracking-fig25 gauss-newton-parts gauss-newton-arms
SCALE := paper
evidence-gpt2: $(VENV)/ready
	for study in $(GPT2); do python -m pipelines.evidence only=$$study scale=$(SCALE) $(SETTINGS) || exit 1; done

# Runs that are killed, interrupted, doubled and starved, at random moments: half an hour.
faults: $(VENV)/ready
	python -m tests.pipelines.faults

benchmark: $(VENV)/ready
	python -m benchmarks.correctness
	python -m benchmarks.curvature
	python -m benchmarks.ensemble_training
	python -m benchmarks.ensemble_curvature
	python -m benchmarks.full_batch_training
	python -m benchmarks.posterior

# Mistakes planted in copies of the library, and those that the tests next to them do not see:
# make mutations ROOMS="closed_form studies/scalar" NUMBER=50
ROOMS := closed_form statistics ledger pac_bayes studies report tracking pipelines
NUMBER := 200
mutations: $(VENV)/ready
	python -m benchmarks.mutations --rooms $(ROOMS) --number $(NUMBER)

# The environment: exactly the pinned packages, each with its hash.
$(VENV)/ready: requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0] + ": make PYTHON=<path>")'
	$(PYTHON) -m venv $(VENV)
	# uv, itself one of the pinned packages, installs the others several times faster than pip.
	sed -n '/^uv==/,/[^\\]$$/p' requirements.txt > $(VENV)/uv.txt
	python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.txt
	# What a source archive is built with is one of them, too, and is held to its hash.
	uv pip install --quiet --compile-bytecode --python $(VENV)/bin/python --require-hashes -r requirements.txt \
	  --preview-features build-dependency-hashes --require-build-hashes --build-constraints requirements.txt
	uv pip install --quiet --python $(VENV)/bin/python --no-deps --no-build-isolation -e .
	# The commands of the papers' pipeline, which the library's package does not have.
	ln -sf ../../bin/hessian-papers $(VENV)/bin/hessian-papers
	touch $@

# After a change of the dependencies in pyproject.toml: pin them anew.
requirements: $(VENV)/ready
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header --extra develop pyproject.toml --output-file requirements.txt

clean:
	rm -rf $(VENV) results build docs/_build docs/reference docs/gallery/*.md docs/gallery/*.svg docs/gallery/*.inc
