# Holdfast. `make run` serves the pocket model, `make test` runs every test;
# both do all set-up first. `make help` lists the rest.

ENGINE ?= prebuilt
ARGS ?=
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
export LLAMA_DIR

.DEFAULT_GOAL := help
.PHONY: help run test agents peer-test soak build install package package-test docs bench bench-gpu format lint asan tsan clean

help:
	@echo "make run [ARGS='--port 9000']   build, then serve the pocket model on 127.0.0.1:8080"
	@echo "make test                       build, then run every test"
	@echo "make agents                     seven real coding agents with the pocket model, in 20 minutes (AGENTS=claude,codex: these; AGENT_SLOW=600: a prompt of 10 minutes)"
	@echo "make peer-test                  llama-server's own tests against Holdfast, in 5 minutes (PEER='-k rerank': some of them)"
	@echo "make soak HOURS=6 [SEED=1]      a server under mixed load, kills, a full disk and damaged files; does it grow?"
	@echo "make build                      leaves build/holdfast"
	@echo "make install [PREFIX=/usr/local] [DESTDIR=]   the program, its engine, man pages, completions"
	@echo "make package                    a .deb and a .tar.gz in dist/"
	@echo "make package-test               installs, runs, upgrades and removes them in a fresh Debian (as root, with debootstrap)"
	@echo "make docs                       the documents as a site with search, in build/site"
	@echo "make bench                      compare with llama-server on this machine (QUICK=1: in 10 minutes)"
	@echo "make bench-gpu MODELS='A.gguf B.gguf'  the same on a card; without MODELS: random ones of 0.8B and 9B"
	@echo "make format                     rewrite the sources with clang-format"
	@echo "make lint                       clang-format, clang-tidy and thread-safety analysis, as a check"
	@echo "make asan | make tsan           the tests under sanitizers"
	@echo "make clean                      remove build/ (the engine stays cached)"
	@echo
	@echo "ENGINE=prebuilt|source|cuda|vulkan   where llama.cpp comes from (now: $(ENGINE))"
	@echo "LLAMA_DIR=DIR GGML_CUDA=ON ...       build your own checkout with these flags"

# $(call configure,PRESET) leaves a configured build folder of that preset.
define configure
	@scripts/build.sh "$(ENGINE)" "$(1)" "$(2)" "$(JOBS)"
endef

build:
	@scripts/setup.sh build
	$(call configure,release,holdfast)

run: build
	@build/holdfast serve $(ARGS)

test:
	@scripts/setup.sh build test
	$(call configure,release,all)
	@scripts/test.sh build

agents:
	@scripts/setup.sh build test
	$(call configure,release,all)
	@scripts/agents.sh build

peer-test: build
	@scripts/setup.sh peer
	@scripts/peer_test.sh build/holdfast $(PEER)

soak:
	@scripts/setup.sh build test
	$(call configure,release,holdfast)
	@scripts/soak.sh build $(or $(HOURS),6) $(or $(SEED),1)

install:
	@scripts/setup.sh build
	$(call configure,package,holdfast)
	@DESTDIR="$(DESTDIR)" cmake --install build/package --prefix "$(PREFIX)"

package:
	@scripts/setup.sh build package
	@scripts/package.sh "$(ENGINE)" "$(JOBS)"

package-test: package
	@scripts/setup.sh package package-test
	@tests/package/run.sh
	@tests/package/service.sh
	@tests/package/container.sh

docs:
	@scripts/setup.sh docs
	@scripts/docs.sh

bench:
	@scripts/setup.sh build test
	@scripts/bench.sh

asan tsan:
	@scripts/setup.sh build test
	$(call configure,$@,all)
	@scripts/test.sh build/$@

bench-gpu:
	@scripts/setup.sh build
	@scripts/bench_gpu.sh $(MODELS)

format:
	@scripts/setup.sh lint
	@git ls-files '*.cc' '*.h' | xargs clang-format -i

lint:
	@scripts/setup.sh build test lint
	@git ls-files '*.cc' '*.h' | xargs clang-format --dry-run --Werror
	@scripts/lint.sh "$(ENGINE)" "$(JOBS)"

clean:
	@rm -rf build
