/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_twins.cu -- the CPU twins of instructions against their
 * definitions.
 *
 * Shows: as cuda/test_cuda_threads.cu
 */
#include <limits.h>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/ptx.h"
#include "kernels/cuda/ptx_tensor.h"
#include "validation/cuda/device_array.h"

namespace twins_tests
{

/* Bytes of all values, with -128 more often than by chance. */
static std::vector<int8_t> random_bytes(size_t n, uint64_t seed)
{
    std::vector<int8_t> bytes(n);
    for (int8_t &byte : bytes) {
        const uint64_t random = harness::random_next(&seed);
        byte = static_cast<int8_t>(random % 8 == 0 ? -128 : random >> 32);
    }
    return bytes;
}

/* Sum over k of 32 products a[k] b[k], plus the prior value, modulo 2^32. */
static int row_product(const int8_t *a, const int8_t *b, int before)
{
    unsigned sum = static_cast<unsigned>(before);
    for (int k = 0; k < 32; ++k)
        sum += static_cast<unsigned>(a[k] * b[k]);
    return static_cast<int>(sum);
}

/* --- arithmetic
 * -------------------------------------------------------------------- */

static int byte_of(unsigned word, int k)
{
    return static_cast<int8_t>(word >> 8 * k & 255);
}

static int short_of(unsigned word, int k)
{
    return static_cast<int16_t>(word >> 16 * k & 0xffff);
}

TEST(dot_products_of_words)
{
    uint64_t state = 3;
    for (int n = 0; n < 20000; ++n) {
        const unsigned special[] = {0x80808080, 0x7f7f7f7f, 0x80007fff, 0};
        unsigned a = static_cast<unsigned>(harness::random_next(&state));
        unsigned b = static_cast<unsigned>(harness::random_next(&state));
        unsigned c = static_cast<unsigned>(harness::random_next(&state));
        if (n < 64) {
            a = special[n % 4];
            b = special[n / 4 % 4];
            c = special[n / 16];
        }
        unsigned four = c, low = c, high = c;
        for (int k = 0; k < 4; ++k)
            four += static_cast<unsigned>(byte_of(a, k) * byte_of(b, k));
        for (int k = 0; k < 2; ++k) {
            low += static_cast<unsigned>(short_of(a, k) * byte_of(b, k));
            high += static_cast<unsigned>(short_of(a, k) * byte_of(b, k + 2));
        }
        const int ia = static_cast<int>(a), ib = static_cast<int>(b);
        const int ic = static_cast<int>(c);
        CHECK(__dp4a(ia, ib, ic) == static_cast<int>(four));
        CHECK(__dp2a_lo(ia, ib, ic) == static_cast<int>(low));
        CHECK(__dp2a_hi(ia, ib, ic) == static_cast<int>(high));
    }
}

TEST(integers_and_conversions)
{
    CHECK(__byte_perm(0x33221100, 0x77665544, 0x7531) == 0x77553311);
    CHECK(__byte_perm(0x80, 0, 0x0008) == 0x808080ff);
    CHECK(__float2int_rn(2.5F) == 2 && __float2int_rn(-3.5F) == -4);
    CHECK(__float2int_rn(NAN) == 0);
    CHECK(__float2int_rn(3e9F) == INT_MAX && __float2int_rn(-3e9F) == INT_MIN);
    CHECK(__float_as_uint(-0.0F) == 0x80000000);
}

TEST(directed_rounding_encloses)
{
    uint64_t state = 5;
    int n_apart = 0;
    for (int n = 0; n < 1000; ++n) {
        const float a = static_cast<float>(
            static_cast<int32_t>(harness::random_next(&state)));
        const float b = static_cast<float>(
            static_cast<int32_t>(harness::random_next(&state)));
        /* 48 bits and a sum: exact in long double. */
        const long double exact = static_cast<long double>(a) * b + 1.0L;
        const float low = __fmaf_rd(a, b, 1.0F), high = __fmaf_ru(a, b, 1.0F);
        CHECK(low <= exact && exact <= high);
        CHECK(nextafterf(low, INFINITY) >= high);
        const double big = a, small = ldexp(static_cast<double>(b), -40);
        const double below = __dadd_rd(big, small);
        const double above = __dadd_ru(big, small);
        /* apart by less than 2^63: exact in long double, if not in double */
        const long double sum = static_cast<long double>(big) + small;
        CHECK(below <= sum && sum <= above);
        CHECK(nextafter(below, INFINITY) >= above);
        n_apart += below < above;
    }
    CHECK(n_apart > 500);
    CHECK(fegetround() == FE_TONEAREST);
}

/* libm's values, so only the range is tested: zero for subnormals, and a few
 * values. */
TEST(approximate_functions_stand_for_the_device_s)
{
    CHECK(fx8_ptx_rcp(4.0F) == 0.25F && isinf(fx8_ptx_rcp(1e-40F)));
    CHECK(fx8_ptx_rsqrt(16.0F) == 0.25F && isinf(fx8_ptx_rsqrt(1e-40F)));
    CHECK(fx8_ptx_ex2(-3.0F) == 0.125F && fx8_ptx_ex2(-140.0F) == 0.0F);
    CHECK(fx8_ptx_lg2(8.0F) == 3.0F && isinf(fx8_ptx_lg2(1e-40F)));
    CHECK(fx8_ptx_sin(0.0F) == 0.0F && fx8_ptx_cos(0.0F) == 1.0F);
    CHECK(fx8_ptx_tanh(20.0F) == 1.0F);
}

/* --- a warp's tiles
 * -------------------------------------------------------------------- */

/* Tiles to shared memory in pieces of 16 bytes, [row][2] and in R16's order:
 * the first 16 of k of every row, then the others. */
__global__ void mma(const int8_t *a, const int8_t *b, const int *before,
                    int *after)
{
    __shared__ __align__(16) int8_t rows_a[2][16][16], rows_b[2][8][16];
    const unsigned lane = threadIdx.x;
    const unsigned row = lane % 16, part = lane / 16;
    fx8_ptx_copy_async(rows_a[part][row], a + 32 * row + 16 * part, 16);
    if (row < 8)
        fx8_ptx_copy_async(rows_b[part][row], b + 32 * row + 16 * part, 16);
    fx8_ptx_copy_commit();
    fx8_ptx_copy_wait<0>();
    __syncwarp();
    int tile_a[4], tile_b[4], sums[4];
    fx8_ptx_ldmatrix_x4(tile_a, rows_a[lane / 16][lane % 16]);
    fx8_ptx_ldmatrix_x4(tile_b, rows_b[lane / 8 % 2][lane % 8]);
    for (unsigned r = 0; r < 4; ++r) {
        const unsigned at = (lane / 4 + r / 2 * 8) * 8 + lane % 4 * 2 + r % 2;
        sums[r] = before[at];
    }
    const int pair_b[2] = {tile_b[0], tile_b[1]};
    fx8_ptx_mma_s8(sums, tile_a, pair_b);
    for (unsigned r = 0; r < 4; ++r) {
        const unsigned at = (lane / 4 + r / 2 * 8) * 8 + lane % 4 * 2 + r % 2;
        after[at] = sums[r];
    }
}

TEST(a_warp_multiplies_tiles)
{
    in_every_order([] {
        const std::vector<int8_t> a = random_bytes(16 * 32, 7);
        const std::vector<int8_t> b = random_bytes(8 * 32, 8);
        std::vector<int> before(16 * 8);
        for (size_t k = 0; k < before.size(); ++k)
            before[k] = INT_MAX - static_cast<int>(1000 * k);
        DeviceArray<int8_t> da(a), db(b);
        DeviceArray<int> dbefore(before), dafter(before.size());
        FX8_LAUNCH(mma, dim3(1), dim3(32), 0, nullptr, da.data(), db.data(),
                   dbefore.data(), dafter.data());
        const std::vector<int> after = dafter.read();
        for (size_t row = 0; row < 16; ++row)
            for (size_t column = 0; column < 8; ++column)
                CHECK(after[row * 8 + column] ==
                      row_product(&a[32 * row], &b[32 * column],
                                  before[row * 8 + column]));
    });
}

/* Groups that are not waited for have not arrived; bytes that are not copied
 * are 0. */
__global__ void copy_groups(const int4 *from, int4 *to)
{
    __shared__ int4 box[3];
    for (int k = 0; k < 3; ++k) {
        box[k] = make_int4(-1, -1, -1, -1);
        fx8_ptx_copy_async(&box[k], &from[k], k == 0 ? 4 : 16);
        fx8_ptx_copy_commit();
    }
    fx8_ptx_copy_wait<1>();
    for (int k = 0; k < 3; ++k)
        to[k] = box[k];
    fx8_ptx_copy_wait<0>();
    to[3] = box[2];
}

TEST(copies_arrive_when_waited_for_and_not_before)
{
    const std::vector<int4> from(3, make_int4(1, 2, 3, 4));
    DeviceArray<int4> dfrom(from), dto(4);
    FX8_LAUNCH(copy_groups, dim3(1), dim3(1), 0, nullptr, dfrom.data(),
               dto.data());
    const std::vector<int4> to = dto.read();
    CHECK(to[0].x == 1 && to[0].y == 0 && to[0].z == 0 && to[0].w == 0);
    CHECK(to[1].x == 1 && to[1].w == 4);
    CHECK(to[2].x == -1 && to[2].w == -1);
    CHECK(to[3].x == 1 && to[3].w == 4);
}

/* --- a warpgroup's
 * ------------------------------------------------------------------------ */

/* Two warpgroups of 64 rows each times COLUMNS, over steps of 32 of k in the
 * order [k / 16][row][16]; the warp of thread 256 feeds a ring of two. */
template <int COLUMNS>
__global__ void wgmma(const int8_t *a, const int8_t *b, int *out, int steps)
{
    FX8_DYNAMIC_SHARED(int8_t, ring);
    __shared__ uint64_t full[2], empty[2];
    const unsigned thread = threadIdx.x, lane = thread % 32;
    const unsigned bytes_a = 2 * 128 * 16, bytes_b = 2 * COLUMNS * 16;
    if (thread == 0) {
        for (int k = 0; k < 2; ++k) {
            fx8_ptx_mbarrier_init(&full[k], 1);
            fx8_ptx_mbarrier_init(&empty[k], 2);
        }
        fx8_ptx_mbarrier_init_fence();
    }
    __syncthreads();
    if (thread >= 256) {
        for (int step = 0; step < steps && thread == 256; ++step) {
            const int slot = step % 2;
            int8_t *const to =
                ring + static_cast<unsigned>(slot) * (bytes_a + bytes_b);
            fx8_ptx_mbarrier_wait(&empty[slot], step / 2 % 2 == 0 ? 1 : 0);
            fx8_ptx_mbarrier_expect(&full[slot], bytes_a + bytes_b);
            fx8_ptx_bulk_copy(to, a + static_cast<unsigned>(step) * bytes_a,
                              bytes_a, &full[slot]);
            fx8_ptx_bulk_copy(to + bytes_a,
                              b + static_cast<unsigned>(step) * bytes_b,
                              bytes_b, &full[slot]);
        }
        return;
    }
    int sums[COLUMNS / 2];
    for (int &sum : sums)
        sum = 0;
    for (int step = 0; step < steps; ++step) {
        const int slot = step % 2;
        const int8_t *const from =
            ring + static_cast<unsigned>(slot) * (bytes_a + bytes_b);
        fx8_ptx_mbarrier_wait(&full[slot], static_cast<unsigned>(step / 2 % 2));
        fx8_ptx_wgmma_fence();
        fx8_ptx_wgmma_s8(
            sums,
            fx8_ptx_matrix_descriptor(from + thread / 128 * 64 * 16, 128 * 16,
                                      128),
            fx8_ptx_matrix_descriptor(from + bytes_a, COLUMNS * 16, 128));
        fx8_ptx_wgmma_commit();
        fx8_ptx_wgmma_wait<0>();
        if (thread % 128 == 0)
            fx8_ptx_mbarrier_arrive(&empty[slot]);
    }
    for (unsigned r = 0; r < COLUMNS / 2; ++r) {
        const unsigned row = thread / 32 * 16 + lane / 4 + r / 2 % 2 * 8;
        out[row * COLUMNS + r / 4 * 8 + lane % 4 * 2 + r % 2] = sums[r];
    }
}

template <int COLUMNS> static void check_wgmma()
{
    const int steps = 5;
    const size_t rows = 128, columns = COLUMNS;
    const std::vector<int8_t> a = random_bytes(steps * rows * 32, 11);
    const std::vector<int8_t> b = random_bytes(steps * columns * 32, 12);
    DeviceArray<int8_t> da(a), db(b);
    DeviceArray<int> out(rows * columns);
    const size_t bytes = 2 * 32 * (rows + columns);
    FX8_LAUNCH(wgmma<COLUMNS>, dim3(1), dim3(288), bytes, nullptr, da.data(),
               db.data(), out.data(), steps);
    MUST(cudaGetLastError());
    const std::vector<int> found = out.read();
    for (size_t row = 0; row < rows; ++row)
        for (size_t column = 0; column < columns; ++column) {
            int sum = 0;
            for (size_t k = 0; k < 2 * steps; ++k)
                for (size_t t = 0; t < 16; ++t)
                    sum += a[(k * rows + row) * 16 + t] *
                           b[(k * columns + column) * 16 + t];
            CHECK(found[row * columns + column] == sum);
        }
}

TEST(warpgroups_multiply_tiles_that_a_producer_brings)
{
    in_every_order([] {
        check_wgmma<64>();
        check_wgmma<128>();
        check_wgmma<256>();
    });
}

} // namespace twins_tests
