/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frames_file.h -- small recordings in plain files, written by hand: GUPPI RAW,
 * VDIF, PSRDADA.
 * Every byte of samples is frames_byte() of its place.
 */
#ifndef FX8_VALIDATION_FRAMES_FILE_H
#define FX8_VALIDATION_FRAMES_FILE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "validation/scratch.h"

enum { FRAMES_BYTES = 1 << 16 };

/** A file that grows. */
struct frames_file {
    char bytes[FRAMES_BYTES];
    size_t n;
};

/** A byte of samples of an antenna; any function that differs everywhere. */
static inline uint8_t frames_byte(size_t antenna, size_t index)
{
    return (uint8_t)(antenna * 57 + index * 31 + index / 7 + 5);
}

/** Add samples [first, first + n) of an antenna's bytes. */
static inline void frames_put_samples(struct frames_file *file, size_t antenna,
                                      size_t first, size_t n)
{
    for (size_t i = first; i < first + n; i++)
        file->bytes[file->n++] = (char)frames_byte(antenna, i);
}

/** Add a text padded to `size` bytes. */
__attribute__((format(printf, 4, 5))) static inline void frames_put_text(
    struct frames_file *file, size_t size, char padding, const char *format,
    ...)
{
    char *to = file->bytes + file->n;
    va_list arguments;
    va_start(arguments, format);
    const int length =
        vsnprintf(to, sizeof file->bytes - file->n, format, arguments);
    va_end(arguments);
    memset(to + length, padding, size - (size_t)length);
    file->n += size;
}

/* --- GUPPI RAW ------------------------------------------------------------ */

/* Two coarse channels, two polarisations; 64,000 samples a second. */
enum { GUPPI_BLOCK = 128, GUPPI_BLOCKS = 4, GUPPI_OVERLAP = 8 };

/** One antenna in four blocks that overlap; the third is lost if `has_gap`. */
static inline void put_guppi(const char *name, size_t antenna, bool has_gap)
{
    static struct frames_file file;
    file.n = 0;
    for (size_t block = 0; block < GUPPI_BLOCKS; block++) {
        if (has_gap && block == 2)
            continue;
        const struct {
            const char *key, *value;
        } cards[] = {
            {"TELESCOP", "'GBT     '"},
            {"OBSFREQ", "1500.0 / MHz"},
            {"OBSBW", "-0.128"},
            {"OBSNCHAN", "2"},
            {"NPOL", "4"},
            {"NBITS", "8"},
            {"TBIN", "1.5625E-05"},
            {"STT_IMJD", "58000"},
            {"STT_SMJD", "3600"},
            {"STT_OFFS", "0.25"},
            {"PKTSIZE", "8"},
            {"OVERLAP", "8"},
            {"BLOCSIZE", "1024"},
            {"DIRECTIO", "1"},
        };
        for (size_t i = 0; i < sizeof cards / sizeof cards[0]; i++)
            frames_put_text(&file, 80, ' ', "%-8s= %20s", cards[i].key,
                            cards[i].value);
        frames_put_text(&file, 80, ' ', "PKTIDX  = %20zu",
                        block * (GUPPI_BLOCK - GUPPI_OVERLAP));
        frames_put_text(&file, 80, ' ', "END");
        frames_put_text(&file, (512 - file.n % 512) % 512, ' ', "%s", "");
        frames_put_samples(&file, antenna, block * 1000, 1024);
    }
    scratch_write(name, file.bytes, file.n);
}

/* --- VDIF ----------------------------------------------------------------- */

/* Complex samples, 64,000 a second, of two threads. */
enum { VDIF_SAMPLES = 64, VDIF_FRAMES = 40 };

static inline void frames_put_word(struct frames_file *file, uint32_t word)
{
    for (int byte = 0; byte < 4; byte++)
        file->bytes[file->n++] = (char)(word >> 8 * byte & 255);
}

/** One antenna; frames 11 and 12 of one thread are lost if `has_gap`, another
 *  is marked as invalid. */
static inline void put_vdif(const char *name, size_t antenna, bool has_gap)
{
    static struct frames_file file;
    file.n = 0;
    for (uint32_t frame = 0; frame < VDIF_FRAMES; frame++)
        for (uint32_t thread = 0; thread < 2; thread++) {
            if (has_gap && thread == 1 && (frame == 11 || frame == 12))
                continue;
            const uint32_t bytes = 32 + 2 * VDIF_SAMPLES;
            const uint32_t is_invalid = has_gap && frame == 20;
            frames_put_word(&file, is_invalid << 31 | 1000);
            frames_put_word(&file, UINT32_C(41) << 24 | frame);
            frames_put_word(&file, UINT32_C(1) << 29 | bytes / 8);
            frames_put_word(&file, UINT32_C(1) << 31 | 7 << 26 | thread << 16);
            frames_put_word(&file, UINT32_C(1) << 24 | 64);
            for (int i = 0; i < 3; i++)
                frames_put_word(&file, 0);
            frames_put_samples(&file, 2 * antenna + thread,
                               frame * 2 * VDIF_SAMPLES, 2 * VDIF_SAMPLES);
        }
    scratch_write(name, file.bytes, file.n);
}

/* --- PSRDADA -------------------------------------------------------------- */

/* Real samples of two polarisations, 64,000 a second. */
enum { DADA_SAMPLES = 1000, DADA_OVERLAP = 10 };

/** A file of one antenna, `part` times less than DADA_SAMPLES after the start.
 */
static inline void put_dada(const char *name, size_t antenna, size_t part)
{
    static struct frames_file file;
    const size_t first = part * (DADA_SAMPLES - DADA_OVERLAP);
    file.n = 0;
    frames_put_text(&file, 4096, '\0',
                    "HEADER DADA\nHDR_VERSION 1.0\nHDR_SIZE 4096 # bytes\n"
                    "TELESCOPE Effelsberg\nUTC_START 2020-09-13-12:26:40\n"
                    "PICOSECONDS 5\nNBIT 8\nNDIM 1\nNPOL 2\nNCHAN 1\n"
                    "FREQ 1400.0\nBW 0.032\nTSAMP 15.625\nORDER FTP\n"
                    "OBS_OVERLAP %d\nOBS_OFFSET %zu\n",
                    2 * DADA_OVERLAP, 2 * first);
    frames_put_samples(&file, antenna, 2 * first, 2 * DADA_SAMPLES);
    scratch_write(name, file.bytes, file.n);
}

#endif
