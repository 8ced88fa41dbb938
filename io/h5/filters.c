/* SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <H5PLextern.h>
#include <zlib.h>

#include "config/base/line.h"
#include "io/h5/filters.h"

/** Undo a filter: from `in` into `in`; `expected` bytes if the filter packs. */
typedef bool undo_function(const struct fx8_h5_filter *filter, size_t expected,
                           struct fx8_h5_scratch *scratch, char *fault);

struct fx8_h5_filter_kind {
    H5Z_filter_t id;
    const char *name;
    bool packs;     /* the size of its result depends on the samples */
    bool is_plugin; /* its function comes from a plug-in */
    size_t n_added; /* bytes after the data */
    undo_function *undo;
};

bool fx8_h5_bytes_resize(struct fx8_h5_bytes *bytes, size_t n)
{
    if (n > bytes->capacity) {
        free(bytes->bytes);
        bytes->capacity = 0;
        bytes->n = 0;
        bytes->bytes = malloc(n);
        if (bytes->bytes == NULL)
            return false;
        bytes->capacity = n;
    }
    bytes->n = n;
    return true;
}

void fx8_h5_scratch_clear(struct fx8_h5_scratch *scratch)
{
    free(scratch->in.bytes);
    free(scratch->out.bytes);
    *scratch = (struct fx8_h5_scratch){.in = {NULL, 0, 0}};
}

static void swap(struct fx8_h5_scratch *scratch)
{
    const struct fx8_h5_bytes in = scratch->in;
    scratch->in = scratch->out;
    scratch->out = in;
}

static bool no_memory(size_t n, char *fault)
{
    snprintf(fault, FX8_H5_FAULT_SIZE, "out of memory: %zu bytes of a chunk",
             n);
    return false;
}

/* --- filters of HDF5 itself -------------------------------------- */

static bool undo_deflate(const struct fx8_h5_filter *filter, size_t expected,
                         struct fx8_h5_scratch *scratch, char *fault)
{
    (void)filter;
    if (!fx8_h5_bytes_resize(&scratch->out, expected))
        return no_memory(expected, fault);
    uLongf n = expected;
    const int result =
        uncompress(scratch->out.bytes, &n, scratch->in.bytes, scratch->in.n);
    if (result != Z_OK || n != expected) {
        snprintf(fault, FX8_H5_FAULT_SIZE,
                 "deflate: %zu packed %s, %s: expected %zu bytes from them",
                 scratch->in.n, FX8_NOUN(scratch->in.n, "byte", "bytes"),
                 result == Z_OK ? "too few" : zError(result), expected);
        return false;
    }
    swap(scratch);
    return true;
}

/* Bytes k of all elements are stored together; bytes after the last whole
 * element are not moved. */
static bool undo_shuffle(const struct fx8_h5_filter *filter, size_t expected,
                         struct fx8_h5_scratch *scratch, char *fault)
{
    (void)expected;
    const size_t size = filter->n_values > 0 ? filter->values[0] : 1;
    const size_t n_bytes = scratch->in.n;
    if (size <= 1 || n_bytes / size <= 1)
        return true; /* HDF5 does not change such data */
    if (!fx8_h5_bytes_resize(&scratch->out, n_bytes))
        return no_memory(n_bytes, fault);
    const size_t n = n_bytes / size;
    const uint8_t *from = scratch->in.bytes;
    uint8_t *to = scratch->out.bytes;
    if (size == 2) { /* complex samples; written so that it vectorises */
        for (size_t i = 0; i < n; i++) {
            to[2 * i] = from[i];
            to[2 * i + 1] = from[n + i];
        }
    } else {
        for (size_t k = 0; k < size; k++)
            for (size_t i = 0; i < n; i++)
                to[i * size + k] = from[k * n + i];
    }
    memcpy(to + n * size, from + n * size, n_bytes - n * size);
    swap(scratch);
    return true;
}

/* Fletcher's checksum of 16-bit words, high byte first, an odd byte at the end
 * is the high one (HDF5 file format specification, filter 3). */
static uint32_t fletcher32(const uint8_t *bytes, size_t n)
{
    const size_t most = 360; /* words whose sums stay below 2^32 */
    uint32_t low = 0, high = 0;
    for (size_t words = n / 2; words > 0;) {
        size_t run = words < most ? words : most;
        words -= run;
        for (; run > 0; run--, bytes += 2) {
            low += (uint32_t)bytes[0] << 8 | bytes[1];
            high += low;
        }
        low = (low & 0xffff) + (low >> 16);
        high = (high & 0xffff) + (high >> 16);
    }
    if (n % 2 != 0) {
        low += (uint32_t)bytes[0] << 8;
        high += low;
        low = (low & 0xffff) + (low >> 16);
        high = (high & 0xffff) + (high >> 16);
    }
    low = (low & 0xffff) + (low >> 16);
    high = (high & 0xffff) + (high >> 16);
    return high << 16 | low;
}

