# Shardwright. `make demo` and `make check` do everything on a fresh Debian machine; `make help` lists the rest.
#
#   CC, CFLAGS, LDFLAGS are honoured; V=1 shows commands; objects only under build/.

CC ?= gcc
BUILD ?= build
OPENMP ?= 1
PREFIX ?= /usr/local
VERSION := 0.1.0

WARN := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wconversion -Wno-sign-conversion
OPT ?= -O2 -g
ALL_CFLAGS := -std=gnu11 $(WARN) $(OPT) -fno-fast-math -ffp-contract=off -I. -DSHARDWRIGHT_VERSION='"$(VERSION)"' $(CFLAGS)
LIBS := -lcjson -lzstd -lz -lcrypto -lm -lpthread
ifeq ($(OPENMP),1)
ALL_CFLAGS += -fopenmp
LIBS += -fopenmp
endif
Q := $(if $(V),,@)
COMMA := ,
JOBS ?= $(shell nproc)

FOLDERS := base ir layout propagate sbp lower costmodel simulator hlo search
LIB_SRC := $(sort $(foreach f,$(FOLDERS),$(wildcard $(f)/*.c $(f)/*/*.c)))
CLI_SRC := $(sort $(wildcard batch/*.c) $(wildcard clients/cli/*.c))
SERVER_SRC := $(sort $(wildcard server/*.c))
UNIT_SRC := $(sort $(wildcard tests/unit/check_*.c))
SERVER_LIB_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out server/main.c,$(SERVER_SRC)))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/obj/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/obj/%.o)
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/unit/%)
PROGRAMS := $(BUILD)/shardwright $(BUILD)/shardwrightd $(BUILD)/libshardwright.a

.PHONY: all help deps deps-test demo check check-unit check-library check-includes check-warnings compile_commands.json check-contracts check-oracle check-load check-fuzz \
        check-sanitizers check-valgrind asan tsan fuzz parity measured exact fidelity judged judged-simulate calibrate-gpu zoo notations torch format lint bench bench-search bench-methods bench-cold bench-warm bench-priors bench-simpler bench-seeds bench-batch corpus install man wheel lint-python web check-web clean venv check-slurm soak bench-hits check-malformed check-in-turn check-systemd check-other-python
all: $(PROGRAMS)

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make                 build shardwright, shardwrightd and libshardwright.a into build/
## make demo            install what is missing, build, and show the whole thing on a real training step
## make check           install what the tests need and run all of them
## make check-unit      unit tests only (one program per source file), and check-library
## make check-library   names that the library exports, and programs that embed it (STRIDE=1: memory runs out at every allocation)
## make asan tsan       the sanitizer builds and their runs
## make fuzz            libFuzzer on the readers, the JSON gate and the passes (FUZZ_SECONDS=60)
## make parity N=1000   random programs, and others of every construct, through every pass, against jaxlib's Shardy
## make exact CASES=10000  random programs and training steps under random and searched plans, run on 8 host devices (STEPS=200, resumable)
## make measured        the cost model against published measurements (docs/measured.md)
## make bench           the table of speeds
## make bench-search    searches against expert strategies (BENCH=--quick, BENCH="--program moe --mesh 4x4", see docs/search-quality.md)
## make bench-cold      from a cold start to a good answer, and to the end of the command (docs/search-quality.md)
## make bench-warm      what beginning with another program's plan is worth (docs/search-experiments.md)
## make bench-priors    what the tree's priors from other programs' plans are worth (docs/search-experiments.md)
## make bench-simpler   what the simplest of plans that cost as much takes longer than the cheapest (docs/search-experiments.md)
## make bench-batch     seeds of hard searches over 1, 2, 4 and 8 tasks: cost reached and searches an hour (docs/batch.md)
## make bench-seeds     how far apart the answers of ten seeds are (docs/search-quality.md)
## make bench-methods   the search against other ways to search, and without each of its parts (docs/search-experiments.md)
## make fidelity        collectives, memory and time beside what XLA compiled (FIDELITY=--unmatched, docs/fidelity.md)
## make judged          costs of hand-written plans that are applied exactly beside XLA's schedules (docs/judged.md)
## make calibrate-gpu  a profile fitted to the GPU that is here, and whole programs timed beside it and the built-in one (docs/measured.md)
##                     (GPU_PYTHON=.. with jax[cuda12], OUT=DIR, CALIBRATE="--largest 256MiB", STEPS_OF="--programs 'mlp*' --minutes 6")
## make judged-simulate `simulate` of compiled programs beside a walk of XLA's schedules (KEPT=DIR of further texts)
## make soak            a daemon under mixed load, kills and faults (SOAK_SECONDS=3600); fails when anything acknowledged is lost
## make check-in-turn   each call of SQLite, and an allocation of each stack, of a daemon fails in turn (STRIDE=1, IN_TURN="--seconds N": goes on where it ended)
## make check-systemd   the units under a systemd of their own, in namespaces (root; Debian: systemd)
## make check-malformed REQUESTS=1000000  as many malformed requests against a daemon under ASan and UBSan (20 minutes)
## make bench-hits      answers of the store a second, beside nginx with a file; needs wrk
## make check-slurm     batch --slurm on a real Slurm with virtual nodes on this machine, as root; installs Debian's packages (5 minutes)
## make notations       shardings evaluated by PyTorch and MindSpore themselves (CASES=2000; installs 4 GB)
## make torch           a torch module planned, and trained so with DTensor in two processes (installs 4 GB)
## make zoo             programs of JAX packages, planned and compiled by XLA (docs/zoo.md; resumable, an hour)
## make corpus          mint tests/corpus again from the models
## make install         programs, library, header, man pages and completions; PREFIX=/usr/local
## make man             man pages into build/man
## make wheel           the Python package with the built tool inside, into build/wheel
## make web             the daemon's page, built from web/src into web/built; needs node and npm
## make check-web       lint, types and a browser's way through the page (Debian's chromium)
## make format          lay out the C sources as .clang-format says
## make lint            compares the layout; any warning of gcc, clang or clang-tidy (.clang-tidy) is an error
## make compile_commands.json  into build/, for editors and clang-tidy
## make lint-python     ruff and mypy on the Python package
## make check-other-python  the Python package's tests with another Python (PYTHON=python3.13), in an environment of its own

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(if $(V),,@echo "  CC    $<")
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# Files that .incbin takes into an object.
$(BUILD)/obj/server/embed.o: server/schema.sql server/schema_2.sql server/schema_3.sql server/schema_4.sql server/schema_5.sql server/schema_6.sql server/schema_7.sql server/schema_8.sql server/schema_9.sql docs/openapi.json web/built/index.html web/built/worker.js
$(BUILD)/obj/costmodel/profiles.o: $(wildcard costmodel/devices/*.json)

# All that the folders have, for the programs and tests of this tree.
$(BUILD)/libinternal.a: $(LIB_OBJ)
	$(if $(V),,@echo "  AR    $@")
	$(Q)rm -f $@ && ar rcs $@ $^

# What is installed: one object that defines the functions of include/shardwright.h and no other name, without OpenMP, and with an
# allocator of its own (library/library.h).
LIBRARY_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard library/*.c)) $(BUILD)/obj/library/parallel.o
$(BUILD)/obj/library/parallel.o: base/parallel.c
	@mkdir -p $(@D)
	$(if $(V),,@echo "  CC    $< without OpenMP")
	$(Q)$(CC) $(ALL_CFLAGS) -fno-openmp -MMD -MP -c -o $@ $<
$(BUILD)/libshardwright.a: tools/link-library $(LIBRARY_OBJ) $(BUILD)/libinternal.a
	$(if $(V),,@echo "  LINK  $@")
	$(Q)tools/link-library $@ $(addprefix $(BUILD)/obj/library/,api.o heap.o json.o parallel.o) $(BUILD)/libinternal.a

# What the tool takes of it, the store and the supervisor, needs no HTTP: its link fails where that changes.
$(BUILD)/libserver.a: $(SERVER_LIB_OBJ)
	$(if $(V),,@echo "  AR    $@")
	$(Q)rm -f $@ && ar rcs $@ $^

$(BUILD)/shardwright: $(CLI_OBJ) $(BUILD)/libserver.a $(BUILD)/libinternal.a
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(CLI_OBJ) $(BUILD)/libserver.a $(BUILD)/libinternal.a $(LIBS) -lcurl -lsqlite3

$(BUILD)/shardwrightd: $(BUILD)/obj/server/main.o $(SERVER_LIB_OBJ) $(BUILD)/libinternal.a
	$(if $(V),,@echo "  LINK  $@")
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(BUILD)/libinternal.a $(LIBS) -lmicrohttpd -lgnutls -lsqlite3

$(BUILD)/unit/%: tests/unit/%.c $(SERVER_LIB_OBJ) $(BUILD)/libinternal.a
	@mkdir -p $(@D)
	$(if $(V),,@echo "  TEST  $@")
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(SERVER_LIB_OBJ) $(BUILD)/libinternal.a $(LIBS) -lmicrohttpd -lgnutls -lsqlite3 -lcheck -lsubunit -lrt -lm -lpthread

# ---------------------------------------------------------------- fresh machines
DEB_BUILD := gcc make pkg-config libmicrohttpd-dev libgnutls28-dev libcjson-dev libsqlite3-dev libzstd-dev zlib1g-dev libssl-dev libcurl4-openssl-dev
DEB_DEMO := curl zstd sqlite3
DEB_TEST := nginx-light openssl check libsubunit-dev valgrind clang libclang-rt-14-dev python3-venv zstd sqlite3 curl librsvg2-bin fonts-dejavu-core

deps:
	@tools/install-debian $(DEB_BUILD)
deps-test: deps
	@tools/install-debian $(DEB_TEST)

# jaxlib is the oracle of the tests; nothing that is installed needs it.
VENV := $(BUILD)/venv
venv: $(VENV)/.done
$(VENV)/.done: tests/requirements.txt
	@mkdir -p $(BUILD)
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install -q --disable-pip-version-check -r tests/requirements.txt
	@touch $@

demo:
	@tools/install-debian $(DEB_BUILD) $(DEB_DEMO)
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@tools/demo

# Only for this: the packages would bring other versions of what the tests are pinned to.
ZOO := $(BUILD)/zoo-venv
$(ZOO)/.done: tests/zoo/requirements.txt tests/zoo/requirements_alone.txt
	@mkdir -p $(BUILD)
	python3 -m venv $(ZOO)
	$(ZOO)/bin/pip install -q --disable-pip-version-check -r tests/zoo/requirements.txt
	$(ZOO)/bin/pip install -q --disable-pip-version-check --no-deps -r tests/zoo/requirements_alone.txt
	@touch $@
zoo: $(BUILD)/shardwright $(ZOO)/.done
	@python3 tests/zoo/zoo.py

# The same for PyTorch and MindSpore; tests/golden/layout_frameworks.h is what they said of some cases.
NOTATIONS := $(BUILD)/notations-venv
CASES ?= 2000
$(NOTATIONS)/.done: tests/notations/requirements.txt
	@mkdir -p $(BUILD)
	python3 -m venv $(NOTATIONS)
	$(NOTATIONS)/bin/pip install -q --disable-pip-version-check -r tests/notations/requirements.txt
	@touch $@
notations: $(BUILD)/shardwright $(NOTATIONS)/.done
	@SHARDWRIGHT=$(BUILD)/shardwright $(NOTATIONS)/bin/python tests/notations/notations.py --cases $(CASES)

# And for torchax, which is behind PyTorch's newest.
TORCH := $(BUILD)/torch-venv
$(TORCH)/.done: examples/torch_requirements.txt
	@mkdir -p $(BUILD)
	python3 -m venv $(TORCH)
	$(TORCH)/bin/pip install -q --disable-pip-version-check -r examples/torch_requirements.txt
	@touch $@
torch: $(BUILD)/shardwright $(TORCH)/.done
	@SHARDWRIGHT=$(BUILD)/shardwright $(TORCH)/bin/python examples/torch_dtensor.py

# ---------------------------------------------------------------- tests
check:
	@$(MAKE) --no-print-directory deps-test
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@tools/check

# Its daemons run in a temporary folder, with a configuration of their own.
check-slurm: all venv
	@tools/install-debian slurmctld slurmd slurm-client munge
	SHARDWRIGHT=$(abspath $(BUILD))/shardwright $(VENV)/bin/python -m pytest -q -p no:cacheprovider tests/slurm

check-unit: $(UNIT_BIN) check-library
	@tools/run-unit $(UNIT_BIN)

# Programs that know nothing of this tree but the header and the library.
HOST_BIN := $(patsubst tests/host/%.c,$(BUILD)/host/%,$(wildcard tests/host/*.c))
HOST_WRAP := $(if $(findstring fsanitize,$(OPT)),$(addprefix -Wl$(COMMA)--wrap=,malloc calloc realloc free))
HOST_LIBS := -lcjson -lzstd -lz -lcrypto -lm -lpthread
$(BUILD)/host/%: tests/host/%.c include/shardwright.h $(BUILD)/libshardwright.a
	@mkdir -p $(@D)
	$(if $(V),,@echo "  TEST  $@")
	$(Q)$(CC) -std=c11 $(WARN) $(OPT) $(CFLAGS) -Iinclude $(LDFLAGS) $(if $(findstring memory,$@),$(HOST_WRAP)) -o $@ $< $(BUILD)/libshardwright.a $(HOST_LIBS)
$(BUILD)/unit/check_api: tests/unit/check_api.c $(BUILD)/libshardwright.a
	@mkdir -p $(@D)
	$(if $(V),,@echo "  TEST  $@")
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(BUILD)/libshardwright.a $(HOST_LIBS) -lcheck -lsubunit -lrt -lm -lpthread
check-library: $(HOST_BIN)
	@tools/check-exports $(BUILD)/libshardwright.a include/shardwright.h
	@for program in $(HOST_BIN); do $$program || exit 1; done

check-includes:
	@tools/check-includes

# The fuzz targets as plain programs over their committed corpus, with sanitizers.
ASAN_MAKE := $(MAKE) --no-print-directory -j$(JOBS) BUILD=$(BUILD)/asan OPT="-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"
FUZZ_CORPUS := $(wildcard tests/fuzz/corpus/*)
JSON_CORPUS := $(wildcard tests/fuzz/corpus-json/*)
HLO_CORPUS := $(wildcard tests/fuzz/corpus-hlo/*)
PASSES_CORPUS := $(wildcard tests/fuzz/corpus-passes/*)
JOBS_CORPUS := $(wildcard tests/fuzz/corpus-jobs/*)
$(BUILD)/fuzz/%: tests/fuzz/fuzz_%.c $(BUILD)/libinternal.a
	@mkdir -p $(@D)
	$(if $(V),,@echo "  FUZZ  $@")
	$(Q)$(CC) $(ALL_CFLAGS) -DREPLAY -o $@ $< $(BUILD)/libinternal.a $(LIBS)
BATCH_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard batch/*.c)))
$(BUILD)/fuzz/jobs: tests/fuzz/fuzz_jobs.c $(BATCH_OBJ) $(BUILD)/libserver.a $(BUILD)/libinternal.a
	@mkdir -p $(@D)
	$(if $(V),,@echo "  FUZZ  $@")
	$(Q)$(CC) $(ALL_CFLAGS) -DREPLAY -o $@ $^ $(LIBS) -lsqlite3
check-fuzz:
	@$(ASAN_MAKE) $(BUILD)/asan/fuzz/module $(BUILD)/asan/fuzz/json $(BUILD)/asan/fuzz/hlo $(BUILD)/asan/fuzz/passes $(BUILD)/asan/fuzz/jobs
	@ASAN_OPTIONS=detect_leaks=1 $(BUILD)/asan/fuzz/module $(FUZZ_CORPUS)
	@ASAN_OPTIONS=detect_leaks=1 $(BUILD)/asan/fuzz/json $(JSON_CORPUS)
	@ASAN_OPTIONS=detect_leaks=1 $(BUILD)/asan/fuzz/hlo $(HLO_CORPUS)
	@ASAN_OPTIONS=detect_leaks=1 $(BUILD)/asan/fuzz/passes $(PASSES_CORPUS)
	@ASAN_OPTIONS=detect_leaks=1 $(BUILD)/asan/fuzz/jobs $(JOBS_CORPUS)

asan:
	@$(ASAN_MAKE) check-unit $(BUILD)/asan/shardwright
	@for program in mlp_tiny transformer_2_tiny; do \
		echo "search $$program under ASan and UBSan" && \
		$(BUILD)/asan/shardwright search tests/corpus/$$program.mlir.zst --mesh data=2,model=4 --evaluations 200 --threads 2 --json >/dev/null || exit 1; \
	done; echo "sanitizers: 2 passed, 0 failed"

# OpenMP runtimes hide their barriers from TSan: this build takes base/parallel.c's plain threads.
tsan:
	@$(MAKE) --no-print-directory -j$(JOBS) BUILD=$(BUILD)/tsan CC=clang OPENMP=0 OPT="-O1 -g -fsanitize=thread" $(BUILD)/tsan/shardwright
	@for program in mlp_tiny transformer_2_tiny; do \
		echo "search $$program under TSan" && \
		TSAN_OPTIONS="halt_on_error=1 exitcode=66" \
		$(BUILD)/tsan/shardwright search tests/corpus/$$program.mlir.zst --mesh data=2,model=4 --evaluations 200 --threads 2 --json >/dev/null || exit 1; \
	done; echo "thread sanitizer: 2 passed, 0 failed"

check-valgrind: $(BUILD)/shardwright
	@valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
		$(BUILD)/shardwright search tests/corpus/mlp_tiny.mlir.zst --mesh data=2,model=2 --evaluations 40 --threads 1 --json >/dev/null && \
		echo "valgrind: 1 passed, 0 failed"

FUZZ_SECONDS ?= 60
# An empty list is a null pointer with offset 0, which C23's successor defines: not what we are after.
fuzz:
	@mkdir -p $(BUILD)/fuzz-run/module $(BUILD)/fuzz-run/json $(BUILD)/fuzz-run/hlo $(BUILD)/fuzz-run/passes $(BUILD)/fuzz-run/jobs
	@for target in module json hlo passes jobs; do \
		clang $(ALL_CFLAGS) -fno-openmp -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize=pointer-overflow -fno-sanitize-recover=undefined -o $(BUILD)/fuzz-run/fuzz_$$target tests/fuzz/fuzz_$$target.c $(LIB_SRC) \
			$$( [ $$target != jobs ] || echo $(wildcard batch/*.c) $(filter-out server/main.c,$(SERVER_SRC)) -lsqlite3 -lmicrohttpd -lgnutls ) $(filter-out -fopenmp,$(LIBS)) && \
		$(BUILD)/fuzz-run/fuzz_$$target -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=4096 $(BUILD)/fuzz-run/$$target \
			tests/fuzz/corpus$$( [ $$target = module ] || echo -$$target ) || exit 1; \
	done

$(BUILD)/oracle/%: tests/oracle/%.c $(BUILD)/libinternal.a
	@mkdir -p $(@D)
	$(if $(V),,@echo "  TEST  $@")
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libinternal.a $(LIBS)

N ?= 1000
parity: $(BUILD)/oracle/pass_server venv
	@failed=0; for programs in random constructs; do \
		echo "$$programs programs"; \
		$(VENV)/bin/python tests/oracle/parity.py --programs $$programs --server $(BUILD)/oracle/pass_server --count $(N) --jobs $(JOBS) --state $(BUILD)/parity.jsonl || failed=1; \
	done; exit $$failed

STEPS ?= 200
exact: $(BUILD)/shardwright venv
	@$(VENV)/bin/python tests/oracle/exact.py --tool $(BUILD)/shardwright --count $(CASES) --steps $(STEPS) --jobs $(JOBS) --state $(BUILD)/exact.jsonl

MEASURED ?=
measured: all venv
	SHARDWRIGHT=$(BUILD)/shardwright $(VENV)/bin/python tests/measured/measured.py $(MEASURED)

$(BUILD)/bench/%: tests/bench/%.c $(BUILD)/libinternal.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $< $(BUILD)/libinternal.a $(LIBS)
bench: all venv $(BUILD)/bench/bench_core $(BUILD)/bench/bench_scale
	SHARDWRIGHT=$(BUILD)/shardwright SHARDWRIGHTD=$(BUILD)/shardwrightd $(VENV)/bin/python tests/bench/bench.py
BENCH ?=
bench-search: all
	SHARDWRIGHT=$(BUILD)/shardwright python3 tests/bench/bench_search.py $(BENCH)
bench-cold: all
	SHARDWRIGHT=$(BUILD)/shardwright python3 tests/bench/cold.py $(BENCH)
bench-warm: all
	SHARDWRIGHT=$(BUILD)/shardwright python3 tests/bench/warm.py $(BENCH)
bench-priors: all
	SHARDWRIGHT=$(BUILD)/shardwright python3 tests/bench/priors.py $(BENCH)
bench-simpler: all
	SHARDWRIGHT=$(BUILD)/shardwright python3 tests/bench/simpler.py $(BENCH)
bench-batch: all
	SHARDWRIGHT=$(BUILD)/shardwright nice python3 tests/bench/batch.py $(BENCH)
bench-seeds: all
	SHARDWRIGHT=$(BUILD)/shardwright python3 tests/bench/seeds.py $(BENCH)
bench-methods: $(BUILD)/bench/bench_search_methods
	BENCH_SEARCH_METHODS=$< python3 tests/bench/methods.py $(BENCH)

# Reads committed figures of XLA's compilers; mint.py, products.py and partitioned.py there make them.
FIDELITY ?=
fidelity: all venv
	SHARDWRIGHT=$(BUILD)/shardwright $(VENV)/bin/python tests/oracle/fidelity/report.py $(FIDELITY)
	$(if $(FIDELITY),,SHARDWRIGHT=$(BUILD)/shardwright $(VENV)/bin/python tests/oracle/fidelity/products.py)
	$(if $(FIDELITY),,SHARDWRIGHT=$(BUILD)/shardwright python3 tests/oracle/fidelity/partitioned.py)

judged: all
	SHARDWRIGHT=$(BUILD)/shardwright python3 tests/judged/report.py $(JUDGED)
	python3 tests/judged/answers.py
	python3 tests/judged/gpu.py --report

# GPU_PYTHON: an environment with jax[cuda12]; OUT: where profile, tables and figures go
GPU_PYTHON ?= python3
OUT ?= $(BUILD)/calibrated
calibrate-gpu: all
	mkdir -p $(OUT)
	SHARDWRIGHT=$(BUILD)/shardwright PYTHONPATH=clients/python $(GPU_PYTHON) -m shardwright.calibration -o $(OUT)/calibrated.json --tables $(OUT) $(CALIBRATE)
	SHARDWRIGHT=$(BUILD)/shardwright $(GPU_PYTHON) tests/measured/on_device.py --profile $(OUT)/calibrated.json --out $(OUT)/steps.json $(STEPS_OF)

judged-simulate: all $(if $(KEPT),venv)
	SHARDWRIGHT=$(BUILD)/shardwright $(if $(KEPT),$(VENV)/bin/python,python3) tests/judged/simulated.py $(if $(KEPT),--kept $(KEPT))

REQUESTS ?= 1000000
# The daemon is under sanitizers, its workers are not: they read programs, which is what "make fuzz" attacks, and each start would take ten times as long.
check-malformed: all
	@$(ASAN_MAKE) $(BUILD)/asan/shardwrightd
	ASAN_OPTIONS=quarantine_size_mb=8:thread_local_quarantine_size_kb=64 SHARDWRIGHT=$(BUILD)/shardwright SHARDWRIGHTD=$(BUILD)/asan/shardwrightd \
		python3 tests/load/malformed.py --requests $(REQUESTS) $(MALFORMED)

check-systemd: all
	@tools/install-debian systemd curl procps
	SHARDWRIGHT=$(BUILD)/shardwright SHARDWRIGHTD=$(BUILD)/shardwrightd sh tests/load/systemd/boot.sh

check-in-turn: all
	SHARDWRIGHT=$(BUILD)/shardwright SHARDWRIGHTD=$(BUILD)/shardwrightd python3 tests/load/in_turn.py --stride $(or $(STRIDE),1) --state $(BUILD)/in_turn.jsonl $(IN_TURN)
	SHARDWRIGHT=$(BUILD)/shardwright SHARDWRIGHTD=$(BUILD)/shardwrightd python3 tests/load/tools_in_turn.py --state $(BUILD)/tools_in_turn.txt

SOAK_SECONDS ?= 3600
soak: all
	-@tools/install-debian fiu-utils libfiu0
	SHARDWRIGHT=$(BUILD)/shardwright SHARDWRIGHTD=$(BUILD)/shardwrightd python3 tests/load/soak.py --seconds $(SOAK_SECONDS)
bench-hits: all
	@tools/install-debian nginx-light wrk
	SHARDWRIGHT=$(BUILD)/shardwright SHARDWRIGHTD=$(BUILD)/shardwrightd python3 tests/bench/hits.py

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/include
	install -m 755 $(BUILD)/shardwright $(BUILD)/shardwrightd $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(BUILD)/libshardwright.a $(DESTDIR)$(PREFIX)/lib
	install -m 644 include/shardwright.h $(DESTDIR)$(PREFIX)/include
	tools/make-man $(BUILD)/shardwright $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|/usr/local/bin/|$(abspath $(PREFIX))/bin/|' tools/systemd/shardwrightd.service >$(DESTDIR)$(PREFIX)/lib/systemd/system/shardwrightd.service
	install -m 644 tools/systemd/shardwrightd.socket $(DESTDIR)$(PREFIX)/lib/systemd/system
	install -D -m 644 tools/completion/shardwright.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/shardwright
	install -D -m 644 tools/completion/_shardwright $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_shardwright
	install -D -m 644 tools/completion/shardwright.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/shardwright.fish

man: $(BUILD)/shardwright
	tools/make-man $< $(BUILD)/man

# In a virtual environment of its own: the one of the tests has neither a builder nor linters.
PYTOOLS := $(BUILD)/pytools
$(PYTOOLS)/.done:
	python3 -m venv $(PYTOOLS)
	$(PYTOOLS)/bin/pip install -q --disable-pip-version-check hatchling==1.33.0 ruff==0.17.6 mypy==2.4.1
	@touch $@
wheel: $(BUILD)/shardwright $(PYTOOLS)/.done
	@mkdir -p $(BUILD)/wheel
	SHARDWRIGHT_WHEEL_TOOL=$(abspath $<) $(PYTOOLS)/bin/pip wheel -q --no-deps --no-build-isolation -w $(BUILD)/wheel clients/python
# .clang-format says how; the generated tables of tests/golden are left alone.
C_FILES = $(shell git ls-files '*.c' '*.h')
format:
	@tools/install-debian clang-format
	@clang-format -i $(C_FILES)
lint: check-warnings compile_commands.json
	@tools/install-debian clang-format clang-tidy
	@clang-format --dry-run --Werror $(C_FILES)
	@printf '%s\n' $(LIB_SRC) $(CLI_SRC) $(SERVER_SRC) $(wildcard library/*.c) | xargs -P $(JOBS) -n 1 clang-tidy --quiet -p $(BUILD)
# In $(BUILD), where clangd and clang-tidy look; without OpenMP, whose header clang has not.
compile_commands.json:
	@mkdir -p $(BUILD)
	@tools/compile-commands $(BUILD)/compile_commands.json $(CC) $(filter-out -fopenmp,$(ALL_CFLAGS))
check-warnings:
	@tools/check-warnings $(ALL_CFLAGS)
lint-python: $(PYTOOLS)/.done
	cd clients/python && $(abspath $(PYTOOLS))/bin/ruff check . && $(abspath $(PYTOOLS))/bin/mypy

# The same versions of what they need, whatever the Python.
PYTHON ?= python3
check-other-python: all
	@version=$$($(PYTHON) -c 'import platform; print(platform.python_version())') && \
	folder=$(BUILD)/python-$$version && \
	{ [ -e $$folder/.done ] || { $(PYTHON) -m venv $$folder && $$folder/bin/pip install -q --disable-pip-version-check -r tests/requirements.txt && touch $$folder/.done; }; } && \
	echo "Python $$version" && \
	SHARDWRIGHT=$(abspath $(BUILD))/shardwright SHARDWRIGHTD=$(abspath $(BUILD))/shardwrightd $$folder/bin/python -m pytest -q -p no:cacheprovider \
		$(addprefix tests/oracle/,test_package.py test_package_hosts.py test_client.py test_convert.py test_frameworks.py test_verify.py)

# web/built is committed, so that nothing but these two needs node.
web/node_modules/.done: web/package-lock.json
	cd web && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@
web: web/node_modules/.done
	cd web && npm run --silent build
DEB_WEB := chromium
check-web: all web/node_modules/.done
	@tools/install-debian $(DEB_WEB)
	cd web && npm run --silent lint && npm run --silent types && node build.mjs --check
	cd web && SHARDWRIGHT=$(abspath $(BUILD))/shardwright SHARDWRIGHTD=$(abspath $(BUILD))/shardwrightd npm test --silent

corpus: $(BUILD)/mint/.done
	$(BUILD)/mint/bin/python tests/corpus/mint.py
$(BUILD)/mint/.done: tests/corpus/requirements.txt tests/requirements.txt
	python3 -m venv $(BUILD)/mint
	$(BUILD)/mint/bin/pip install -q --disable-pip-version-check -r $<
	touch $@

clean:
	rm -rf $(BUILD)

-include $(LIB_OBJ:.o=.d) $(LIBRARY_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(SERVER_LIB_OBJ:.o=.d) $(BUILD)/obj/server/main.d $(UNIT_BIN:=.d)
