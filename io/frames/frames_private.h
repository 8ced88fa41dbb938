/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frames_private.h -- what the sources of frames.h share.
 */
#ifndef FX8_IO_FRAMES_FRAMES_PRIVATE_H
#define FX8_IO_FRAMES_FRAMES_PRIVATE_H

#include "io/frames/frames.h"

/** Open a file in place of the one that is open, and note its size. */
enum fx8_status fx8_frames_open(struct fx8_frames_reader *reader, size_t number,
                                struct fx8_error *error);

#endif
