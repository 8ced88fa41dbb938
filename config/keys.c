/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of keys, in the order of struct fx8_settings.  Fallbacks are
 * written exactly as fx8_settings_dump() prints them (validation/test_config.c
 * checks this).
 */
#include <math.h>
#include <string.h>

#include "config/keys.h"

/* --- words ---------------------------------------------------------------- */

static const struct fx8_choice yes_no[] = {
    {"yes", true}, {"no", false}, {"true", true}, {"false", false}, {NULL, 0},
};
static const struct fx8_choice formats[] = {
    {"auto", FX8_FORMAT_AUTO},
    {"fx8", FX8_FORMAT_FX8},
    {"tart", FX8_FORMAT_TART},
    {"aavs", FX8_FORMAT_AAVS},
    {"digital_rf", FX8_FORMAT_DIGITAL_RF},
    {"guppi", FX8_FORMAT_GUPPI},
    {"vdif", FX8_FORMAT_VDIF},
    {"dada", FX8_FORMAT_DADA},
    {NULL, 0},
};
static const struct fx8_choice sidebands[] = {
    {"as recorded", FX8_SIDEBAND_UNKNOWN},
    {"upper", FX8_SIDEBAND_UPPER},
    {"lower", FX8_SIDEBAND_LOWER},
    {NULL, 0},
};
static const struct fx8_choice polarization_orders[] = {
    {"xy", false}, {"yx", true}, {NULL, 0}};
static const struct fx8_choice column_orders[] = {
    {"channel,antenna,pol", 0},
    {"channel,pol,antenna", 0},
    {"antenna,pol,channel", 0},
    {"antenna,channel,pol", 0},
    {"pol,antenna,channel", 0},
    {"pol,channel,antenna", 0},
    {NULL, 0},
};
static const struct fx8_choice axis_orders[] = {
    {"antenna,pol,time", 0},
    {"antenna,time,pol", 0},
    {"pol,antenna,time", 0},
    {"pol,time,antenna", 0},
    {"time,antenna,pol", 0},
    {"time,pol,antenna", 0},
    {NULL, 0},
};
static const struct fx8_choice orientations[] = {
    {"east", 0}, {"north", 0}, {NULL, 0}};
static const struct fx8_choice methods[] = {
    {"pfb", FX8_METHOD_PFB},
    {"fft", FX8_METHOD_FFT},
    {"none", FX8_METHOD_NONE},
    {NULL, 0},
};
static const struct fx8_choice windows[] = {
    {"auto", FX8_WINDOW_AUTO},
    {"hamming", FX8_WINDOW_HAMMING},
    {"hann", FX8_WINDOW_HANN},
    {"rectangular", FX8_WINDOW_RECTANGULAR},
    {NULL, 0},
};
static const struct fx8_choice firs[] = {
    {"fp32", FX8_FIR_FP32},
    {"dp2a", FX8_FIR_DP2A},
    {NULL, 0},
};
static const struct fx8_choice levels[] = {
    {"channel", FX8_GAIN_PER_CHANNEL},
    {"input", FX8_GAIN_PER_INPUT},
    {NULL, 0},
};
static const struct fx8_choice precisions[] = {
    {"int8", FX8_PRECISION_INT8},
    {"fp32", FX8_PRECISION_FP32},
    {"both", FX8_PRECISION_BOTH},
    {"interval", FX8_PRECISION_INTERVAL},
    {NULL, 0},
};
static const struct fx8_choice backends[] = {
    {"auto", FX8_BACKEND_AUTO},
    {"cpu", FX8_BACKEND_CPU},
    {"cuda", FX8_BACKEND_CUDA},
    {NULL, 0},
};
static const struct fx8_choice spot_checks[] = {
    {"auto", FX8_SPOT_AUTO}, {"yes", FX8_SPOT_YES},  {"no", FX8_SPOT_NO},
    {"true", FX8_SPOT_YES},  {"false", FX8_SPOT_NO}, {NULL, 0},
};
static const struct fx8_choice rank_words[] = {
    {"one", false}, {"mpi", true}, {NULL, 0}};
static const struct fx8_choice alignments[] = {
    {"none", false}, {"utc", true}, {NULL, 0}};
