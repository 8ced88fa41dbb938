/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LZF decompression: a stream written by hand, the same stream cut at every
 * length, and noise. Output must stay within its buffer (the sanitizers check).
 * python/test_compare_report.py reads what h5py compresses.
 *
 * Shows (recordings, LZF): streams written by hand, cut short, or of noise are
 *     decompressed or refused
 * Within: bytes equal; within the buffer
 */
#include "io/h5/lzf.h"
#include "validation/testing.h"

/* "abc", 5 bytes from 3 back, a literal, 7 + 2 + 200 more of it */
static const uint8_t stream[] = {2, 'a', 'b',    'c', 3 << 5, 2,
                                 0, '!', 7 << 5, 200, 0};

TEST(a_stream_written_by_hand)
{
    uint8_t got[300];
    const size_t n = fx8_h5_lzf_unpack(stream, sizeof stream, got, sizeof got);
    assert_int_equal(n, 3 + 5 + 1 + 209);
    assert_memory_equal(got, "abcabcab!", 9);
    for (size_t k = 9; k < n; k++)
        assert_int_equal(got[k], '!');
    /* one byte too little */
    assert_int_equal(fx8_h5_lzf_unpack(stream, sizeof stream, got, n), n);
    assert_int_equal(fx8_h5_lzf_unpack(stream, sizeof stream, got, n - 1), 0);
}

/* Cut between elements it unpacks to less, otherwise to nothing. */
TEST(streams_cut_short)
{
    static const size_t expected[sizeof stream] = {0, 0, 0, 0, 3, 0,
                                                   8, 0, 9, 0, 0};
    for (size_t n = 0; n < sizeof stream; n++) {
        uint8_t *copy = malloc(n + 1), got[300];
        assert_non_null(copy);
        memcpy(copy + 1, stream, n); /* at the memory's end */
        assert_int_equal(fx8_h5_lzf_unpack(copy + 1, n, got, sizeof got),
                         expected[n]);
        free(copy);
    }
    /* a copy from before the beginning */
    const uint8_t early[] = {0, 'a', 1 << 5, 1};
    uint8_t got[300];
    assert_int_equal(fx8_h5_lzf_unpack(early, sizeof early, got, sizeof got),
                     0);
}

TEST(noise_stays_in_its_room)
{
    struct generator generator = {.state = 3};
    for (int round = 0; round < 20000; round++) {
        const size_t n = 1 + (size_t)(random_bits(&generator) >> 58);
        const size_t room = 1 + (size_t)(random_bits(&generator) >> 56);
        uint8_t *packed = malloc(n), *got = malloc(room);
        assert_true(packed != NULL && got != NULL);
        for (size_t k = 0; k < n; k++)
            packed[k] = (uint8_t)((random_bits(&generator) >> 56) &
                                  (round % 2 ? 0xff : 0x23));
        assert_true(fx8_h5_lzf_unpack(packed, n, got, room) <= room);
        free(packed);
        free(got);
    }
}
