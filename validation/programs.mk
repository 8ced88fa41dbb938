# SPDX-License-Identifier: BSD-3-Clause
#
# Programs of the proof: tests, benchmarks of a card, fuzzers, numerics.  Part of
# ../Makefile, which has the lists of sources and the variables.

# Every unit test in one program.  What needs a device finds the pretend one.
$(BUILD)/fx8-test: $(TEST_SOURCES:%.c=$(BUILD)/%.o) $(TESTED_OBJECTS) $(EVEX_OBJECTS) \
	$(filter-out %/main.o,$(filter $(BUILD)/validation/%,$(NUMERICS_OBJECTS)))
	$(call say,LINK,$@)$(CC) $(LINK_FLAGS) $^ $(PC_LIBS) $$($(PKG_CONFIG) --libs cmocka) \
		-ldl -lm $(LDFLAGS) -o $@

# Every test of the CUDA sources on pretend devices.  Kernels are found by their
# names: -rdynamic.  Only the test of the benchmark needs its sources.
TESTED_BENCH := $(if $(filter %_bench.cu,$(HARNESS_TESTS)),$(filter-out %/main.cu,$(BENCH_GPU_SOURCES)))
$(BUILD)/fx8-test-cuda: $(HARNESS_TESTS:%.cu=$(BUILD)/%.cpu.o) $(HARNESS_OBJECTS) \
	$(addprefix $(BUILD)/,$(patsubst %.cu,%.cpu.o,$(TESTED_BENCH) $(PLUGIN_SOURCES)) \
	$(addprefix kernels/cpu/,fir_ref.o quantise_ref.o)) $(GPU_HOST)
	$(call say,LINK,$@)$(CXX) $(LINK_FLAGS) -rdynamic $^ \
		$$($(PKG_CONFIG) --libs fftw3f) -ldl -lm $(LDFLAGS) -o $@

# The same tests on a card, a program each: those of kernels need no cuFFT.
GPU_MAIN := $(BUILD)/validation/cuda/tests.cu.o
F_STAGE := $(addprefix kernels/cuda/,fir fir_int16 corner_turn gather canonical)
CORRELATORS := $(sort $(wildcard kernels/cuda/correlate*.cu)) kernels/cuda/tensor_map.cu

$(BUILD)/gpu_xengine $(BUILD)/gpu_choose: $(BUILD)/gpu_%: \
	$(BUILD)/validation/cuda/test_cuda_%.cu.o $(GPU_MAIN) $(CORRELATORS:%=$(BUILD)/%.o)
	$(call say,LINK,$@)$(NVCC) $(GENCODE) $^ -o $@

# A benchmark of the card, the engine in it: no package, on a card or, for a
# test that it runs, on the harness.
$(BUILD)/bench-gpu: $(addprefix $(BUILD)/,$(BENCH_GPU_SOURCES:=.o) \
	$(PLUGIN_SOURCES:=.o) validation/numerics/machine.o) $(GPU_HOST)
	$(call say,LINK,$@)$(NVCC) $(GENCODE) $^ -lcufft -ldl -Xlinker $(CUDA_RPATH) -o $@

# The same without cuFFT: what needs it is weak, and not there.
BENCH_KERNELS_SOURCES := $(filter-out %/engine.cu %/fft.cu,$(BENCH_GPU_SOURCES))
$(BUILD)/kernels-cuda.a: $(PLUGIN_SOURCES:%=$(BUILD)/%.o)
	$(Q)rm -f $@
	$(Q)$(AR) rcsD $@ $^

$(BUILD)/bench-kernels: $(addprefix $(BUILD)/,$(BENCH_KERNELS_SOURCES:=.o) \
	validation/numerics/machine.o kernels-cuda.a) $(GPU_HOST)
	$(call say,LINK,$@)$(NVCC) $(GENCODE) $^ -ldl -Xlinker $(CUDA_RPATH) -o $@

# Both on pretend devices, where times mean nothing: for the test of the script
# that runs them.
$(BUILD)/harness/bench-gpu: $(BENCH_GPU_SOURCES:%.cu=$(BUILD)/%.cpu.o)
$(BUILD)/harness/bench-kernels: $(BENCH_KERNELS_SOURCES:%.cu=$(BUILD)/%.cpu.o)
$(BUILD)/harness/bench-%: $(PLUGIN_SOURCES:%.cu=$(BUILD)/%.cpu.o) $(HARNESS_OBJECTS) \
	$(BUILD)/validation/numerics/machine.o $(GPU_HOST)
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CXX) $(LINK_FLAGS) -rdynamic $^ \
		$$($(PKG_CONFIG) --libs fftw3f) -ldl -lm $(LDFLAGS) -o $@

