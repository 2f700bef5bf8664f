# `make demo` and `make test` do everything on a fresh machine; see
# CONTRIBUTING.md. scripts/bootstrap installs what is missing.
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
DESTDIR ?=
CTEST_ARGS ?=
BENCH_ARGS ?=
GPU_CHECK ?=

export CMAKE_BUILD_PARALLEL_LEVEL = $(JOBS)
CTEST = ctest -j $(JOBS) $(CTEST_ARGS)

.PHONY: build demo examples test gpu-check bench benchmarks bench-peers format \
        fuzz lint asan tsan install bootstrap bootstrap-clang clean help

build: build/release/build.ninja
	cmake --build --preset release --target plimsoll

demo: build
	scripts/demo

examples: build/release/build.ninja
	cmake --build --preset release --target plimsoll_examples

test: build/release/build.ninja
	cmake --build --preset release
	$(CTEST) --preset release --output-junit tests.xml

gpu-check: build/release/build.ninja
	cmake --build --preset release
	scripts/gpu_check.py $(GPU_CHECK)

asan: build/asan/build.ninja
	cmake --build --preset asan
	$(CTEST) --preset asan --output-junit tests.xml

tsan: build/tsan/build.ninja
	cmake --build --preset tsan
	scripts/without-aslr $(CTEST) --preset tsan --output-junit tests.xml

fuzz: bootstrap-clang
	scripts/fuzz

benchmarks: bootstrap
	cmake --preset release -D PLIMSOLL_BENCHMARKS=ON
	cmake --build --preset release --target plimsoll plimsoll_benchmarks

bench: benchmarks
	@for program in build/release/bench/bench_*; do \
	  [ -x "$$program" ] || continue; \
	  echo "$$program"; "$$program" $(BENCH_ARGS) || exit 1; \
	done

bench-peers: build
	scripts/bench-peers $(BENCH_ARGS)

format: bootstrap
	scripts/format

lint: bootstrap
	scripts/lint

install: build/release/build.ninja
	cmake --build --preset release
	DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

bootstrap:
	@scripts/bootstrap

bootstrap-clang:
	@scripts/bootstrap clang

# Ninja configures again by itself when a CMake file changes.
build/asan/build.ninja: | bootstrap-clang
	cmake --preset asan

build/%/build.ninja: | bootstrap
	cmake --preset $*

clean:
	rm -rf build

help:
	@echo "demo test gpu-check build examples bench bench-peers format fuzz lint asan tsan install clean"
