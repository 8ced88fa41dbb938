# SPDX-License-Identifier: BSD-3-Clause
#
# fx8: FX cross-correlator for recorded observations.  `make help` lists what
# can be made.  Variables for the command line or config.mk (not tracked):
#
#   CC, CFLAGS, CPPFLAGS, LDFLAGS   as usual; CFLAGS come last and win
#   BUILD=build                     where everything built goes
#   SAN=address,undefined           sanitizers; give them a BUILD of their own
#   CUDA=auto|0|1                   auto: use nvcc where it is found
#   V=1                             show whole commands
#   prefix, bindir, libdir, includedir, DESTDIR   for install

-include config.mk

VERSION   := 0.1.0
SOVERSION := 0
BUILD     ?= build
CFLAGS    ?= -O3 -g
CUDA      ?= auto
prefix    ?= /usr/local
bindir    ?= $(prefix)/bin
libdir    ?= $(prefix)/lib
includedir ?= $(prefix)/include

MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' '$(1)' '$(2)';)

# --- dependencies -----------------------------------------------------------

PKG_CONFIG ?= pkg-config
HDF5_PC := $(shell $(PKG_CONFIG) --exists hdf5-serial 2>/dev/null && echo hdf5-serial || echo hdf5)
PACKAGES := $(HDF5_PC) fftw3f inih erfa zlib
MISSING := $(foreach p,$(PACKAGES),$(shell $(PKG_CONFIG) --exists $(p) 2>/dev/null || echo $(p)))
PC_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null)
PC_LIBS := $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null)

# Contraction is fixed: an fma stands where fmaf() or an intrinsic says so.
REQUIRED := -std=c17 -D_GNU_SOURCE -I. -DFX8_VERSION='"$(VERSION)"' \
	-ffp-contract=off -fno-math-errno -fopenmp -pthread -fPIC \
	-fvisibility=hidden $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wvla \
	-Wstrict-prototypes -Wmissing-prototypes
LINK_FLAGS := -fopenmp -pthread $(if $(SAN),-fsanitize=$(SAN))

# --- sources: a room is a list; a kernel variant is a file with a suffix ----

LIBRARY_SOURCES := config/status.c config/shape.c config/timebase.c \
	$(sort $(wildcard kernels/*.c kernels/cpu/*.c)) \
	$(sort $(wildcard correlator/library/*.c))
PROGRAM_SOURCES := \
	$(filter-out $(LIBRARY_SOURCES),$(sort $(wildcard config/*.c io/*.c \
	correlator/*.c correlator/commands/*.c)))
TEST_SOURCES := $(sort $(wildcard validation/test_*.c))
HEADERS := $(sort $(wildcard config/*.h kernels/*.h kernels/cpu/*.h io/*.h \
	correlator/*.h correlator/library/*.h correlator/commands/*.h validation/*.h))

LIBRARY_OBJECTS := $(LIBRARY_SOURCES:%.c=$(BUILD)/%.o)
PROGRAM_OBJECTS := $(PROGRAM_SOURCES:%.c=$(BUILD)/%.o)
TEST_PROGRAMS := $(TEST_SOURCES:validation/%.c=$(BUILD)/%)
TESTED_OBJECTS := $(filter-out $(BUILD)/correlator/main.o,$(LIBRARY_OBJECTS) $(PROGRAM_OBJECTS))

# Flags of the kernel variants, by the suffix of the file.
$(BUILD)/%_avx2.o: VARIANT := -mavx2 -mfma -mf16c -mpopcnt
$(BUILD)/%_avx512.o: VARIANT := -mavx512f -mavx512bw -mavx512dq -mavx512vl \
	-mavx512vnni -mavx512vbmi -mfma -mpopcnt

# --- build -------------------------------------------------------------------

.PHONY: all
all: $(BUILD)/fx8 $(BUILD)/libfx8.so ## build the program and the library

ifneq ($(strip $(MISSING)),)
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

# The stamp changes when compiler or flags do, and rebuilds everything then.
STAMP_TEXT := $(CC) $(REQUIRED) $(WARNINGS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(STAMP_TEXT))' | cmp -s - $@ || \
		printf '%s\n' '$(subst ','\'',$(STAMP_TEXT))' > $@
.PHONY: FORCE
FORCE:

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(REQUIRED) $(WARNINGS) $(PC_CFLAGS) $(VARIANT) \
		$(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/fx8: $(LIBRARY_OBJECTS) $(PROGRAM_OBJECTS)
	$(call say,LINK,$@)$(CC) $(LINK_FLAGS) $^ $(PC_LIBS) -ldl -lm $(LDFLAGS) -o $@

$(BUILD)/libfx8.so.$(SOVERSION): $(LIBRARY_OBJECTS)
	$(call say,LINK,$@)$(CC) $(LINK_FLAGS) -shared -Wl,-soname,libfx8.so.$(SOVERSION) \
		-Wl,-z,defs $^ $$($(PKG_CONFIG) --libs fftw3f) -ldl -lm $(LDFLAGS) -o $@

$(BUILD)/libfx8.so: $(BUILD)/libfx8.so.$(SOVERSION)
	$(Q)ln -sf $(<F) $@

$(BUILD)/test_%: $(BUILD)/validation/test_%.o $(TESTED_OBJECTS)
	$(call say,LINK,$@)$(CC) $(LINK_FLAGS) $^ $(PC_LIBS) $$($(PKG_CONFIG) --libs cmocka) \
		-ldl -lm $(LDFLAGS) -o $@

-include $(LIBRARY_OBJECTS:.o=.d) $(PROGRAM_OBJECTS:.o=.d) \
	$(TEST_SOURCES:%.c=$(BUILD)/%.d)

.PRECIOUS: $(BUILD)/%.o

.PHONY: tests
tests: $(TEST_PROGRAMS)

.PHONY: format
format: ## let clang-format lay out every source
	$(Q)clang-format -i $$(git ls-files '*.c' '*.h' '*.cu' '*.cuh')

.PHONY: clean
clean: ## remove everything built
	$(Q)rm -rf $(BUILD)

.PHONY: help
help: ## list what can be made
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed 's/:.*## /\t/' | sort | \
		awk -F'\t' '{ printf "  make %-12s %s\n", $$1, $$2 }'