static const struct fx8_choice delay_modes[] = {
    {"none", FX8_DELAY_NONE},
    {"cable", FX8_DELAY_CABLE},
    {"track", FX8_DELAY_TRACK},
    {NULL, 0},
};
static const struct fx8_choice maths[] = {
    {"ieee", FX8_MATH_IEEE}, {"fast", FX8_MATH_FAST}, {NULL, 0}};
static const struct fx8_choice compressions[] = {
    {"none", FX8_COMPRESSION_NONE},
    {"gzip", FX8_COMPRESSION_GZIP},
    {"bitshuffle", FX8_COMPRESSION_BITSHUFFLE},
    {NULL, 0},
};
static const struct fx8_choice sample_types[] = {
    {"complex", FX8_SAMPLES_COMPLEX},
    {"real", FX8_SAMPLES_REAL},
    {NULL, 0},
};

/* --- sections ------------------------------------------------------------- */

const struct fx8_section fx8_sections[] = {
    {"input", "What to read, and how to understand it."},
    {"observation",
     "What the recording does not say of itself. A value given here "
     "wins over the recorded one; a warning says if they differ."},
    {"array", "Antennas, their positions and the site."},
    {"channelizer", "The filter bank."},
    {"quantizer",
     "How spectra are scaled to 8 bits before they are correlated."},
    {"correlator", "The correlation: precision, dumps, machine."},
    {"delay",
     "Alignment of the inputs, and tracking of a position on the sky."},
    {"postprocess", "From sums to visibilities."},
    {"flag", "What to leave out for interference. The data are kept."},
    {"output", "The visibility file."},
    {"simulate",
     "What `fx8 simulate` makes. Rate, frequency and start come from "
     "[observation], antennas and site from [array]."},
};
const size_t fx8_sections_count = sizeof fx8_sections / sizeof *fx8_sections;

/* --- keys ----------------------------------------------------------------- */

#define MEMBER(name)                                                           \
    .offset = offsetof(struct fx8_settings, name),                             \
    .size = sizeof(((struct fx8_settings *)NULL)->name)
#define CHOICE(member, words)                                                  \
    .type = &fx8_type_choice, MEMBER(member), .choices = words
#define INTEGER(member, low, high)                                             \
    .type = &fx8_type_integer, MEMBER(member), .minimum = low, .maximum = high
#define REAL(member, low, high, of_unit)                                       \
    .type = &fx8_type_real, MEMBER(member), .minimum = low, .maximum = high,   \
    .unit = of_unit
#define TEXT(member)      .type = &fx8_type_text, MEMBER(member)
#define NAME(member)      .type = &fx8_type_name, MEMBER(member)
#define PATH(member)      .type = &fx8_type_path, MEMBER(member)
#define WORD(text, value) .word = text, .word_value = value
#define OPTIONAL          WORD("", NAN), .fallback = ""

/* 116 days: at FASTEST_HZ the half samples still stay below 2^63 */
#define LONGEST_S  1e7
#define FASTEST_HZ 1e11
/* largest transform; more channels are useless for 8-bit voltages */
#define MOST_CHANNELS 1048576

