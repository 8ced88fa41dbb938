/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_share.c -- every unfinished block of dumps belongs to one rank, in their
 * order, and no rank has two more than another; with fewer blocks than ranks
 * dumps are divided.
 *
 * Shows (failures, division of dumps): for up to 12 blocks of 1 or 4 dumps, the
 *     last of them also shorter, 14 ranks and every pattern of finished blocks
 * Within: exact
 */
#include "correlator/run/share.h"
#include "validation/testing.h"

enum { MOST_BLOCKS = 12, BLOCK = 4, MOST_RANKS = 14 };

/* Dumps that are finished if their block is, which is a bit of the pattern. */
static void fill(uint8_t *finished, int64_t n_dumps, int64_t block,
                 unsigned pattern)
{
    for (int64_t d = 0; d < n_dumps; d++)
        finished[d] = pattern >> d / block & 1;
}

/* Check the shares of n ranks. */
static void check_shares(const uint8_t *finished, int64_t n_dumps,
                         int64_t block, int n)
{
    const struct fx8_plan plan = {.spectra_per_dump = 8192};
    int64_t next = 0, least = INT64_MAX, most = 0;
    for (int rank = 0; rank < n; rank++) {
        const struct fx8_ranks ranks = {.rank = rank, .n = n};
        const struct fx8_share share =
            fx8_share_of(finished, n_dumps, block, &plan, &ranks);
        int64_t n_own = 0; /* blocks */
        assert_int_equal(share.part, 0);
        if (share.first < share.end) {
            for (; next < share.first; next++)
                assert_true(finished[next] == 1);
            assert_int_equal(next, share.first);
            for (; next < share.end; next++)
                n_own += next % block == 0 && !finished[next];
            assert_int_equal(share.first % block, 0);
            assert_true(share.end % block == 0 || share.end == n_dumps);
            assert_int_equal(finished[share.first], 0);
            assert_int_equal(finished[share.end - 1], 0);
        }
        least = n_own < least ? n_own : least;
        most = n_own > most ? n_own : most;
    }
    for (; next < n_dumps; next++)
        assert_int_equal(finished[next], 1);
    assert_true(most <= least + 1);
}

TEST(every_dump_has_one_rank)
{
    for (int64_t n_dumps = 1; n_dumps <= MOST_BLOCKS; n_dumps++)
        for (unsigned pattern = 0; pattern < 1u << n_dumps; pattern++) {
            uint8_t finished[MOST_BLOCKS];
            fill(finished, n_dumps, 1, pattern);
            for (int n = 2; n <= MOST_RANKS; n++)
                check_shares(finished, n_dumps, 1, n);
        }
}

/* Dumps that are averaged stay together. */
TEST(every_block_has_one_rank)
{
    for (int64_t n_dumps = 1; n_dumps <= 6 * BLOCK; n_dumps++)
        for (unsigned pattern = 0; pattern < 1u << 6; pattern++) {
            uint8_t finished[6 * BLOCK];
            fill(finished, n_dumps, BLOCK, pattern);
            for (int n = 2; n <= MOST_RANKS; n++)
                check_shares(finished, n_dumps, BLOCK, n);
        }
    const struct fx8_plan plan = {.spectra_per_dump = 8192};
    assert_int_equal(fx8_share_idle(&plan, 2 * BLOCK, BLOCK, 3), 1);
    assert_int_equal(fx8_share_idle(&plan, 2 * BLOCK + 1, BLOCK, 3), 0);
}

/* Segments of n_dumps dumps for n ranks: every one in one part, INT8 in no more
 * parts than ranks. */
static void check_parts(const uint8_t *finished, int64_t n_dumps, int64_t block,
                        int n, const struct fx8_plan *plan)
{
    int64_t n_left = 0; /* blocks */
    for (int64_t d = 0; d < n_dumps; d += block)
        n_left += !finished[d];
    for (int rank = 0; rank < n; rank++) {
        const struct fx8_ranks ranks = {.rank = rank, .n = n};
        const struct fx8_share share =
            fx8_share_of(finished, n_dumps, block, plan, &ranks);
        assert_int_equal(share.part > 0, n_left < n);
        if (share.part == 0)
            return;
        int64_t n_own = 0;
        for (int64_t d = share.first; d < share.end; d += block)
            n_own += !finished[d];
        assert_int_equal(n_own, rank == 0 ? n_left : 0);
        const int64_t n_parts = fx8_share_parts(plan, 0, share.part);
        assert_true(n_parts * share.part >= 5);
        assert_true((n_parts - 1) * share.part < 5);
        if (plan->precision != FX8_PRECISION_INT8)
            assert_int_equal(share.part, 1);
        else
            assert_true(n_parts <= n);
    }
}

TEST(fewer_dumps_than_ranks_are_divided)
{
    struct fx8_plan plan = {.spectra_per_dump = 4 * 8192 + 1};
    for (size_t k = 0; k < 2; k++) {
        plan.precision = k == 0 ? FX8_PRECISION_INT8 : FX8_PRECISION_BOTH;
        for (int64_t n_dumps = 1; n_dumps <= 5; n_dumps++)
            for (unsigned pattern = 0; pattern < 1u << n_dumps; pattern++) {
                uint8_t finished[5];
                for (int64_t block = 1; block <= BLOCK; block += BLOCK - 1) {
                    fill(finished, n_dumps, block, pattern);
                    for (int n = 2; n <= MOST_RANKS; n++)
                        check_parts(finished, n_dumps, block, n, &plan);
                }
            }
        /* two dumps of 5 segments: INT8 alone in as many parts as there are
         * ranks, at most */
        assert_int_equal(fx8_share_idle(&plan, 2, 1, 2), 0);
        assert_int_equal(fx8_share_idle(&plan, 2, 1, 3), 0);
        assert_int_equal(fx8_share_idle(&plan, 2, 1, 13), 3);
        assert_int_equal(fx8_share_idle(&plan, 2, 2, 13), 3);
    }
    /* the last dump is one segment; a dump that cannot be divided */
    plan.n_spectra = plan.spectra_per_dump + 8192;
    assert_int_equal(fx8_share_idle(&plan, 2, 1, 8), 2);
    assert_int_equal(fx8_share_parts(&plan, 1, 1), 1);
    plan.spectra_per_dump = 8192;
    assert_int_equal(fx8_share_idle(&plan, 2, 1, 8), 6);
}

/* A process alone has all dumps: the quick-look looks at finished ones too. */
TEST(a_process_alone_has_all)
{
    const uint8_t finished[3] = {1, 0, 1};
    const struct fx8_plan plan = {.spectra_per_dump = 100000};
    const struct fx8_share share =
        fx8_share_of(finished, 3, 1, &plan, &fx8_ranks_alone);
    assert_int_equal(share.first, 0);
    assert_int_equal(share.end, 3);
    size_t n_threads;
    struct fx8_error error;
    must(fx8_share_threads(&fx8_ranks_alone, &n_threads, &error), error);
    assert_true(n_threads >= 1);
}
