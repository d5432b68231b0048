# Two commands on a fresh machine:  make demo   (the main job on a shipped example)   make test   (the whole suite)
# The rest is CMake: presets dev, release, asan, fuzz.
BUILD ?= build/release
JOBS ?= $(shell nproc)

.PHONY: demo test build setup asan fuzz bench clean

demo: setup
	@cmake --preset release -B $(BUILD) > /dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target narrow
	@BUILD=$(BUILD) examples/shapes/demo.sh

# Tests run side by side: threads that wait must not spin.
test: build
	@cd $(BUILD) && OMP_WAIT_POLICY=passive ctest --output-on-failure -j $(JOBS)

build: setup
	@cmake --preset release -B $(BUILD) > /dev/null
	@cmake --build $(BUILD) -j $(JOBS)

# Installs what is missing (Debian 12 packages; needs root or sudo only when something is).
setup:
	@tools/setup.sh

# Every test under the address and undefined sanitizers.
asan: setup
	@cmake --preset asan > /dev/null && cmake --build build/asan -j $(JOBS) && cd build/asan && OMP_WAIT_POLICY=passive ctest --output-on-failure -j $(JOBS)

# Builds the fuzzers (clang); tests/fuzz/CMakeLists.txt says how to run one.
fuzz:
	@tools/setup.sh --fuzz
	@cmake --preset fuzz > /dev/null && cmake --build build/fuzz -j $(JOBS)

bench: setup
	@cmake --preset release -B $(BUILD) -DNARROW_BENCH=ON > /dev/null && cmake --build $(BUILD) -j $(JOBS)

clean:
	rm -rf build out
