# SPDX-License-Identifier: BSD-3-Clause
#
# fx8: FX cross-correlator for recorded observations.  `make help` lists what
# can be made.  Variables for the command line or config.mk (not tracked):
#
#   CC, CFLAGS, CPPFLAGS, LDFLAGS   as usual; CFLAGS come last and win
#   CXX                             for kernels on the CPU; goes with CC
#   BUILD=build                     where everything built goes
#   SAN=address,undefined           sanitizers; give them a BUILD of their own
#   V=1                             show whole commands
#   CUDA=auto|0|1                   use nvcc if there is one; never; must be
#   NVCC, NVCC_FLAGS                the CUDA compiler; its flags, which come last
#   MPI=auto|0|1                    use mpicc if there is one; never; must be
#   MPICC=mpicc                     the compiler of MPI
#   SMS="90"                        architectures, instead of all it knows of ours
#   prefix, bindir, libdir, includedir, datadir, mandir, docdir,
#   completiondir, DESTDIR          for install

-include config.mk

VERSION   := 0.1.0
# Before 1.0 a minor version may change anything.
NUMBERS   := $(subst ., ,$(VERSION))
SOVERSION := $(firstword $(NUMBERS))$(if $(filter 0.%,$(VERSION)),.$(word 2,$(NUMBERS)))
BUILD     ?= build
CFLAGS    ?= -O3 -g1
prefix    ?= /usr/local
bindir    ?= $(prefix)/bin
libdir    ?= $(prefix)/lib
includedir ?= $(prefix)/include
datadir   ?= $(prefix)/share
mandir    ?= $(datadir)/man
docdir    ?= $(datadir)/doc/fx8
completiondir ?= $(datadir)/bash-completion/completions
OBJCOPY   ?= objcopy

MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' '$(1)' '$(2)';)

# --- dependencies -----------------------------------------------------------

PKG_CONFIG ?= pkg-config
HDF5_PC := $(shell $(PKG_CONFIG) --exists hdf5-serial 2>/dev/null && echo hdf5-serial || echo hdf5)
PACKAGES := $(HDF5_PC) zlib fftw3f inih erfa jansson
MISSING := $(foreach p,$(PACKAGES),$(shell $(PKG_CONFIG) --exists $(p) 2>/dev/null || echo $(p)))
# Without it, fx8 plot writes no PNG and no PDF.
CAIRO := $(shell $(PKG_CONFIG) --exists cairo-pdf 2>/dev/null && echo cairo-pdf)
# Without it, fx8 image writes no FITS.
CFITSIO := $(shell $(PKG_CONFIG) --exists cfitsio 2>/dev/null && echo cfitsio)
PC_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PACKAGES) $(CAIRO) $(CFITSIO) 2>/dev/null)
PC_LIBS := $(shell $(PKG_CONFIG) --libs $(PACKAGES) $(CAIRO) $(CFITSIO) 2>/dev/null)