/* Four bytes after the data, lowest first.  HDF5 before 1.6.3 swapped the bytes
 * of each half on some machines, which HDF5 also accepts. */
static bool undo_fletcher32(const struct fx8_h5_filter *filter, size_t expected,
                            struct fx8_h5_scratch *scratch, char *fault)
{
    (void)filter, (void)expected;
    if (scratch->in.n < 4) {
        snprintf(fault, FX8_H5_FAULT_SIZE,
                 "fletcher32: %zu %s: expected at least 4", scratch->in.n,
                 FX8_NOUN(scratch->in.n, "byte", "bytes"));
        return false;
    }
    const size_t n = scratch->in.n - 4;
    const uint8_t *at = scratch->in.bytes + n;
    const uint32_t stored = (uint32_t)at[0] | (uint32_t)at[1] << 8 |
                            (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    const uint32_t sum = fletcher32(scratch->in.bytes, n);
    const uint32_t exchanged =
        (sum & 0x00ff00ffu) << 8 | (sum & 0xff00ff00u) >> 8;
    if (stored != sum && stored != exchanged) {
        snprintf(fault, FX8_H5_FAULT_SIZE,
                 "fletcher32: checksum %08" PRIx32 ": expected %08" PRIx32,
                 stored, sum);
        return false;
    }
    scratch->in.n = n;
    return true;
}

/* --- bitshuffle -------------------------------------------------- */

static uint64_t big_endian(const uint8_t *bytes, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | bytes[i];
    return value;
}

/* Whether the lengths in a packed stream match `expected` bytes and its end,
 * because the plug-in does not check them.  Format: uncompressed size (8
 * bytes), block size (4), then per block its packed size (4) and that many
 * bytes; elements beyond a multiple of eight follow unpacked. */
static bool is_bitshuffle_stream(const struct fx8_h5_bytes *in, size_t expected,
                                 size_t element_bytes)
{
    if (in->n < 12 || big_endian(in->bytes, 8) != expected ||
        element_bytes == 0 || expected % element_bytes != 0)
        return false;
    const size_t block = (size_t)big_endian(in->bytes + 8, 4);
    if (block == 0 || block % (8 * element_bytes) != 0)
        return false;
    const size_t as_they_are = expected % (8 * element_bytes);
    const size_t shuffled = expected - as_they_are;
    const size_t n_blocks = (shuffled + block - 1) / block;
    size_t at = 12;
    for (size_t k = 0; k < n_blocks; k++) {
        if (in->n - at < 4)
            return false;
        const size_t n = (size_t)big_endian(in->bytes + at, 4);
        at += 4;
        if (n == 0 || n > in->n - at)
            return false;
        at += n;
    }
    return in->n - at == as_they_are;
}

/* The plug-in's function keeps no state: it allocates memory, fills it from the
 * chunk and frees the chunk. */
static bool undo_bitshuffle(const struct fx8_h5_filter *filter, size_t expected,
                            struct fx8_h5_scratch *scratch, char *fault)
{
    struct fx8_h5_bytes *in = &scratch->in;
    const bool is_packed = filter->n_values > 4 && filter->values[4] != 0;
    const bool is_good =
        filter->n_values > 2 && filter->values[2] != 0 &&
        (is_packed ? is_bitshuffle_stream(in, expected, filter->values[2])
                   : in->n == expected && expected % filter->values[2] == 0);
    void *buffer = in->bytes;
    size_t capacity = in->capacity;
    size_t n = 0;
    if (is_good)
        n = filter->function(H5Z_FLAG_REVERSE | filter->flags, filter->n_values,
                             filter->values, in->n, &capacity, &buffer);
    *in = (struct fx8_h5_bytes){buffer, n, capacity};
    if (n == expected && capacity >= n)
        return true;
    snprintf(fault, FX8_H5_FAULT_SIZE,
             "bitshuffle: damaged chunk: expected %zu bytes from it", expected);
    return false;
}

static const struct fx8_h5_filter_kind kinds[] = {
    {H5Z_FILTER_DEFLATE, "deflate", true, false, 0, undo_deflate},
    {H5Z_FILTER_SHUFFLE, "shuffle", false, false, 0, undo_shuffle},
    {H5Z_FILTER_FLETCHER32, "fletcher32", false, false, 4, undo_fletcher32},
    {FX8_H5_BITSHUFFLE, "bitshuffle", true, true, 0, undo_bitshuffle},
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])

/* --- plug-ins ---------------------------------------------------- */