const struct fx8_key fx8_keys[] = {
    {"input", "format", CHOICE(input.format, formats), .fallback = "auto",
     .help = "Format of the recording; auto looks into it to find out."},
    {"input", "files", .type = &fx8_type_path_list, MEMBER(input.files),
     .fallback = "",
     .help = "Files of one recording; wildcards (*, ?, [...]) are expanded. "
             "Files named on the command line replace these."},
    {"input", "sideband", CHOICE(observation.sideband, sidebands),
     .fallback = "as recorded",
     .help = "Direction of the recorded band; lower: sky frequency falls as "
             "baseband frequency rises. Upper if neither this key nor the "
             "recording says."},
    {"input", "conjugate", CHOICE(input.conjugate, yes_no), .fallback = "no",
     .help = "Conjugate complex samples, which swaps the sidebands. An error "
             "for real samples."},
    {"input", "polarization_order", CHOICE(input.y_first, polarization_orders),
     .fallback = "xy",
     .help = "Polarisations of the recorded slots 0 and 1; yx: slot 0 is Y."},
    {"input", "column_order", TEXT(input.column_order),
     .choices = column_orders, .fallback = "channel,antenna,pol",
     .help = "Order of the columns in AAVS channel files, and of PSRDADA "
             "without ORDER, slowest first."},
    {"input", "allow_missing_tiles", CHOICE(input.allow_missing_tiles, yes_no),
     .fallback = "no",
     .help = "yes: an AAVS tile without a file counts as missing samples; no: "
             "it is an error."},
    {"input", "missing_value", .type = &fx8_type_marker,
     MEMBER(input.marker.value), .minimum = -128, .maximum = 127,
     .word = "none", .fallback = "none",
     .help = "Sample value that marks missing data: zero, or an integer such "
             "as -128. At least missing_run of them in a row count as not "
             "recorded."},
    {"input", "missing_run", INTEGER(input.marker.least_length, 1, 1048576),
     .unit = "samples", .fallback = "64",
     .help = "Fewest samples in a row of one input that must equal "
             "missing_value to count as missing; of a complex sample both "
             "parts must."},
    {"input", "scale_to_8bit", .type = &fx8_type_scale,
     MEMBER(input.scale_to_8bit), WORD("auto", 0), .fallback = "auto",
     .help = "Factor that fits 16-bit samples into 8 bits. auto chooses one "
             "for each input so that its rms is at most 32. It is divided out "
             "of the results."},
    {"input", "van_vleck", CHOICE(input.van_vleck, yes_no), .fallback = "no",
     .help = "Correct visibilities of samples of 1 to 4 bits (at most 16 "
             "values) for their levels and means, measured in each dump. Needs "
             "method = fft without window, all channels, precision int8 or "
             "fp32; no delays, averages or quick-look."},
    {"input", "start_s", REAL(input.start_s, 0, LONGEST_S, "s"),
     .fallback = "0",
     .help = "Where to start, counted from the first sample and rounded to a "
             "whole sample."},
    {"input", "duration_s", REAL(input.duration_s, 1e-9, LONGEST_S, "s"),
     WORD("all", INFINITY), .fallback = "all",
     .help = "How much to process from start_s on, rounded to whole samples."},

    {"observation", "dc_frequency_hz",
     REAL(observation.dc_frequency_hz, 0, 1e15, "Hz"), OPTIONAL,
     .help = "Sky frequency of baseband zero: the band centre for complex "
             "samples; for real samples the lower band edge in the upper "
             "sideband, the upper edge in the lower."},
    {"observation", "sample_rate_hz", .type = &fx8_type_rate,
     MEMBER(observation.sample_rate), .minimum = 1, .maximum = FASTEST_HZ,
     .unit = "Hz", .fallback = "",
     .help =
         "Samples per second of one input, exact: 16368000 or 25000000/27."},
    {"observation", "start_time_utc", .type = &fx8_type_time,
     MEMBER(observation.start_time), .fallback = "",
     .help = "UTC of the recording's first sample, such as "
             "2024-01-31T12:34:56.789Z. A blank may replace T, Z may be left "
             "out, and up to 12 decimals are read."},
    {"observation", "telescope", TEXT(observation.telescope), .fallback = "",
     .help = "Name of the telescope, copied to the output."},
    {"observation", "instrument", TEXT(observation.instrument), .fallback = "",
     .help = "Name of the receiver or back end, copied to the output."},
    {"observation", "object", TEXT(observation.object), .fallback = "",
     .help = "What was observed, copied to the output."},

    {"array", "antennas", .type = &fx8_type_selection, MEMBER(array.antennas),
     .minimum = 0, .maximum = 65535, .fallback = "all",
     .help = "Antennas to correlate. One number n means the first n antennas; "
             "a list gives 0-based positions in the recording. A single "
             "antenna is a list such as 5-5."},
    {"array", "polarizations", INTEGER(array.polarizations, 1, 2),
     WORD("as recorded", 0), .fallback = "as recorded",
     .help = "1 takes X alone from a recording of two polarisations."},
    {"array", "positions", PATH(array.positions), .word = "none",
     .fallback = "",
     .help = "Antenna table, a CSV or TART's JSON; it wins over a table in the "
             "recording. The CSV has a header line and the columns east_m, "
             "north_m, up_m, and optionally number (a label), name, "
             "cable_delay_ns (or cable_delay_x_ns and cable_delay_y_ns) and "
             "input, the 0-based position in the recording; without input, "
             "rows are in the order of the recording. none is for bench tests "
             "without positions: antennas are written 1 m apart."},
    {"array", "latitude_deg",
     REAL(observation.site.latitude_deg, -90, 90, "deg"), OPTIONAL,
     .help = "Geodetic latitude of the site (WGS84), north positive."},
    {"array", "longitude_deg",
     REAL(observation.site.longitude_deg, -180, 360, "deg"), OPTIONAL,
     .help = "Longitude of the site (WGS84), east positive."},
    /* UVH5 readers require 6350 to 6390 km from the geocentre */
    {"array", "altitude_m",
     REAL(observation.site.altitude_m, -5000, 10000, "m"), OPTIONAL,
     .help = "Height of the site above the WGS84 ellipsoid."},
    {"array", "x_orientation", TEXT(array.x_orientation),
     .choices = orientations, .fallback = "east",
     .help = "Where the X dipoles point, copied to the output."},
    {"array", "flag_antennas", .type = &fx8_type_numbers,
     MEMBER(array.flag_antennas), .minimum = 0, .maximum = 2147483647,
     .fallback = "",
     .help = "Numbers of antennas to flag; their data are kept."},
    {"array", "gains", PATH(array.gains), .fallback = "",
     .help = "CSV of the antennas' gains as a calibration found them, to be "
             "divided out: a header line and the columns number, pol (X or "
             "Y), amplitude, phase_deg, delay_ns; inputs without a row have "
             "gain 1. delay_ns joins the cable delay, so it needs mode = cable "
             "or track."},

    {"channelizer", "method", CHOICE(channelizer.method, methods),
     .fallback = "pfb",
     .help = "pfb: polyphase filter bank; fft: windowed Fourier transform; "
             "none: correlate the recorded samples of a narrow channel as they "
             "are."},
    {"channelizer", "channels",
     INTEGER(channelizer.n_channels, 1, MOST_CHANNELS),
     .help = "Channels of each recorded band, before keep_fraction. Method "
             "none has one channel and does not need this key."},
    {"channelizer", "taps", INTEGER(channelizer.n_taps, 1, 64), .fallback = "8",
     .help = "Length of the polyphase filter, in transforms. Methods fft and "
             "none ignore it."},
    {"channelizer", "window", CHOICE(channelizer.window, windows),
     .fallback = "auto",
     .help = "Window of the filter; auto: hamming for pfb, rectangular for "
             "fft."},
    {"channelizer", "fir", CHOICE(channelizer.fir, firs), .fallback = "fp32",
     .help = "Arithmetic of the filter. fp32: floats; dp2a: exact integers "
             "with 16-bit coefficients, equal on CPU and GPU."},
    {"channelizer", "keep_fraction", .type = &fx8_type_fraction,
     MEMBER(keep_fraction), .fallback = "1",
     .help = "Central part of each band to keep, such as 27/32 of an "
             "oversampled one; it must be a whole number of channels. Complex "
             "samples only."},
    {"channelizer", "ripple_file", PATH(ripple_file), .fallback = "",
     .help =
         "CSV of the power response of the filter that cut out the recorded "
         "bands, to be divided out: a header line and the columns "
         "offset_hz, from the centre of a band and ascending, and power; "
         "between rows it is interpolated. It must cover the centres of all "
         "channels."},
    {"channelizer", "flag_edges",
     INTEGER(channelizer.flag_edges, 0, MOST_CHANNELS / 2), WORD("auto", -1),
     .unit = "channels", .fallback = "auto",
     .help = "Channels to flag on each side of each band; their data are kept. "
             "auto: 2 for complex samples, 1 for real ones, 0 with method none "
             "or keep_fraction below 1."},
    {"channelizer", "flag_dc", CHOICE(channelizer.flag_dc, yes_no),
     .fallback = "no",
     .help = "Flag the channel of baseband zero; its data are kept."},

    /* below 0.1 nearly everything rounds to zero; at 60 LSB, 3.4 % of the
     * samples clip at +-127 */
    {"quantizer", "target_rms", REAL(quantizer.target_rms, 0.1, 60, "LSB"),
     .fallback = "20",
     .help = "Level to which every input and channel is scaled: rms of the "
             "real or imaginary part. 16 to 24 loses least."},
    {"quantizer", "level", CHOICE(quantizer.gain_per, levels),
     .fallback = "channel",
     .help = "channel: a gain per input and channel; input: one per input."},
    {"quantizer", "dither", CHOICE(quantizer.dither, yes_no), .fallback = "no",
     .help = "Add uniform noise of one LSB to the real and the imaginary part "
             "before rounding, the same in every run: weak signals and narrow "
             "lines then have no error but noise. It doubles the rounding "
             "noise."},

    {"correlator", "precision", CHOICE(correlator.precision, precisions),
     .fallback = "int8",
     .help = "int8: quantised spectra, exact integer sums; fp32: floats; both: "
             "two files from one channelisation, and their comparison; "
             "interval: two files that enclose the exact sums of the float "
             "spectra."},
    {"correlator", "backend", CHOICE(machine.backend, backends),
     .fallback = "auto",
     .help = "Where to compute. auto takes a GPU if one can be used, else the "
             "CPU; the summary says which, and why."},
    {"correlator", "device", NAME(machine.device), .fallback = "auto",
     .is_execution = true,
     .help =
         "GPUs to use: auto takes the first usable one, the ranks of a node "
         "one each in turn; numbers such as 0 or 0,1 divide each dump among "
         "those."},
    {"correlator", "kernel", NAME(machine.kernel), .fallback = "auto",
     .help = "Kernel variant, for tests: auto, reference, avx2, avxvnni or "
             "avx512, on 64-bit Arm neon or dotprod; on a GPU auto, dp4a, mma, "
             "wgmma or fp32. auto takes the fastest that runs here."},
    {"correlator", "integration_time_s",
     REAL(correlator.integration_time_s, 1e-3, LONGEST_S, "s"),
     WORD("all", INFINITY),
     .help = "Length of a dump, rounded to whole spectra; all: one dump of the "
             "whole recording."},
    {"correlator", "last_dump_min", REAL(correlator.last_dump_min, 0, 1, ""),
     .fallback = "0.5",
     .help = "Write an incomplete last dump, or with align = utc first dump, "
             "if it holds at least this share of its spectra; 0: if it holds "
             "one; 1: never."},
    {"correlator", "align", CHOICE(correlator.is_aligned, alignments),
     .fallback = "none",
     .help = "none: dumps begin with the first sample and have as many spectra "
             "each; utc: they begin at whole multiples of integration_time_s "
             "since 0 h UTC, so that recordings have the same dumps; their "
             "numbers of spectra may differ by one."},
    {"correlator", "threads", INTEGER(machine.threads.count, 0, 1024),
     .fallback = "0", .is_execution = true,
     .help = "Threads that compute; 0: one for each processor, which the ranks "
             "of a node divide among themselves."},
    {"correlator", "pin_threads", CHOICE(machine.threads.pin, yes_no),
     .fallback = "no", .is_execution = true,
     .help = "Bind each thread to a processor."},
    {"correlator", "spot_check", CHOICE(machine.spot_check, spot_checks),
     .fallback = "auto", .is_execution = true,
     .help = "Recompute a few sums of one channel of every dump on the CPU "
             "from the same spectra, and stop if one differs; auto: on a GPU. "
             "This finds lasting faults; a single wrong bit may pass."},
    {"correlator", "memory_limit_mib",
     INTEGER(machine.memory_limit, 1, 1073741824), WORD("auto", 0),
     .unit = "MiB", .factor = 1 << 20, .fallback = "auto", .is_execution = true,
     .help =
         "Memory that a run may take, with the program and its libraries; if "
         "whole dumps need more, they are summed up and written in slices.  "
         "Unpacked chunks of a packed recording, up to 256 MiB, and what "
         "CUDA and MPI take come on top.  auto: what it runs best with; "
         "slices where half of the machine's memory is too little."},
    {"correlator", "ranks", CHOICE(correlator.has_ranks, rank_words),
     .fallback = "one", .is_execution = true,
     .help = "mpi: the processes that mpirun or srun has started divide the "
             "dumps among themselves, as with --mpi; see CLUSTER.md."},

    {"delay", "mode", CHOICE(delay.mode, delay_modes), .fallback = "none",
     .help = "none: correlate antennas as recorded; cable: remove the delays "
             "of the cables; track: follow a phase centre as well."},
    {"delay", "phase_center_ra_deg",
     REAL(delay.phase_center_ra_deg, 0, 360, "deg"), OPTIONAL,
     .help = "Right ascension of the phase centre, ICRS."},
    {"delay", "phase_center_dec_deg",
     REAL(delay.phase_center_dec_deg, -90, 90, "deg"), OPTIONAL,
     .help = "Declination of the phase centre, ICRS."},
    {"delay", "phase_center_name", TEXT(delay.phase_center_name),
     .fallback = "",
     .help = "Name of the phase centre, copied to the output; default: "
             "[observation] object."},
    {"delay", "phase_centers", PATH(delay.phase_centers), .fallback = "",
     .help = "CSV of several phase centres, in place of phase_center_*: a "
             "header line and the columns name, ra_deg, dec_deg. Each gets a "
             "result of its own, OUT.NAME.uvh5."},
    {"delay", "dut1_s", REAL(delay.dut1_s, -1, 1, "s"), OPTIONAL,
     .help = "UT1 - UTC on the day of the observation. Sidereal times are "
             "written only if this or iers_file is given; otherwise readers "
             "work them out."},
    {"delay", "iers_file", PATH(delay.iers_file), .fallback = "",
     .help = "IERS table of UT1 - UTC and polar motion, in place of dut1_s: "
             "finals2000A, EOP C04 or Bulletin B."},

    {"postprocess", "math", CHOICE(postprocess.math, maths), .fallback = "ieee",
     .help = "Functions of the quick-look: ieee takes those of the C library, "
             "fast takes approximations with known errors."},
    {"postprocess", "quicklook", PATH(postprocess.quicklook), .word = "none",
     .fallback = "none",
     .help = "Quick-look file to write beside the visibilities: coherences and "
             "phases in half precision, spectra in dB, averaged coherences."},
    {"postprocess", "quantization_bias", CHOICE(quantizer.remove_bias, yes_no),
     .fallback = "yes",
     .help = "Subtract the rounding noise of the 8-bit quantiser from the "
             "autocorrelations."},

    {"flag", "clip_level", INTEGER(flag.blanking.level, 1, 127),
     WORD("none", 0), .unit = "LSB", .fallback = "none",
     .help = "Samples above this level or below its negative count as missing "
             "from the filter bank on, of a complex sample if either part is; "
             "for the input and band that they are in, after scale_to_8bit."},
    {"flag", "clip_margin", INTEGER(flag.blanking.margin, 0, 1048576),
     .unit = "samples", .fallback = "0",
     .help = "Samples on each side of one beyond clip_level that count as "
             "missing too."},
    {"flag", "min_weight", REAL(flag.min_weight, 0, 1, ""), .fallback = "0",
     .help = "Flag the cells of a result (a channel of a product of a baseline "
             "in a dump) whose weight nsamples is below this share of the "
             "dump's spectra; after channel_average, as written."},
    {"flag", "sk_false_alarm", REAL(flag.sk_false_alarm, 1e-9, 0.1, ""),
     WORD("none", 0), .fallback = "none",
     .help =
         "Flag a channel of an input in a dump, and so of all its baselines, "
         "if the spectral kurtosis of its valid spectra before the quantiser "
         "is beyond the limits that Gaussian noise passes with this "
         "probability, both sides together. Needs 64 valid spectra."},
    {"flag", "channels", .type = &fx8_type_frequencies, MEMBER(flag.channels),
     .word = "none", .fallback = "none",
     .help =
         "Sky frequencies to flag in every dump: each channel that holds or "
         "touches one of them. The CSV has a header line and the columns "
         "frequency_hz and optionally end_hz, which makes a range of its "
         "row; the configuration in a result has its values."},

    {"output", "file", PATH(output.file), .fallback = "", .is_execution = true,
     .help = "UVH5 file to write; -o on the command line replaces it."},
    {"output", "channel_average",
     INTEGER(output.channel_average, 1, MOST_CHANNELS), .unit = "channels",
     .fallback = "1",
     .help = "How many channels to average into one after the correlation. It "
             "must divide the kept channels of a band; if a band has only one, "
             "the number of bands."},
    {"output", "compression", CHOICE(output.compression, compressions),
     .fallback = "none",
     .help = "Compression of the visibilities. bitshuffle needs the HDF5 "
             "plug-in of that name, here and wherever the file is read."},
    {"output", "baselines", .type = &fx8_type_baselines,
     MEMBER(output.baselines), .minimum = 0, .maximum = 2147483647,
     .fallback = "all",
     .help = "Baselines to write: all; cross: those of two antennas; auto: "
             "the antennas with themselves; or pairs of antenna numbers, such "
             "as 1&2,1&40,5&5. Others are left out of the result, and not "
             "computed where they fill a block: of 4 x 4 inputs on a CPU, of "
             "16 x 16 to 128 x 128, as the kernel has them, on a GPU."},
    {"output", "min_baseline_m", REAL(output.min_baseline_m, 0, 2e7, "m"),
     .fallback = "0",
     .help = "Leave out cross baselines shorter than this; autos stay."},
    {"output", "max_baseline_m", REAL(output.max_baseline_m, 0, 2e7, "m"),
     WORD("none", INFINITY), .fallback = "none",
     .help = "Leave out cross baselines longer than this; autos stay."},

    {"output", "time_average_loss", REAL(output.time_average_loss, 0, 0.5, ""),
     .fallback = "0",
     .help = "Average each baseline over 2, 4, ... up to 64 dumps, as far as a "
             "source anywhere above the horizon loses at most this share of "
             "its amplitude, at the highest frequency that is written; the "
             "loss within a dump is part of it. 0: do not. Rows then have "
             "their own times and lengths. A pause and --resume keep whole "
             "blocks of up to 64 dumps, and each of several processes (--mpi) "
             "has whole ones. Not with compression, precision both or "
             "interval, a quicklook, or positions = none. The truth that fx8 "
             "simulate writes keeps every dump."},

    {"simulate", "sources", PATH(simulate.sources), .fallback = "",
     .help = "CSV of the sources. Columns: az_deg and el_deg of fixed sources, "
             "ra_deg and dec_deg (ICRS) of those that move with the sky; I, Q, "
             "U, V in units of the receiver noise; optionally tone_hz. Without "
             "a file: receiver noise alone."},
    {"simulate", "noise_rms", REAL(simulate.noise_rms, 0, 127, "LSB"),
     .fallback = "16",
     .help = "Receiver noise: rms of a real sample, or of one part of a "
             "complex sample; 0: none."},
    {"simulate", "duration_s", REAL(simulate.duration_s, 1e-9, LONGEST_S, "s"),
     .fallback = "1", .help = "Length of the recording."},
    {"simulate", "samples", CHOICE(simulate.samples, sample_types),
     .fallback = "complex", .help = "Kind of samples."},
    {"simulate", "axis_order", TEXT(simulate.axis_order),
     .choices = axis_orders, .fallback = "antenna,pol,time",
     .help = "Order of the axes in the recording, slowest first; the samples "
             "stay the same."},
    {"simulate", "gain_spread", REAL(simulate.gain_spread, 0, 1, ""),
     .fallback = "0",
     .help = "Spread of the input gains relative to 1; 0: all equal."},
    {"simulate", "gain_phase_deg", REAL(simulate.gain_phase_deg, 0, 180, "deg"),
     .fallback = "0", .help = "Spread of the input phases; 0: all equal."},
    {"simulate", "dropout_fraction",
     REAL(simulate.dropout_fraction, 0, 0.9, ""), .fallback = "0",
     .help = "Fraction of the samples to mark as missing."},
    {"simulate", "seed", INTEGER(simulate.seed, 0, 2147483647), .fallback = "1",
     .help = "Seed of the random numbers: the same seed gives the same "
             "recording."},
};
const size_t fx8_keys_count = sizeof fx8_keys / sizeof *fx8_keys;

bool fx8_section_exists(const char *name)
{
    for (size_t i = 0; i < fx8_sections_count; i++)
        if (strcmp(fx8_sections[i].name, name) == 0)
            return true;
    return false;
}

const struct fx8_key *fx8_key_find(const char *section, const char *name)
{
    for (size_t i = 0; i < fx8_keys_count; i++)
        if (strcmp(fx8_keys[i].section, section) == 0 &&
            strcmp(fx8_keys[i].name, name) == 0)
            return &fx8_keys[i];
    return NULL;
}
