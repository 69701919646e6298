# Three commands for a new user: `make demo`, `make serve` and `make test`. All install what is missing first.
.PHONY: demo serve test build all-targets setup soak dev gpu format clean

demo: build
	build/stoker run examples/boston_housing.yaml

# The service, on this machine alone; it shows its first token once.
serve: build
	build/stoker serve

# One more at a time than there are cores: many wait for the disk.
test: all-targets
	ctest --test-dir build --output-on-failure -j $$(($$(nproc) + 1))

build: configure
	@tools/compile stoker stoker_torch

all-targets: configure
	cmake --build build

# Configuring is quick to skip: CMake itself repeats it when one of its files changes.
.PHONY: configure
configure: setup
	@[ -e build/build.ninja ] || { echo "Configuring the build"; cmake --preset release --log-level=WARNING >/dev/null; }

setup:
	@tools/setup

# Load and endurance checks that take longer than a test should.
soak: all-targets
	ctest --test-dir build --output-on-failure -C soak -L soak

# Everything once more under the address and undefined-behaviour sanitizers.
dev: setup
	cmake --preset dev
	cmake --build build-dev
	ctest --test-dir build-dev --output-on-failure -j 2

# On a machine with an NVIDIA GPU.
gpu:
	tools/gpu-check

format: setup
	tools/format

clean:
	rm -rf build build-dev build-cuda
