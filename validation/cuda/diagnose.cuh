/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diagnose.cuh -- diagnosis of a correlator with wrong sums: the pairs, the
 * sub-tiles, and where each place of a fragment arrives.
 *
 * Fragments are those of the tensor cores: 16 rows or 8 columns of a tile.  One
 * number of a fragment is 1, all others of its side of the tile are 0, the
 * other side is random: the sums then show which of its numbers was multiplied
 * by the 1, and so the part and time at which the 1 arrived.
 */
#ifndef FX8_VALIDATION_CUDA_DIAGNOSE_CUH
#define FX8_VALIDATION_CUDA_DIAGNOSE_CUH

#include <stdarg.h>

#include <algorithm>
#include <map>
#include <string>

#include "kernels/cuda/correlate.h"
#include "kernels/cuda/layout.h"
#include "kernels/operations.h"
#include "validation/cuda/device_array.h"

namespace diagnose
{

/** A line of text by printf()'s rules. */
__attribute__((format(printf, 1, 2))) inline std::string line(
    const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

inline const char *part_name(size_t part)
{
    return part == 0 ? "re" : "im";
}

/** Spectra of integers, [channel][row][time]; row 2 i is the real part of
 *  input i. */
struct Spectra {
    size_t n_inputs, n_channels, n_times;
    std::vector<int8_t> x;

    Spectra(size_t inputs, size_t channels, size_t times)
        : n_inputs(inputs), n_channels(channels), n_times(times),
          x(channels * 2 * inputs * times)
    {
    }
    int8_t &at(size_t channel, size_t input, size_t part, size_t time)
    {
        return x[((channel * n_inputs + input) * 2 + part) * n_times + time];
    }
    int at(size_t channel, size_t input, size_t part, size_t time) const
    {
        return x[((channel * n_inputs + input) * 2 + part) * n_times + time];
    }
    /** Random integers, often -128, at all times of some inputs. */
    void fill(size_t channel, size_t first, size_t end, uint64_t seed)
    {
        for (size_t input = first; input < end; ++input)
            for (size_t k = 0; k < 2 * n_times; ++k)
                at(channel, input, k / n_times, k % n_times) =
                    static_cast<int8_t>(harness::random_next(&seed) >> 32);
    }
    /** In the device's layout; whatever no kernel may use is garbage. */
    template <class T> std::vector<T> laid_out() const
    {
        constexpr size_t TIMES = 16 / sizeof(T);
        const size_t pitch = fx8_cuda_pitch(n_inputs);
        std::vector<T> to(
            (n_channels * n_columns<T>() * pitch + FX8_CUDA_TAIL_ROWS) * TIMES,
            static_cast<T>(85));
        for (size_t c = 0; c < n_channels; ++c)
            for (size_t row = 0; row < 2 * n_inputs; ++row)
                for (size_t t = 0; t < n_columns<T>() * TIMES; ++t)
                    to[((c * n_columns<T>() + t / TIMES) * pitch + row) *
                           TIMES +
                       t % TIMES] =
                        static_cast<T>(t < n_times ? at(c, row / 2, row % 2, t)
                                                   : 0);
        return to;
    }
    /** Columns of 16 bytes of a channel. */
    template <class T> size_t n_columns() const
    {
        return (n_times * sizeof(T) + 15) / 16;
    }
};

/** Sums that the kernel adds to zeros, [channel][pair][part]; empty after an
 *  error of the runtime. */
template <class T, class Sum>
std::vector<int64_t> sums_as(const fx8_cuda_correlator &correlator,
                             const Spectra &spectra)
{
    const int n_failed = tap::n_failed_checks;
    DeviceArray<T> x(spectra.laid_out<T>());
    DeviceArray<Sum> sums(std::vector<Sum>(2 * spectra.n_channels *
                                           fx8_pair_count(spectra.n_inputs)));
    const fx8_cuda_correlation job = {spectra.n_inputs,
                                      spectra.n_channels,
                                      spectra.n_times,
                                      x.data(),
                                      spectra.n_columns<T>() *
                                          fx8_cuda_pitch(spectra.n_inputs),
                                      sums.data(),
                                      nullptr};
    MUST(correlator.accumulate(&job));
    const std::vector<Sum> found = sums.read();
    if (tap::n_failed_checks != n_failed)
        return {};
    return std::vector<int64_t>(found.begin(), found.end());
}

inline std::vector<int64_t> sums_of(const fx8_cuda_correlator &correlator,
                                    const Spectra &spectra)
{
    return correlator.is_int8 ? sums_as<int8_t, int64_t>(correlator, spectra)
                              : sums_as<float, double>(correlator, spectra);
}

/* --- differences -----------------------------------------------------------
 */

/** How many numbers a sub-tile has, and how many are wrong. */
struct Cell {
    size_t n, n_wrong;
};

constexpr size_t SUB_ROWS = 16, SUB_COLUMNS = 8, MOST_TOLD = 16;

/** All tiles of one kind, added up. */
struct TileMap {
    const char *name;
    size_t side; /* sub-tiles of 8 in a row */
    std::vector<Cell> cells;
    size_t n_wrong;

    TileMap(const char *what, size_t tile)
        : name(what), side(tile / SUB_COLUMNS),
          cells(side * ((tile + SUB_ROWS - 1) / SUB_ROWS)), n_wrong(0)
    {
    }
    void add(size_t row, size_t column, bool is_wrong)
    {
        Cell &cell = cells[row / SUB_ROWS * side + column / SUB_COLUMNS];
        ++cell.n;
        cell.n_wrong += is_wrong;
        n_wrong += is_wrong;
    }
    std::string text() const
    {
        std::string text = line(
            "  tiles %s, by 16 x 8: . right, + wrong in part, # all wrong\n",
            name);
        for (size_t k = 0; k < cells.size(); ++k) {
            if (k % side == 0)
                text += line("    j %3zu  ", k / side * SUB_ROWS);
            text += cells[k].n == 0                 ? ' '
                    : cells[k].n_wrong == 0         ? '.'
                    : cells[k].n_wrong < cells[k].n ? '+'
                                                    : '#';
            if (k % side == side - 1)
                text += '\n';
        }
        return text;
    }
};

/** A pair's sum by the definition. */
inline int64_t plain_sum(const Spectra &s, size_t channel, size_t i, size_t j,
                         size_t part)
{
    int64_t sum = 0;
    for (size_t t = 0; t < s.n_times; ++t)
        sum += part == 0 ? s.at(channel, j, 0, t) * s.at(channel, i, 0, t) +
                               s.at(channel, j, 1, t) * s.at(channel, i, 1, t)
                         : s.at(channel, j, 1, t) * s.at(channel, i, 0, t) -
                               s.at(channel, j, 0, t) * s.at(channel, i, 1, t);
    return sum;
}

/** The finding of tell_differences(). */
struct Verdict {
    bool is_error; /* the runtime reported one */
    size_t n_wrong;
    std::string text;
};

/** Compare full and ragged tiles of random spectra with the definition. */
inline Verdict tell_differences(const fx8_cuda_correlator &correlator,
                                size_t n_times)
{
    const size_t tile = correlator.tile_inputs;
    Spectra spectra(2 * tile + tile / 2 + 3, 2, n_times);
    for (size_t channel = 0; channel < 2; ++channel)
        spectra.fill(channel, 0, spectra.n_inputs, 90 + channel);
    const std::vector<int64_t> found = sums_of(correlator, spectra);
    if (found.empty())
        return {true, 0, ""};
    Verdict verdict = {false, 0, ""};
    TileMap maps[] = {
        {"on the diagonal", tile}, {"below it", tile}, {"at the edge", tile}};
    size_t k = 0;
    for (size_t channel = 0; channel < 2; ++channel)
        for (size_t j = 0; j < spectra.n_inputs; ++j)
            for (size_t i = 0; i <= j; ++i)
                for (size_t part = 0; part < 2; ++part, ++k) {
                    const int64_t wanted =
                        plain_sum(spectra, channel, i, j, part);
                    const bool is_wrong = found[k] != wanted;
                    maps[j >= 2 * tile          ? 2
                         : j / tile == i / tile ? 0
                                                : 1]
                        .add(j % tile, i % tile, is_wrong);
                    if (is_wrong && verdict.n_wrong++ < MOST_TOLD)
                        verdict.text += line(
                            "  channel %zu, i %zu, j %zu, %s: got %lld, wanted "
                            "%lld\n",
                            channel, i, j, part_name(part),
                            static_cast<long long>(found[k]),
                            static_cast<long long>(wanted));
                }
    verdict.text =
        line("%s: %zu of %zu numbers of %zu inputs, %zu times differ\n",
             correlator.name, verdict.n_wrong, k, spectra.n_inputs, n_times) +
        verdict.text;
    for (const TileMap &map : maps)
        if (map.n_wrong > 0)
            verdict.text += map.text();
    return verdict;
}

/* --- impulses --------------------------------------------------------------
 */

/** A number of a fragment. */
struct Place {
    size_t input, part, time;
};

/** One side of a tile below the diagonal. */
struct Side {
    bool are_rows;
    size_t tile, fragment; /* inputs */

    Side(bool of_rows, size_t tile_inputs)
        : are_rows(of_rows), tile(tile_inputs), fragment(of_rows ? 16 : 8)
    {
    }
    size_t n_places(size_t n_times) const
    {
        return fragment * 2 * n_times;
    }
    Place place(size_t number, size_t n_times) const
    {
        return {number / (2 * n_times), number / n_times % 2, number % n_times};
    }
    /** The first input of this side, and of the other. */
    size_t first() const
    {
        return are_rows ? tile : 0;
    }
    size_t other() const
    {
        return are_rows ? 0 : tile;
    }
};

/** Sums of one input of the side with all of the other. */
class Seen
{
  public:
    Seen(const Side &side, const Spectra &spectra,
         const std::vector<int64_t> &sums, size_t channel)
        : side_(side), spectra_(spectra), channel_(channel),
          sums_(&sums[channel * 2 * fx8_pair_count(spectra.n_inputs)])
    {
    }
    /** Whether these are the sums of a 1 at (part, time). */
    bool is_at(size_t input, size_t part, size_t time) const
    {
        for (size_t o = side_.other(); o < side_.other() + side_.tile; ++o) {
            const int r = spectra_.at(channel_, o, 0, time);
            const int m = spectra_.at(channel_, o, 1, time);
            const int re = part == 0 ? r : m;
            const int im = part == 0 ? m : -r;
            /* conj(E_i) E_j: the other way round for rows */
            if (sum(input, o)[0] != re ||
                sum(input, o)[1] != (side_.are_rows ? -im : im))
                return false;
        }
        return true;
    }
    bool is_nothing(size_t input) const
    {
        for (size_t o = side_.other(); o < side_.other() + side_.tile; ++o)
            if (sum(input, o)[0] != 0 || sum(input, o)[1] != 0)
                return false;
        return true;
    }

  private:
    const int64_t *sum(size_t input, size_t other) const
    {
        return sums_ + 2 * fx8_pair_index(std::min(input, other),
                                          std::max(input, other));
    }

    const Side &side_;
    const Spectra &spectra_;
    size_t channel_;
    const int64_t *sums_;
};

/** Where the 1 of a fragment arrived, and where it should; empty if it did. */
inline std::string landing(const Seen &seen, const Side &side, size_t fragment,
                           const Place &wanted, size_t n_times)
{
    const size_t first = side.first() + fragment * side.fragment;
    std::string text;
    for (size_t input = 0; input < side.fragment; ++input) {
        const bool is_own = input == wanted.input;
        if (is_own && seen.is_at(first + input, wanted.part, wanted.time))
            continue;
        const bool is_nothing = seen.is_nothing(first + input);
        if (is_nothing && is_own)
            text += ", not in its own";
        if (is_nothing)
            continue;
        size_t k = 0;
        while (k < 2 * n_times &&
               !seen.is_at(first + input, k / n_times, k % n_times))
            ++k;
        text += line(", %+d inputs",
                     static_cast<int>(input) - static_cast<int>(wanted.input));
        text += k == 2 * n_times
                    ? ": sums of no number"
                    : line(", %s as %s, %+d times", part_name(wanted.part),
                           part_name(k / n_times),
                           static_cast<int>(k % n_times) -
                               static_cast<int>(wanted.time));
    }
    return text.empty() ? text : text.substr(2);
}

/** Pairs of all channels of a call: 32 MiB of sums. */
constexpr size_t MOST_SUMS = size_t(2) << 20;

/** Every place of every fragment of a side, with n_times times. */
inline Verdict tell_impulses(const fx8_cuda_correlator &correlator,
                             bool are_rows, size_t n_times)
{
    const Side side(are_rows, correlator.tile_inputs);
    const size_t n_channels =
        std::max<size_t>(1, MOST_SUMS / fx8_pair_count(2 * side.tile));
    const size_t n_fragments = side.tile / side.fragment;
    Verdict verdict = {false, 0, ""};
    std::map<std::string, std::pair<size_t, std::string>> landings;
    for (size_t first = 0; first < side.n_places(n_times);
         first += n_channels) {
        const size_t n = std::min(n_channels, side.n_places(n_times) - first);
        Spectra spectra(2 * side.tile, n, n_times);
        for (size_t c = 0; c < n; ++c) {
            const Place place = side.place(first + c, n_times);
            spectra.fill(c, side.other(), side.other() + side.tile, first + c);
            for (size_t f = 0; f < n_fragments; ++f)
                spectra.at(c, side.first() + f * side.fragment + place.input,
                           place.part, place.time) = 1;
        }
        const std::vector<int64_t> sums = sums_of(correlator, spectra);
        if (sums.empty())
            return {true, verdict.n_wrong, verdict.text};
        for (size_t c = 0; c < n; ++c) {
            const Seen seen(side, spectra, sums, c);
            const Place place = side.place(first + c, n_times);
            for (size_t f = 0; f < n_fragments; ++f) {
                const std::string where =
                    landing(seen, side, f, place, n_times);
                if (where.empty())
                    continue;
                ++verdict.n_wrong;
                auto &entry = landings[where];
                if (entry.first++ == 0)
                    entry.second =
                        line("fragment %zu, input %zu, %s, time %zu", f,
                             place.input, part_name(place.part), place.time);
            }
        }
    }
    verdict.text = line("%s: impulses in %s: %zu of %zu places are wrong\n",
                        correlator.name, are_rows ? "rows (j)" : "columns (i)",
                        verdict.n_wrong, n_fragments * side.n_places(n_times));
    std::vector<std::pair<size_t, std::string>> order;
    for (const auto &each : landings)
        order.push_back({each.second.first,
                         each.first + " (first: " + each.second.second + ")"});
    std::sort(order.rbegin(), order.rend());
    for (size_t k = 0; k < std::min(order.size(), MOST_TOLD); ++k)
        verdict.text +=
            line("    %6zu: ", order[k].first) + order[k].second + "\n";
    if (order.size() > MOST_TOLD)
        verdict.text +=
            line("    and %zu other ways\n", order.size() - MOST_TOLD);
    return verdict;
}

} // namespace diagnose

#endif
