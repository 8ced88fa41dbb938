/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_sha256.c
 *
 * Shows: as test_timebase.c
 */
#include "config/base/sha256.h"
#include "validation/testing.h"

static void check(const char *message, size_t size, const char *expected)
{
    char text[FX8_SHA256_TEXT_SIZE];
    memset(text, '!', sizeof text);
    fx8_sha256(message, size, text);
    assert_string_equal(text, expected);
}

/* NIST, examples with intermediate values, and the SHA256ShortMsg vectors */
TEST(nist_examples)
{
    check("", 0,
          "e3b0c44298fc1c149afbf4c8996fb924"
          "27ae41e4649b934ca495991b7852b855");
    check("abc", 3,
          "ba7816bf8f01cfea414140de5dae2223"
          "b00361a396177a9cb410ff61f20015ad");
    check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
          "248d6a61d20638b8e5c026930c3e6039"
          "a33ce45964ff2167f6ecedd419db06c1");
    check("\xd3", 1,
          "28969cdfa74a12c82f3bad960b0b000a"
          "ca2ac329deea5c2328ebc6f2ba9802c1");
}

/* NIST: one million letters a */
TEST(many_blocks)
{
    const size_t size = 1000000;
    char *message = memset(temporary(size), 'a', size);
    check(message, size,
          "cdc76e5c9914fb9281a1c7e284d73e67"
          "f1809a48a497200e046d39ccc7112cd0");
}

/* 55 bytes leave just room for the length, 56 do not, 64 are one whole block:
 * digests by GNU coreutils sha256sum of so many letters x */
TEST(padding_edges)
{
    char message[64];
    memset(message, 'x', sizeof message);
    check(message, 55,
          "d5e285683cd4efc02d021a5c62014694"
          "958901005d6f71e89e0989fac77e4072");
    check(message, 56,
          "04c26261370ee7541549d16dee320c72"
          "3e3fd14671e66a099afe0a377c16888e");
    check(message, 63,
          "75220b47218278e656f2013bb8f0c455"
          "a25eaf01e86c64924e9d48d89776d6f2");
    check(message, 64,
          "7ce100971f64e7001e8fe5a51973ecdf"
          "e1ced42befe7ee8d5fd6219506b5393c");
}