# What scenario/first_run.py and scenario/device.py run on pretend devices.
.PHONY: pretend-programs
pretend-programs: tests $(addprefix $(BUILD)/,fx8 harness/bench-gpu harness/bench-kernels)

# Tests of the harness that run on a card too, those of kernels without cuFFT.
$(BUILD)/gpu_postprocess $(BUILD)/gpu_image: $(BUILD)/gpu_%: \
	$(BUILD)/validation/cuda/test_cuda_%.cu.o $(GPU_MAIN) $(BUILD)/kernels/cuda/%.cu.o $(GPU_HOST)
	$(call say,LINK,$@)$(NVCC) $(GENCODE) $^ -o $@

$(BUILD)/gpu_fir $(BUILD)/gpu_spectra: $(BUILD)/gpu_%: \
	$(BUILD)/validation/cuda/test_cuda_%.cu.o $(GPU_MAIN) $(F_STAGE:%=$(BUILD)/%.cu.o) $(GPU_HOST)
	$(call say,LINK,$@)$(NVCC) $(GENCODE) $^ -o $@

$(BUILD)/gpu_%: $(BUILD)/validation/cuda/test_cuda_%.cu.o $(GPU_MAIN) $(PLUGIN_SOURCES:%=$(BUILD)/%.o) $(GPU_HOST)
	$(call say,LINK,$@)$(NVCC) $(GENCODE) $^ -lcufft -Xlinker $(CUDA_RPATH) -o $@

# Loaded before the C library, makes reads fail and kills between writes.
$(BUILD)/faulty_io.so: $(BUILD)/validation/scenario/faulty_io.o
	$(call say,LINK,$@)$(CC) $(LINK_FLAGS) -shared $^ -ldl $(LDFLAGS) -o $@

# Loaded before the C library, makes programs measure CPU time.
$(BUILD)/cpu_clock.so: $(BUILD)/validation/cpu_clock.o
	$(call say,LINK,$@)$(CC) $(LINK_FLAGS) -shared $^ $(LDFLAGS) -o $@

# Targets of the fuzzer: clang's, with its coverage in what is fuzzed (SAN).
$(BUILD)/fuzz_%: $(BUILD)/validation/fuzz/fuzz_%.o $(FUZZED_OBJECTS)
	$(call say,LINK,$@)$(CC) $(LINK_FLAGS) -fsanitize=fuzzer $^ $(PC_LIBS) \
		$$($(PKG_CONFIG) --libs cmocka) -lm $(LDFLAGS) -o $@

$(BUILD)/fuzz_recordings: $(SPOILED_SOURCES:%.c=$(BUILD)/%.o)

# Kernels alone, for validation/aarch64/check.sh: libraries of this machine have
# headers for all of them, but no code.
EMULATED := $(addprefix validation/,$(addsuffix .c,$(addprefix test_,kernels_f kernels_x \
	selftest postprocess interval_results) testing aarch64/cmocka))
$(BUILD)/fx8-test-kernels: PC_CFLAGS += -DFX8_EMULATED -idirafter /usr/include
$(BUILD)/fx8-test-kernels: $(call objects,$(EMULATED)) \
	$(filter-out $(BUILD)/validation/%,$(NUMERICS_OBJECTS))
	$(call say,LINK,$@)$(CC) $(LINK_FLAGS) -static $^ -lm $(LDFLAGS) -o $@

$(BUILD)/numerics: $(NUMERICS_OBJECTS)
	$(call say,LINK,$@)$(CC) $(LINK_FLAGS) $^ -lm $(LDFLAGS) -o $@

$(BUILD)/numerics-gpu: $(NUMERICS_GPU_OBJECTS)
	$(call say,LINK,$@)$(NVCC) $(GENCODE) $^ -o $@

# fx8 against FFTW and oneDNN, put together by hand: a program that only needs the
# library as users have it.  For the machine that it is built on; gcc 12 warns of
# what its own vectors leave unset.
PEERS_MISSING = $(shell for header in dnnl fftw3; do \
	echo "\#include <$$header.h>" | $(CXX) -E -x c++ - >/dev/null 2>&1 || \
	echo "lib$$header-dev"; done)
$(BUILD)/peers: validation/peers/peers.cc validation/peers/spectra.h correlator/fx8.h $(BUILD)/libfx8.so
	$(if $(PEERS_MISSING),$(error bench-peers: missing: apt-get install $(PEERS_MISSING)))
	$(call say,CXX,$<)$(CXX) -std=c++17 -O3 -march=native -I. -Wall -Wextra -Wshadow \
		-Wno-uninitialized -Wno-maybe-uninitialized $(STRICTLY) $< -o $@ \
		-L$(BUILD) -lfx8 -Wl,-rpath,'$$ORIGIN' -lfftw3f -ldnnl