/* The filter function of a shared object, found as HDF5 does. */
static H5Z_func_t function_of(void *object, H5Z_filter_t id)
{
    typedef const void *get_info(void);
    get_info *info = NULL;
    void *symbol = dlsym(object, "H5PLget_plugin_info");
    memcpy(&info, &symbol, sizeof info); /* ISO C has no such conversion */
    const H5Z_class2_t *class = info != NULL ? info() : NULL;
    return class != NULL && class->version == H5Z_CLASS_T_VERS &&
                   class->id == id && class->decoder_present != 0
               ? class->filter
               : NULL;
}

/* Function of a filter that HDF5 has loaded from its plug-in path; the plug-in
 * is then a shared object of this process and stays loaded. */
static H5Z_func_t find_plugin(H5Z_filter_t id)
{
    if (H5Zfilter_avail(id) <= 0) /* loads it */
        return NULL;
    struct link_map *map = NULL;
    void *self = dlopen(NULL, RTLD_LAZY);
    if (self == NULL || dlinfo(self, RTLD_DI_LINKMAP, &map) != 0)
        return NULL;
    H5Z_func_t found = NULL;
    for (; map != NULL && found == NULL; map = map->l_next) {
        void *object = map->l_name[0] == '\0'
                           ? NULL /* the program */
                           : dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
        if (object == NULL)
            continue;
        found = function_of(object, id);
        if (found == NULL) /* else keep it loaded */
            dlclose(object);
    }
    return found;
}

/* --- the pipeline ------------------------------------------------ */

static const struct fx8_h5_filter_kind *find_kind(H5Z_filter_t id)
{
    for (size_t k = 0; k < N_KINDS; k++)
        if (kinds[k].id == id)
            return &kinds[k];
    return NULL;
}

bool fx8_h5_pipeline_load(hid_t creation, size_t chunk_bytes,
                          struct fx8_h5_pipeline *pipeline, char *reason)
{
    const int n = H5Pget_nfilters(creation);
    size_t n_packing = 0;
    *pipeline = (struct fx8_h5_pipeline){.chunk_bytes = chunk_bytes};
    if (n < 0 || n > FX8_H5_MAX_FILTERS) {
        snprintf(reason, FX8_H5_FAULT_SIZE, "%d filters: expected at most %d",
                 n, FX8_H5_MAX_FILTERS);
        return false;
    }
    for (int i = 0; i < n; i++) {
        struct fx8_h5_filter *filter = &pipeline->filters[i];
        char name[64] = "";
        filter->n_values = FX8_H5_MAX_FILTER_VALUES;
        const H5Z_filter_t id = H5Pget_filter2(
            creation, (unsigned)i, &filter->flags, &filter->n_values,
            filter->values, sizeof name, name, NULL);
        filter->kind = find_kind(id);
        if (filter->kind == NULL ||
            filter->n_values > FX8_H5_MAX_FILTER_VALUES) {
            snprintf(reason, FX8_H5_FAULT_SIZE,
                     "filter %d (%s): not known to keep nothing between calls",
                     (int)id, name);
            return false;
        }
        if (filter->kind->is_plugin)
            filter->function = find_plugin(id);
        if (filter->kind->is_plugin && filter->function == NULL) {
            snprintf(reason, FX8_H5_FAULT_SIZE,
                     "filter %d (%s): no function in its plug-in", (int)id,
                     filter->kind->name);
            return false;
        }
        n_packing += filter->kind->packs;
    }
    if (n_packing > 1) {
        snprintf(reason, FX8_H5_FAULT_SIZE, "packed %zu times", n_packing);
        return false;
    }
    pipeline->n = (size_t)n;
    return true;
}

bool fx8_h5_pipeline_undo(const struct fx8_h5_pipeline *pipeline,
                          uint32_t filter_mask, struct fx8_h5_scratch *scratch,
                          char *fault)
{
    /* only one filter packs, so the sizes before it are known */
    size_t before[FX8_H5_MAX_FILTERS];
    size_t n = pipeline->chunk_bytes;
    for (size_t i = 0; i < pipeline->n; i++) {
        before[i] = n;
        if ((filter_mask >> i & 1) == 0)
            n += pipeline->filters[i].kind->n_added;
    }
    for (size_t i = pipeline->n; i-- > 0;) {
        const struct fx8_h5_filter *filter = &pipeline->filters[i];
        if ((filter_mask >> i & 1) == 0 &&
            !filter->kind->undo(filter, before[i], scratch, fault))
            return false;
    }
    if (scratch->in.n == pipeline->chunk_bytes)
        return true;
    snprintf(fault, FX8_H5_FAULT_SIZE, "%zu %s of a chunk: expected %zu",
             scratch->in.n, FX8_NOUN(scratch->in.n, "byte", "bytes"),
             pipeline->chunk_bytes);
    return false;
}
