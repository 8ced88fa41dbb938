/* SPDX-License-Identifier: BSD-3-Clause */
#include "validation/aavs_file.h"
#include "validation/fuzz/claims.h"
#include "validation/fuzz/good_recordings.h"

void make_good_aavs(const char *folder)
{
    static const char *const names[2][2] = {
        {"tiles/tile0-0.hdf5", "tiles/tile0-1.hdf5"},
        {"tiles/tile1-0.hdf5", "tiles/tile1-1.hdf5"}};
    /* the header's scratch folder is separate in each source file */
    claim(mkdir(scratch_path("tiles"), 0777) == 0, "no folder of tiles");
    for (int tile = 0; tile < 2; tile++)
        for (int part = 0; part < 2; part++) {
            const struct piece piece = {.name = names[tile][part],
                                        .tile = tile,
                                        .n_antennas = 2,
                                        .first_antenna = 2 * tile,
                                        .first_channel = 204,
                                        .n_channels = 2,
                                        .first = 700 * part,
                                        .n = 600,
                                        .block = 100,
                                        .gap_at = tile == 1 ? 300 : 0,
                                        .gap = tile == 1 ? 50 : 0,
                                        .order = "cap"};
            put_piece(&piece);
        }
    claim(rename(scratch_path("tiles"), folder) == 0, "%s", folder);
}
