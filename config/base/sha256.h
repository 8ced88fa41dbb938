/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sha256.h -- digest that identifies a configuration: equal digests mean equal
 * settings.  Not used for security.
 */
#ifndef FX8_CONFIG_BASE_SHA256_H
#define FX8_CONFIG_BASE_SHA256_H

#include <stddef.h>

/** Hex digits of a digest, and a terminator. */
#define FX8_SHA256_TEXT_SIZE 65

/**
 * fx8_sha256 -- digest of `size` bytes in lower-case hex digits.
 *
 * Source: FIPS 180-4
 */
void fx8_sha256(const void *data, size_t size, char text[FX8_SHA256_TEXT_SIZE]);

#endif