# No contraction: only fmaf() or an intrinsic becomes an fma.
REQUIRED := -std=c17 -D_GNU_SOURCE -I. -DFX8_VERSION='"$(VERSION)"' \
	-ffp-contract=off -fno-math-errno -pthread -fPIC \
	-fvisibility=hidden $(if $(CAIRO),-DFX8_HAVE_CAIRO) $(if $(CFITSIO),-DFX8_HAVE_CFITSIO) \
	$(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wvla \
	-Wstrict-prototypes -Wmissing-prototypes
# STRICT=1: a warning is an error; no reason to build anything again.  Not with
# the address checker: what gcc puts in for it, gcc then warns of.
STRICTLY := $(if $(filter 1,$(STRICT)),$(if $(findstring address,$(SAN)),,-Werror))
NVCC_STRICTLY := $(if $(filter 1,$(STRICT)),-Werror all-warnings)
LINK_FLAGS := -pthread $(if $(SAN),-fsanitize=$(SAN))

# --- sources: a room is a list; a kernel variant is a file with a suffix ----

IO_ROOMS := io io/aavs io/dada io/digital_rf io/frames io/guppi io/h5 io/native io/quicklook io/tart io/uvh5 io/vdif
CORRELATOR_ROOMS := correlator correlator/commands correlator/bench \
	correlator/compare correlator/fringe correlator/image correlator/library correlator/plan \
	correlator/plot correlator/ranks correlator/run correlator/simulate
LIBRARY_SOURCES := $(patsubst %,config/base/%.c,clock dump_arrays median parallel shape shared_object status timebase) \
	$(sort $(wildcard kernels/*.c kernels/cpu/*.c)) \
	$(sort $(wildcard correlator/library/*.c))
PROGRAM_SOURCES := \
	$(filter-out $(LIBRARY_SOURCES) correlator/ranks/mpi.c,$(sort $(wildcard config/*.c config/base/*.c $(IO_ROOMS:=/*.c) \
	$(CORRELATOR_ROOMS:=/*.c))))
# TESTS="engine* queue": only these groups of tests.
TESTS ?= *
TEST_SOURCES := $(sort $(wildcard $(TESTS:%=validation/test_%.c))) validation/testing.c
HEADERS := $(sort $(wildcard config/*.h config/base/*.h kernels/*.h kernels/cpu/*.h kernels/numeric/*.h $(IO_ROOMS:=/*.h) \
	$(CORRELATOR_ROOMS:=/*.h) validation/*.h))

# The error tables need no package: what they measure and what they are.
NUMERICS_SOURCES := $(sort $(wildcard validation/numerics/*.c)) \
	$(filter-out %/fft_fftw.c %/engine_cpu.c %/engine_find.c \
	%/engine_trial.c %/engine_trial_checks.c %/plugin.c %/imager.c %/channelize.c %/power.c, \
	$(filter %/clock.c %/parallel.c %/shape.c %/status.c kernels/%,$(LIBRARY_SOURCES)))

# The objects of C sources: NAME_simd.c is compiled once for each variant with
# vectors, as NAME_simd_avx2.o and NAME_simd_avx512.o; NAME_dot.c for those with
# an 8-bit dot product.
VARIANTS := $(if $(findstring x86_64,$(shell $(CC) -dumpmachine 2>/dev/null)),avx2 avx512)
DOT_VARIANTS := $(if $(VARIANTS),avxvnni avx512)
objects = $(patsubst %.c,$(BUILD)/%.o,$(filter-out %_simd.c %_dot.c,$(1)) \
	$(foreach variant,$(VARIANTS),$(patsubst %.c,%_$(variant).c,$(filter %_simd.c,$(1)))) \
	$(foreach variant,$(DOT_VARIANTS),$(patsubst %.c,%_$(variant).c,$(filter %_dot.c,$(1)))))

LIBRARY_OBJECTS := $(call objects,$(LIBRARY_SOURCES))
PROGRAM_OBJECTS := $(call objects,$(PROGRAM_SOURCES))
TEST_PROGRAMS := $(addprefix $(BUILD)/,fx8-test fx8-test-cuda harness/fx8-cuda.so)
NUMERICS_OBJECTS := $(call objects,$(NUMERICS_SOURCES))
NUMERICS_GPU_OBJECTS := $(addprefix $(BUILD)/validation/numerics/,device.cu.o machine.o \
	table.o)
# avxvnni in the encoding of AVX-512, for tests where the CPU has only that.
EVEX_OBJECTS := $(if $(DOT_VARIANTS),$(BUILD)/kernels/cpu/correlate_int8_dot_evex.o)
TESTED_OBJECTS := $(filter-out $(BUILD)/correlator/main.o,$(LIBRARY_OBJECTS) $(PROGRAM_OBJECTS))

# Fuzz targets see what reads files and texts, and what they damage.
FUZZERS := $(BUILD)/fuzz_texts $(BUILD)/fuzz_recordings
FUZZ_SOURCES := $(sort $(wildcard validation/fuzz/*.c))
SPOILED_SOURCES := $(filter-out validation/fuzz/fuzz_%,$(FUZZ_SOURCES))
FUZZED_OBJECTS := $(filter $(BUILD)/config/% $(BUILD)/io/% \
	$(BUILD)/correlator/simulate/sources.o $(BUILD)/correlator/run/site.o,$(TESTED_OBJECTS))

# Flags of the kernel variants, by the suffix of the object.
ifneq ($(VARIANTS),)
$(BUILD)/%_avx2.o: VARIANT := -mavx2 -mfma -mf16c
$(BUILD)/%_avxvnni.o: VARIANT := -mavx2 -mfma -mf16c
$(BUILD)/%_evex.o: VARIANT := -mavx2 -mfma -mf16c -DFX8_EVEX
$(BUILD)/%_avx512.o: VARIANT := -mavx512f -mavx512bw -mavx512dq -mavx512vl \
	-mavx512vnni -mfma
endif
$(BUILD)/%_dotprod.o: VARIANT := $(if $(findstring aarch64,$(shell \
	$(CC) -dumpmachine 2>/dev/null)),-march=armv8.2-a+dotprod)
# Nobody asks for floating-point exceptions: choices become blends, not jumps.
# (clang does not know the second option, nor needs it.)
$(BUILD)/kernels/cpu/functions_%.o $(BUILD)/correlator/simulate/loops_%.o: BLENDS := -fno-trapping-math \
	$(shell $(CC) -fno-thread-jumps -E -x c /dev/null >/dev/null 2>&1 && \
	echo -fno-thread-jumps)

# Files whose arithmetic runs under a rounding mode that they set.
$(BUILD)/kernels/cpu/interval_%.o $(BUILD)/kernels/postprocess_interval.o \
$(BUILD)/kernels/postprocess_bands.o: \
	ROUNDING := -frounding-math

# --- CUDA: C objects never need it ---------------------------------------------

CUDA ?= auto
NVCC ?= $(shell command -v nvcc 2>/dev/null || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
HAVE_NVCC = $(if $(filter-out 0,$(CUDA)),$(shell command -v '$(NVCC)' 2>/dev/null))
nvcc_missing_text = fx8: CUDA=$(CUDA): no nvcc to use: $(if $(filter 0,$(CUDA)),\
CUDA=0 forbids it,neither on the path nor in /usr/local/cuda/bin; NVCC= names one)
ifneq ($(words $(filter auto 0 1,$(CUDA))),1)
$(error fx8: CUDA=$(CUDA): must be auto, 0 or 1)
endif
ifeq ($(CUDA),1)
ifeq ($(HAVE_NVCC),)
$(error $(nvcc_missing_text))
endif
endif

# Machine code for these, as far as the compiler knows them (13 has dropped
# the first two, 11.8 lacks the last two), and PTX for the cards between.
SMS ?= $(filter $(patsubst sm_%,%,$(shell $(NVCC) --list-gpu-code)),61 70 75 80 86 89 90 100 120)
PTX_SM ?= 80
GENCODE = $(foreach sm,$(SMS),-gencode arch=compute_$(sm),code=sm_$(sm)) \
	-gencode arch=compute_$(PTX_SM),code=compute_$(PTX_SM)
NVCC_REQUIRED := -std=c++17 -I. -DFX8_VERSION='"$(VERSION)"' --fmad=false \
	-Wno-deprecated-gpu-targets \
	-Xcompiler -ffp-contract=off,-fPIC,-pthread,-fvisibility=hidden,-Wall,-Wextra
NVCC_FLAGS ?= -O3

# --- CUDA on the CPU: kernels and their host code as C++, without nvcc ----------
# See validation/cuda/README.md; a %.cu is compiled to %.cpu.o.

ifeq ($(origin CXX),default)
CXX := $(if $(findstring clang,$(CC)),clang++,g++)
endif
HARNESS_OBJECTS := $(patsubst %.cc,$(BUILD)/%.o,$(sort $(wildcard validation/cuda/*.cc)))
HARNESS_TESTS := $(sort $(wildcard $(TESTS:%=validation/cuda/test_%.cu))) validation/cuda/tests.cu
HARNESS_REQUIRED := -std=c++17 -Ivalidation/cuda/include -DFX8_CUDA_ON_CPU \
	$(filter-out -std=% -fvisibility=%,$(REQUIRED)) -Wall -Wextra -Wshadow
HARNESS_QUIET := -Wno-unknown-pragmas $(if $(findstring clang,$(CXX)),-Wno-pass-failed)
# Kernels are called by the million: frames that outlive their function are
# looked for in C alone, and gcc finds thread-local variables without a call that
# the checker watches.
ifneq ($(findstring address,$(SAN)),)
HARNESS_REQUIRED += $(if $(findstring clang,$(CXX)),-fsanitize-address-use-after-return=never,\
	--param asan-use-after-return=0 $(if $(filter x86_64%,$(shell $(CXX) -dumpmachine)),-mtls-dialect=gnu2))
endif

# --- the plug-in: kernels/cuda and the little it needs of the library ------------

PLUGIN_SOURCES := $(sort $(wildcard kernels/cuda/*.cu))
PLUGIN_HOST := $(addprefix $(BUILD)/,config/base/parallel.o config/base/shape.o \
	config/base/status.o kernels/filterbank.o)
PLUGIN = $(if $(HAVE_NVCC),$(BUILD)/fx8-cuda.so)

# Where its libraries are is for nvcc to say: what the path has may be a script
# that calls it.
CUDA_LIBRARIES = $(abspath $(shell $(HAVE_NVCC) --dryrun -c -x cu /dev/null 2>&1 | \
	sed -n 's/^.. TOP=//p')/lib64)
CUDA_RPATH = -rpath,$(CUDA_LIBRARIES)

# What the programs for a card are made of besides: no package is needed.
BENCH_GPU_SOURCES := $(sort $(wildcard validation/gpu/*.cu))
GPU_HOST := $(filter $(addprefix $(BUILD)/,config/% kernels/cpu/% \
	kernels/baseline.o kernels/filterbank.o kernels/postprocess%),$(NUMERICS_OBJECTS))
GPU_TESTS := $(addprefix $(BUILD)/gpu_,choose engine fir image imager postprocess spectra xengine)
GPU_PROGRAMS := $(GPU_TESTS) $(addprefix $(BUILD)/,numerics-gpu bench-kernels \
	bench-gpu fx8-cuda.so)

# wgmma is no part of sm_90 proper, and of nothing after it; CUDA 11 does not
# know sm_90a.  Neither sm_90 nor PTX instead: there its kernels are empty, and
# a card would run them; without, it says that it has no code.
KNOWS_WGMMA = $(shell $(NVCC) --dryrun -arch=sm_90a -c -x cu /dev/null >/dev/null 2>&1 && echo yes)
WGMMA_SMS = $(or $(if $(KNOWS_WGMMA),$(SMS:90=90a),$(filter-out 90,$(SMS))),$(PTX_SM))
$(BUILD)/kernels/cuda/correlate_wgmma.cu.o $(BUILD)/validation/gpu/ceilings_wgmma.cu.o: private GENCODE = \
	$(foreach sm,$(WGMMA_SMS),-gencode arch=compute_$(sm),code=sm_$(sm))

# --- MPI: a plug-in of one file, and the little it needs ------------------------

MPI ?= auto
MPICC ?= mpicc
HAVE_MPICC = $(if $(filter-out 0,$(MPI)),$(shell command -v '$(MPICC)' 2>/dev/null))
ifneq ($(words $(filter auto 0 1,$(MPI))),1)
$(error fx8: MPI=$(MPI): must be auto, 0 or 1)
endif
ifeq ($(MPI),1)
ifeq ($(HAVE_MPICC),)
$(error fx8: MPI=1: there is no $(MPICC): Debian package libopenmpi-dev has it; MPICC= names another)
endif
endif
MPI_PLUGIN = $(if $(HAVE_MPICC),$(BUILD)/fx8-mpi.so)
# Open MPI and MPICH take the compiler below theirs from one of these.
MPI_CC := OMPI_CC='$(CC)' MPICH_CC='$(CC)' $(MPICC)

# --- build -------------------------------------------------------------------

.PHONY: all
all: $(BUILD)/fx8 $(BUILD)/libfx8.so $(BUILD)/libfx8.a plug-in $(MPI_PLUGIN) ## build program, library and, with nvcc and mpicc, plug-ins

.PHONY: plug-in
plug-in: $(PLUGIN)

ifneq ($(and $(strip $(MISSING)),$(filter-out %numerics %-gpu %gpu-programs $(BUILD)/gpu_%,$(or $(MAKECMDGOALS),all))),)
define missing_text
fx8: missing: $(MISSING) (looked for with $(PKG_CONFIG)); \
on Debian: apt-get install $(shell sed -n 's/^BUILD_PACKAGES="\(.*\)"/\1/p' validation/setup.sh 2>/dev/null); \
or let `make demo` or `make check` do it
endef
$(BUILD)/%.o: missing-dependencies ;
.PHONY: missing-dependencies
missing-dependencies:
	$(error $(missing_text))
endif

# The stamp changes when a compiler or flags do, and rebuilds everything then.
STAMP_TEXT := $(CC) $(CXX) $(MPICC) $(REQUIRED) $(WARNINGS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS)
NVCC_STAMP_TEXT = $(HAVE_NVCC) $(NVCC_REQUIRED) $(GENCODE) $(NVCC_FLAGS)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(STAMP_TEXT))' | cmp -s - $@ || \
		printf '%s\n' '$(subst ','\'',$(STAMP_TEXT))' > $@
.PHONY: FORCE
FORCE:

define compile
@mkdir -p $(@D)
$(call say,CC,$(if $(VARIANT),$(@:$(BUILD)/%.o=%),$<))$(CC) $(REQUIRED) $(WARNINGS) \
	$(PC_CFLAGS) $(VARIANT) $(BLENDS) $(ROUNDING) $(CPPFLAGS) $(CFLAGS) $(STRICTLY) \
	-MMD -MP -c $< -o $@
endef

$(BUILD)/%_simd_avx2.o: %_simd.c $(BUILD)/flags
	$(compile)

$(BUILD)/%_simd_avx512.o: %_simd.c $(BUILD)/flags
	$(compile)

$(BUILD)/%_dot_avxvnni.o: %_dot.c $(BUILD)/flags
	$(compile)

$(BUILD)/%_dot_evex.o: %_dot.c $(BUILD)/flags
	$(compile)

$(BUILD)/%_dot_avx512.o: %_dot.c $(BUILD)/flags
	$(compile)

$(BUILD)/%.o: %.c $(BUILD)/flags
	$(compile)

# Tests build in half the time, and what takes time in them is the product.
$(BUILD)/validation/test_%.o $(BUILD)/validation/cuda/test_%.cpu.o: private CFLAGS += -O1

$(BUILD)/nvcc-flags: FORCE
	$(if $(HAVE_NVCC),,$(error $(nvcc_missing_text)))
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(NVCC_STAMP_TEXT))' | cmp -s - $@ || \
		printf '%s\n' '$(subst ','\'',$(NVCC_STAMP_TEXT))' > $@

$(BUILD)/%.cu.o: %.cu $(BUILD)/nvcc-flags
	@mkdir -p $(@D)
	$(call say,NVCC,$<)$(NVCC) $(NVCC_REQUIRED) $(GENCODE) $(NVCC_FLAGS) \
		$(NVCC_STRICTLY) -MMD -MP -MF $(@:.o=.d) -c $< -o $@

$(BUILD)/%.o: %.cc $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CXX,$<)$(CXX) $(HARNESS_REQUIRED) -Wpedantic -Wconversion \
		$(CPPFLAGS) $(CFLAGS) $(STRICTLY) -MMD -MP -c $< -o $@

$(BUILD)/%.cpu.o: %.cu $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CXX,$<)$(CXX) $(HARNESS_REQUIRED) $(HARNESS_QUIET) \
		$(CPPFLAGS) $(CFLAGS) $(STRICTLY) -MMD -MP -x c++ -c $< -o $@

$(BUILD)/fx8: $(LIBRARY_OBJECTS) $(PROGRAM_OBJECTS)
	$(call say,LINK,$@)$(CC) $(LINK_FLAGS) $^ $(PC_LIBS) -ldl -lm $(LDFLAGS) -o $@

$(BUILD)/libfx8.so.$(SOVERSION): $(LIBRARY_OBJECTS)
	$(call say,LINK,$@)$(CC) $(LINK_FLAGS) -shared -Wl,-soname,libfx8.so.$(SOVERSION) \
		-Wl,-z,defs $^ $$($(PKG_CONFIG) --libs fftw3f) -ldl -lm $(LDFLAGS) -o $@

$(BUILD)/libfx8.so: $(BUILD)/libfx8.so.$(SOVERSION)
	$(Q)ln -sf $(<F) $@

# One object, in which only what the header offers has a name for others.
$(BUILD)/libfx8.a: $(LIBRARY_OBJECTS)
	$(call say,AR,$@)$(CC) -r -nostdlib $^ -o $(BUILD)/libfx8.o
	$(Q)$(OBJCOPY) --localize-hidden $(BUILD)/libfx8.o
	$(Q)rm -f $@
	$(Q)$(AR) rcsD $@ $(BUILD)/libfx8.o

# Written by the program, from its tables.
$(BUILD)/fx8.1: $(BUILD)/fx8
	$(Q)$< config --man > $@

$(BUILD)/fx8.bash: $(BUILD)/fx8
	$(Q)$< config --completion > $@

# An archive, whose names the linker can keep to itself.
$(BUILD)/plugin-host.a: $(PLUGIN_HOST)
	$(Q)rm -f $@
	$(Q)$(AR) rcsD $@ $^

$(BUILD)/fx8-cuda.so: $(PLUGIN_SOURCES:%=$(BUILD)/%.o) $(BUILD)/plugin-host.a
	$(call say,LINK,$@)$(NVCC) -shared $^ -lcufft \
		-Xlinker -z,defs,--exclude-libs,ALL,-rpath,$(CUDA_LIBRARIES) -o $@

$(BUILD)/correlator/ranks/mpi.o: private override CC := $(MPI_CC)

$(BUILD)/fx8-mpi.so: $(BUILD)/correlator/ranks/mpi.o $(BUILD)/plugin-host.a
	$(call say,LINK,$@)$(MPI_CC) $(LINK_FLAGS) -shared -Wl,-z,defs \
		-Wl,--exclude-libs,ALL $^ $(LDFLAGS) -o $@

# The same sources on pretend devices: FX8_CUDA_PLUGIN names it to the program.
$(BUILD)/harness/fx8-cuda.so: $(PLUGIN_SOURCES:%.cu=$(BUILD)/%.cpu.o) $(HARNESS_OBJECTS) $(PLUGIN_HOST)
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CXX) $(LINK_FLAGS) -shared -Wl,-Bsymbolic-functions \
		$(if $(SAN),,-Wl,-z,defs) $^ \
		$$($(PKG_CONFIG) --libs fftw3f) -lm $(LDFLAGS) -o $@

include validation/programs.mk

-include $(BENCH_GPU_SOURCES:%=$(BUILD)/%.d) $(BENCH_GPU_SOURCES:%.cu=$(BUILD)/%.cpu.d) \
	$(HARNESS_TESTS:%=$(BUILD)/%.d)
-include $(PLUGIN_SOURCES:%=$(BUILD)/%.d) $(PLUGIN_SOURCES:%.cu=$(BUILD)/%.cpu.d)
-include $(LIBRARY_OBJECTS:.o=.d) $(PROGRAM_OBJECTS:.o=.d) $(BUILD)/correlator/ranks/mpi.d \
	$(TEST_SOURCES:%.c=$(BUILD)/%.d) $(HARNESS_OBJECTS:.o=.d) \
	$(HARNESS_TESTS:%.cu=$(BUILD)/%.cpu.d) $(NUMERICS_OBJECTS:.o=.d) $(EVEX_OBJECTS:.o=.d) \
	$(NUMERICS_GPU_OBJECTS:.o=.d) $(FUZZ_SOURCES:%.c=$(BUILD)/%.d)

.PRECIOUS: $(BUILD)/%.o $(BUILD)/%.cpu.o $(BUILD)/%.cu.o

.PHONY: tests
tests: $(TEST_PROGRAMS)

# Nothing is made if clang has no libFuzzer: the fuzzers then count as skipped.
# The program for damaged files is that of tier sanitize.
.PHONY: fuzzers fuzz-programs
fuzz-programs: $(FUZZERS)
fuzzers:
	$(Q)$(MAKE) SAN=address,undefined BUILD=$(BUILD)/san CFLAGS='-O1 -g1' $(BUILD)/san/fx8
	$(Q)rm -f $(FUZZERS:$(BUILD)/%=$(BUILD)/fuzz/%)
	$(Q)if echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | \
		clang -fsanitize=fuzzer,address -x c - -o /dev/null 2>/dev/null; then \
		$(MAKE) CC=clang SAN=fuzzer-no-link,address,undefined \
		BUILD=$(BUILD)/fuzz CFLAGS='-O1 -g1' fuzz-programs; fi

# --- the main job, and what it costs -------------------------------------------

.PHONY: demo
demo: deps ## simulate and correlate a small array, end with figures to check
	$(Q)$(MAKE) $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) all
	$(Q)validation/demo.sh $(BUILD)/fx8 $(BUILD)/demo

.PHONY: bench
bench: all ## measure the stages against this machine's own ceilings
	$(Q)$(BUILD)/fx8 bench

.PHONY: bench-page
bench-page: all ## write that as PAGE=validation/results/NAME.md (idle machine)
	$(if $(PAGE),,$(error PAGE: expected validation/results/NAME.md))
	$(Q)FX8=$(abspath $(BUILD)/fx8) python3 validation/bench_page.py '$(PAGE)'

# PAGE=validation/results/NAME.md keeps it.  check-long installs LSL.
LSL_PYTHON ?= $(BUILD)/lsl/bin/python
.PHONY: bench-peers
bench-peers: all $(BUILD)/peers ## fx8 against FFTW and oneDNN, and against LSL (libdnnl-dev; idle machine)
	$(Q)python3 validation/peers/peers.py $(BUILD)/peers $(abspath $(BUILD)/fx8) '$(LSL_PYTHON)' $(PAGE)

# A script that measures the program.  The tiers oracle and cuda make the
# virtual environment.
MEASURE = $(Q)FX8=$(abspath $(BUILD)/fx8) FX8_BUILD=$(abspath $(BUILD)) \
	PYTHONPATH=validation/python PYTHONDONTWRITEBYTECODE=1 $(BUILD)/venv/bin/python
.PHONY: station plan-check plan-arrays slices-page runs-page
station: all ## correlate seconds of a station of 256 antennas, beside real time
	$(MEASURE) validation/station.py $(if $(PAGE),--page '$(PAGE)')

# CPU=1: CPU times of one core, on a machine that is not idle.
plan-check: all $(BUILD)/cpu_clock.so ## compare fx8 plan with runs, minutes (idle machine)
	$(MEASURE) validation/plan_check.py $(if $(CPU),--cpu) $(if $(PAGE),--page '$(PAGE)')

plan-arrays: all ## plan four large arrays, NODE=NODE.json, beside the arithmetic (PAGE=)
	$(if $(NODE),,$(error NODE: expected what fx8 bench --section node --json prints))
	$(MEASURE) validation/plan_arrays.py '$(NODE)' $(PAGE)

slices-page: all ## measure dumps in slices against whole ones, minutes (PAGE=)
	$(MEASURE) validation/slices_page.py $(PAGE)

runs-page: all ## measure runs divided between ranks, and resumed, minutes (PAGE=; idle machine)
	$(MEASURE) validation/runs_page.py $(PAGE)

.PHONY: numerics
numerics: $(BUILD)/numerics ## measure the errors of the functions over all floats
	$(Q)$(BUILD)/numerics

.PHONY: numerics-gpu
numerics-gpu: $(BUILD)/numerics-gpu ## the same on a card (needs nvcc; 77: no card)
	$(Q)$(BUILD)/numerics-gpu

.PHONY: bench-gpu
bench-gpu: $(BUILD)/bench-gpu ## measure a card, cuBLAS beside it (needs nvcc; 77: no card)
	$(Q)$(BUILD)/bench-gpu

.PHONY: gpu-programs
gpu-programs: $(GPU_PROGRAMS) ## what check-gpu, bench-gpu and numerics-gpu run (needs nvcc)

# PREBUILT=FOLDER: with the programs of gpu-programs built there, for example
# by make BUILD=build/sm90 SMS=90 gpu-programs.
.PHONY: gpu-bundle
gpu-bundle: $(addprefix $(BUILD)/,fx8 fx8-test) ## the program and its libraries, for a machine with a card alone
	$(Q)validation/gpu/bundle.sh $(BUILD) $(BUILD)/gpu-bundle $(PREBUILT)

# --- proof: validation/run builds, runs and counts ---------------------------

RUN = MAKE='$(MAKE)' BUILD='$(BUILD)' CUDA='$(CUDA)' NVCC='$(NVCC)' validation/run
CHECK_TIERS := unit oracle scenario
CI_TIERS := sanitize native thread fuzz mutants cuda lint

.PHONY: deps
deps: ## install what building needs (Debian, as root or with sudo)
	$(Q)validation/setup.sh build

.PHONY: check-deps
check-deps:
	$(Q)validation/setup.sh check

.PHONY: check
check: check-deps ## unit tests under checkers, an oracle, the program in use: minutes
	$(Q)$(RUN) $(CHECK_TIERS)

.PHONY: check-ci
check-ci: check-deps ## what a change must pass besides: the other tiers below
	$(Q)$(RUN) $(CI_TIERS)

.PHONY: check-long
check-long: check-deps ## all of it with the long versions of the tests: hours
	-$(Q)validation/setup.sh long
	$(Q)FX8_LONG=1 $(RUN) $(CHECK_TIERS) $(CI_TIERS) aarch64

.PHONY: check-aarch64
check-aarch64: ## kernels of 64-bit Arm, run by qemu (without it counted as skipped)
	$(Q)$(RUN) aarch64

.PHONY: check-gpu
check-gpu: ## kernels, engine and program on a card (needs nvcc; else counted as skipped)
	$(Q)$(RUN) gpu

.PHONY: $(CHECK_TIERS) $(CI_TIERS)
unit: ## every module, under the address and undefined-behaviour checkers
oracle: ## against an independent correlator, analytic signals, pyuvdata, recordings
scenario: ## the program as it is used: bad input, signals, full disks
sanitize: ## CUDA on pretend devices, damaged files, under the same checkers
native: ## kernels as they are shipped, and the long scenarios
thread: ## what starts threads under the thread checker
fuzz: ## texts, recordings and damaged files from a fuzzer
mutants: ## planted faults, each of which a test must notice
cuda: ## what nvcc makes of the CUDA sources, without a device
lint: ## rules of the house, layout, exported symbols
$(CHECK_TIERS) $(CI_TIERS): check-deps
	$(Q)$(RUN) $@

.PHONY: emitted
emitted: ## write the table of what this nvcc emits into validation/results
	$(Q)PYTHONPATH=validation/python FX8_BUILD='$(BUILD)' CUDA=1 NVCC='$(NVCC)' \
		$(BUILD)/venv/bin/python validation/emitted/test_emitted.py --write

.PHONY: proof
proof: ## write the table of all claims, their tests and limits into $(BUILD)/proof.md
	@mkdir -p $(BUILD)
	$(Q)python3 validation/lint/proof.py $(BUILD)/proof.md

# The page keeps its text up to the line that says so.
.PHONY: pages
pages: $(BUILD)/fx8 ## write all keys into config/README.md, fx8.h into examples/fx8.py
	$(Q)sed '/`make pages`/q' config/README.md > $(BUILD)/keys.md
	$(Q)$< config --markdown >> $(BUILD)/keys.md
	$(Q)cp $(BUILD)/keys.md config/README.md
	$(Q)python3 validation/python/python_example.py

# --- install ------------------------------------------------------------------

INSTALL ?= install
# Pages, in the folders by which they name one another.
INSTALLED_PAGES := README.md config/CLUSTER.md config/README.md correlator/CONVENTIONS.md correlator/README.md \
	data/README.md data/SCIENCE.md data/demo_sky.svg kernels/README.md \
	$(wildcard correlator/examples/*.c correlator/examples/*.py .github/*.md .github/*.cff)

define PKG_CONFIG_FILE
prefix=$(prefix)
libdir=$(libdir)
includedir=$(includedir)/fx8

Name: fx8
Description: FX correlator: 8-bit antenna voltages to visibilities
Version: $(VERSION)
Libs: -L$${libdir} -lfx8
Libs.private: $(shell $(PKG_CONFIG) --static --libs fftw3f 2>/dev/null) -ldl -lm -pthread
Cflags: -I$${includedir}
endef
export PKG_CONFIG_FILE

.PHONY: install
install: all $(BUILD)/fx8.1 $(BUILD)/fx8.bash ## install program, library, header, documents, ready configurations
	$(Q)$(INSTALL) -d $(DESTDIR)$(bindir) $(DESTDIR)$(libdir)/pkgconfig \
		$(DESTDIR)$(includedir)/fx8 $(DESTDIR)$(datadir)/fx8/slurm \
		$(DESTDIR)$(mandir)/man1 $(DESTDIR)$(completiondir)
	$(Q)$(INSTALL) $(BUILD)/fx8 $(DESTDIR)$(bindir)/fx8
	$(Q)$(INSTALL) -m 644 $(BUILD)/libfx8.so.$(SOVERSION) $(DESTDIR)$(libdir)
	$(Q)ln -sf libfx8.so.$(SOVERSION) $(DESTDIR)$(libdir)/libfx8.so
	$(Q)$(INSTALL) -m 644 $(BUILD)/libfx8.a $(DESTDIR)$(libdir)
	$(if $(PLUGIN)$(MPI_PLUGIN),$(Q)$(INSTALL) -m 644 $(PLUGIN) $(MPI_PLUGIN) $(DESTDIR)$(libdir))
	$(Q)$(INSTALL) -m 644 correlator/fx8.h $(DESTDIR)$(includedir)/fx8
	$(Q)$(INSTALL) -m 644 $(wildcard config/ready/*.*) $(DESTDIR)$(datadir)/fx8
	$(Q)$(INSTALL) -m 755 $(wildcard config/ready/slurm/*.sh) $(DESTDIR)$(datadir)/fx8/slurm
	$(Q)for page in $(INSTALLED_PAGES); do \
		$(INSTALL) -D -m 644 $$page $(DESTDIR)$(docdir)/$$page || exit 1; done
	$(Q)$(INSTALL) -m 644 $(BUILD)/fx8.1 $(DESTDIR)$(mandir)/man1
	$(Q)$(INSTALL) -m 644 $(BUILD)/fx8.bash $(DESTDIR)$(completiondir)/fx8
	$(Q)printf '%s\n' "$$PKG_CONFIG_FILE" > $(DESTDIR)$(libdir)/pkgconfig/fx8.pc

.PHONY: uninstall
uninstall: ## remove what install put there
	$(Q)rm -f $(DESTDIR)$(bindir)/fx8 $(DESTDIR)$(mandir)/man1/fx8.1 \
		$(DESTDIR)$(completiondir)/fx8 \
		$(DESTDIR)$(libdir)/libfx8.so $(DESTDIR)$(libdir)/libfx8.a \
		$(DESTDIR)$(libdir)/libfx8.so.$(SOVERSION) \
		$(DESTDIR)$(libdir)/fx8-cuda.so $(DESTDIR)$(libdir)/fx8-mpi.so \
		$(DESTDIR)$(libdir)/pkgconfig/fx8.pc
	$(Q)rm -rf $(DESTDIR)$(includedir)/fx8 $(DESTDIR)$(datadir)/fx8 \
		$(DESTDIR)$(docdir)

.PHONY: dist
dist: ## a tar file of the sources as committed, always the same bytes
	@mkdir -p $(BUILD)
	$(Q)git -c tar.umask=0022 archive --prefix=fx8-$(VERSION)/ \
		-o $(BUILD)/fx8-$(VERSION).tar HEAD
	$(Q)gzip -9nf $(BUILD)/fx8-$(VERSION).tar
	@echo $(BUILD)/fx8-$(VERSION).tar.gz

# The recipe is .debian here, and debian where the packages are built.
.PHONY: deb
deb: dist ## Debian packages of the sources as committed (needs debhelper)
	$(Q)rm -rf $(BUILD)/deb
	$(Q)mkdir -p $(BUILD)/deb
	$(Q)tar -xzf $(BUILD)/fx8-$(VERSION).tar.gz -C $(BUILD)/deb
	$(Q)cp -R $(BUILD)/deb/fx8-$(VERSION)/.debian $(BUILD)/deb/fx8-$(VERSION)/debian
	$(Q)cd $(BUILD)/deb/fx8-$(VERSION) && \
		env -u MAKEFLAGS -u MAKEOVERRIDES -u BUILD dpkg-buildpackage -us -uc -b $(DEB_FLAGS)
	@ls $(BUILD)/deb/*.deb

.PHONY: format
format: ## let clang-format lay out every source
	$(Q)clang-format -i $$(git ls-files '*.c' '*.cc' '*.h' '*.cu' '*.cuh')

.PHONY: clean
clean: ## remove everything built
	$(Q)rm -rf $(BUILD)

.PHONY: help
help: ## list what can be made
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed 's/:.*## /\t/' | sort | \
		awk -F'\t' '{ printf "  make %-12s %s\n", $$1, $$2 }'
