# SPDX-License-Identifier: BSD-3-Clause
"""fx8.py -- libfx8 for Python: numpy arrays of samples in, visibilities out.

    import fx8

    plan = fx8.fx8_plan_default()
    plan.n_antennas = 2
    plan.sample_rate = fx8.fx8_rate(1_600_000, 1)
    plan.dc_frequency_hz = 150e6
    plan.channelizer.n_channels = 16
    plan.spectra_per_dump = 4096
    dumps = []
    with fx8.Session(plan, dumps.append) as session:
        for block in blocks:            # int8 [antenna][time][re, im]
            session.push(block)
        session.finish()
    for dump in dumps:
        result = dump.results[fx8.FX8_RESULT_INT8]
        for f, xx in zip(session.frequencies_hz, result.visibilities[1, :, 0]):
            print(dump.index, f, abs(xx))

Needs numpy, and libfx8 where the loader finds it (LD_LIBRARY_PATH).  Names that
begin with fx8_ or FX8_ are those of fx8.h, where they are explained.
"""
from collections import namedtuple
from ctypes import (
    CDLL, CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double,
    c_float, c_int, c_int8, c_int64, c_size_t, c_ssize_t, c_uint, c_uint8,
    c_uint16, c_uint64, c_void_p)

import numpy as np

Dump = namedtuple("Dump", "index n_spectra results")   # None: not planned
Result = namedtuple("Result", "visibilities flags nsamples")


class Error(Exception):
    """A failure, with the library's message and status."""

    def __init__(self, error):
        super().__init__(error.message.decode())
        self.status = error.status


class Session:
    """A running correlation, whose finished dumps deliver() receives as copies.
    If it raises an exception, the push ends; repeat it to continue."""

    def __init__(self, plan, deliver):
        self.plan = plan    # keeps its callbacks alive
        self.deliver, self.next_sample = deliver, plan.first_sample
        self.handle, self.error = POINTER(fx8_session)(), fx8_error()
        self._check(fx8_open(plan, fx8_dump_callback(), None, self.handle,
                             self.error))
        self.axes = fx8_plan_axes(plan)
        self.cell = (2,) if plan.is_complex else ()
        self.frequencies_hz = np.empty(self.axes.n_channels)
        fx8_frequencies(plan, _pointer(self.frequencies_hz, c_double),
                        c_double())

    def push(self, samples, first_sample=None, missing=()):
        """Push int8 [row][time], or [row][time][re, im] if complex, of any
        strides.  Without first_sample they follow those of the last push.
        missing: (first sample, number of samples, row or -1) of each gap."""
        samples = np.asarray(samples)
        want = (self.axes.n_rows, *samples.shape[1:2], *self.cell)
        if samples.dtype != np.int8 or samples.shape != want:
            raise ValueError(f"samples: {samples.dtype} {samples.shape}: "
                             f"expected int8 {want}")
        if self.cell and samples.strides[2] != 1:
            samples = np.ascontiguousarray(samples)
        row, time = samples.strides[:2]
        first = self.next_sample if first_sample is None else first_sample
        self._deliver(fx8_push, fx8_block(
            samples=_pointer(samples, c_int8), time_stride=time,
            input_offset=(c_ssize_t * want[0])(
                *(i * row for i in range(want[0]))),
            first_sample=first, n_samples=want[1],
            missing=(fx8_gap * len(missing))(*missing),
            n_missing=len(missing)))
        self.next_sample = first + want[1]

    def finish(self):
        """No more samples: deliver the last dump; returns the number of spectra
        of an incomplete one, which is dropped."""
        dropped = c_int64()
        self._deliver(fx8_finish, dropped)
        return dropped.value

    def cancel(self):
        """From any thread: push() and finish() raise FX8_ERR_CANCELLED."""
        if self.handle:
            fx8_cancel(self.handle)

    def close(self):
        fx8_close(self.handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _check(self, status):
        if status < 0:
            raise Error(self.error)
        return status

    def _deliver(self, function, argument):
        while self._check(function(self.handle, argument, self.error)):
            dump = fx8_take_dump(self.handle).contents
            shape = dump.n_baselines, dump.n_channels, dump.n_products
            self.deliver(Dump(dump.index, dump.n_spectra, [Result(
                _copy(result.visibilities, *shape, 2).view("c8")[..., 0],
                _copy(result.flags, *shape).view(bool),
                _copy(result.nsamples, *shape))
                if result.visibilities else None for result in dump.results]))


def _copy(pointer, *shape):
    return np.ctypeslib.as_array(pointer, shape).copy()


def _pointer(array, kind):
    return array.ctypes.data_as(POINTER(kind))


def _function(name, result, *parameters):
    function = getattr(_library, name)
    function.restype, function.argtypes = result, parameters
    return function


# All declarations of fx8.h: `make pages` writes them.
FX8_VERSION_MAJOR = 0
FX8_VERSION_MINOR = 1
FX8_VERSION_PATCH = 0
FX8_ERROR_MESSAGE_SIZE = 1024
FX8_PICOSECONDS = 1000000000000
FX8_FLAG_EDGES_AUTO = c_size_t(-1).value
FX8_GAIN_SPECTRA = 256
FX8_MAX_MISSING_DUMPS = 1048576
FX8_MAX_ANTENNAS = 32768
FX8_COHERENCE_SCALE = 16384.0
_library = CDLL("libfx8.so.0.1")
FX8_OK = 0
FX8_DUMP_READY = 1
FX8_ERR_USAGE = -1
FX8_ERR_INPUT = -2
FX8_ERR_SYSTEM = -3
FX8_ERR_CANCELLED = -4
FX8_ERR_UNSUPPORTED = -5
FX8_ERR_DEVICE = -6


class fx8_error(Structure):
    _fields_ = [("status", c_int),
        ("message", c_char * FX8_ERROR_MESSAGE_SIZE)]


fx8_fail = _function("fx8_fail", c_int, POINTER(fx8_error), c_int, c_char_p)


class fx8_time(Structure):
    _fields_ = [("unix_s", c_int64), ("picosecond", c_int64)]


class fx8_rate(Structure):
    _fields_ = [("numerator_hz", c_int64), ("denominator", c_int64)]


fx8_rate_hz = _function("fx8_rate_hz", c_double, fx8_rate)
fx8_rate_reduced = _function("fx8_rate_reduced", fx8_rate, fx8_rate)
fx8_time_add_half_samples = _function("fx8_time_add_half_samples", fx8_time,
    fx8_time, c_int64, fx8_rate)
fx8_time_julian_date = _function("fx8_time_julian_date", c_double, fx8_time)
fx8_time_from_julian_date = _function("fx8_time_from_julian_date", fx8_time,
    c_double)
FX8_METHOD_PFB = 0
FX8_METHOD_FFT = 1
FX8_METHOD_NONE = 2
FX8_WINDOW_AUTO = 0
FX8_WINDOW_HAMMING = 1
FX8_WINDOW_HANN = 2
FX8_WINDOW_RECTANGULAR = 3
FX8_FIR_FP32 = 0
FX8_FIR_DP2A = 1
FX8_GAIN_PER_CHANNEL = 0
FX8_GAIN_PER_INPUT = 1
FX8_RESULT_INT8 = 0
FX8_RESULT_FP32 = 1
FX8_RESULT_DOWN = 2
FX8_RESULT_UP = 3
FX8_N_RESULTS = 4
FX8_PRECISION_INT8 = 1
FX8_PRECISION_FP32 = 2
FX8_PRECISION_BOTH = 3
FX8_PRECISION_INTERVAL = 12
FX8_MATH_IEEE = 0
FX8_MATH_FAST = 1
FX8_BACKEND_AUTO = 0
FX8_BACKEND_CPU = 1
FX8_BACKEND_CUDA = 2
FX8_SPOT_AUTO = 0
FX8_SPOT_YES = 1
FX8_SPOT_NO = 2


class fx8_marker(Structure):
    _fields_ = [("is_used", c_bool), ("value", c_int),
        ("least_length", c_int64)]


class fx8_blanking(Structure):
    _fields_ = [("level", c_int64), ("margin", c_int64)]


class fx8_channelizer(Structure):
    _fields_ = [("method", c_uint), ("n_channels", c_size_t),
        ("n_kept", c_size_t), ("n_taps", c_size_t), ("window", c_uint),
        ("fir", c_uint), ("flag_edges", c_size_t), ("flag_dc", c_bool)]


class fx8_quantizer(Structure):
    _fields_ = [("target_rms", c_double), ("gain_per", c_uint),
        ("remove_bias", c_bool), ("dither", c_bool)]


class fx8_threads(Structure):
    _fields_ = [("count", c_size_t), ("pin", c_bool)]


FX8_TRANSFORM_AUTO = 0
FX8_TRANSFORM_LANES = 1
FX8_TRANSFORM_ESTIMATE = 2
FX8_TRANSFORM_MEASURE = 3


class fx8_machine(Structure):
    _fields_ = [("backend", c_uint), ("device", c_char_p),
        ("first_device", c_size_t), ("kernel", c_char_p),
        ("threads", fx8_threads), ("transform", c_uint),
        ("spot_check", c_uint), ("memory_limit", c_size_t),
        ("slices_above", c_size_t), ("beside", c_size_t),
        ("beside_whole", c_size_t)]


class fx8_block(Structure):
    pass


fx8_reread_callback = CFUNCTYPE(c_int, c_void_p, c_int64, POINTER(fx8_block),
    POINTER(fx8_error))
fx8_delay_callback = CFUNCTYPE(c_int, c_void_p, c_int64, POINTER(c_double),
    POINTER(fx8_error))


class fx8_delays(Structure):
    _fields_ = [("delay", fx8_delay_callback), ("context", c_void_p),
        ("most_s", c_double), ("turns", POINTER(c_double))]


class fx8_dump_grid(Structure):
    _fields_ = [("numerator", c_int64), ("denominator", c_int64),
        ("offset", c_int64)]


class fx8_plan(Structure):
    _fields_ = [("is_complex", c_bool), ("n_antennas", c_size_t),
        ("n_polarizations", c_size_t), ("sample_rate", fx8_rate),
        ("dc_frequency_hz", c_double), ("lower_sideband", c_bool),
        ("n_bands", c_size_t), ("band_offset_hz", POINTER(c_double)),
        ("input_gain", POINTER(c_double)), ("ripple", POINTER(c_double)),
        ("first_sample", c_int64), ("marker", fx8_marker),
        ("blanking", fx8_blanking), ("van_vleck", c_bool),
        ("delays", fx8_delays), ("channelizer", fx8_channelizer),
        ("quantizer", fx8_quantizer), ("reread", fx8_reread_callback),
        ("reread_context", c_void_p), ("machine", fx8_machine),
        ("precision", c_uint), ("spectra_per_dump", c_int64),
        ("grid", fx8_dump_grid), ("n_spectra", c_int64),
        ("channel_average", c_size_t), ("flag_antenna", POINTER(c_uint8)),
        ("flag_channel", POINTER(c_uint8)), ("min_weight", c_double),
        ("sk_false_alarm", c_double), ("baselines", POINTER(c_size_t)),
        ("n_baselines", c_size_t), ("quicklook", c_bool), ("math", c_uint)]


fx8_plan_default = _function("fx8_plan_default", fx8_plan)


class fx8_gap(Structure):
    _fields_ = [("first_sample", c_int64), ("n_samples", c_int64),
        ("input", c_int64)]


fx8_block._fields_ = [("samples", POINTER(c_int8)),
    ("input_offset", POINTER(c_ssize_t)), ("time_stride", c_ssize_t),
    ("first_sample", c_int64), ("n_samples", c_int64),
    ("missing", POINTER(fx8_gap)), ("n_missing", c_size_t),
    ("in_place", POINTER(c_int8)), ("room", c_int64)]


class fx8_result(Structure):
    _fields_ = [("visibilities", POINTER(c_float)),
        ("flags", POINTER(c_uint8)), ("nsamples", POINTER(c_float))]


class fx8_quicklook_dump(Structure):
    _fields_ = [("coherence", POINTER(c_uint16)),
        ("amplitude", POINTER(c_uint16)), ("phase", POINTER(c_uint16)),
        ("spectra_db", POINTER(c_float))]


class fx8_quicklook_counts(Structure):
    _fields_ = [("n_cells", c_int64), ("no_product", c_int64),
        ("not_finite", c_int64), ("no_power", c_int64), ("above_one", c_int64),
        ("beyond_half", c_int64), ("fisher_few", c_int64),
        ("fisher_real", c_int64), ("fisher_loud", c_int64),
        ("fisher_clamped", c_int64), ("n_spectra", c_int64),
        ("spectra_no_data", c_int64), ("spectra_infinite", c_int64),
        ("spectra_no_power", c_int64)]


class fx8_quicklook_difference(Structure):
    _fields_ = [("largest", c_double), ("bound", c_double),
        ("n_beyond", c_int64)]


class fx8_quicklook_differences(Structure):
    _fields_ = [("n_dumps", c_int64), ("coherence", fx8_quicklook_difference),
        ("amplitude", fx8_quicklook_difference),
        ("phase", fx8_quicklook_difference),
        ("spectra", fx8_quicklook_difference),
        ("fisher", fx8_quicklook_difference)]


FX8_QUICKLOOK_NONE = 0
FX8_QUICKLOOK_INTERVAL = 1
FX8_QUICKLOOK_LIMIT = 2
FX8_QUICKLOOK_AUTO = 3
FX8_QUICKLOOK_NO_INTERVAL = 4


class fx8_quicklook_average(Structure):
    _fields_ = [("state", c_uint), ("coherence", c_double),
        ("lower", c_double), ("upper", c_double), ("n_cells", c_int64),
        ("n_products", c_double)]


class fx8_dump(Structure):
    _fields_ = [("index", c_int64), ("n_spectra", c_int64),
        ("first_baseline", c_size_t), ("n_baselines", c_size_t),
        ("n_channels", c_size_t), ("n_products", c_size_t),
        ("results", fx8_result * FX8_N_RESULTS), ("dead", POINTER(c_uint8)),
        ("quicklook", fx8_quicklook_dump)]


fx8_dump_callback = CFUNCTYPE(c_int, c_void_p, POINTER(fx8_dump),
    POINTER(fx8_error))


class fx8_statistics(Structure):
    _fields_ = [("n_dumps", c_int64), ("n_spectra", c_int64),
        ("n_valid_spectra", c_int64), ("n_clipped", c_int64),
        ("n_sk_judged", c_int64), ("n_sk_flagged", c_int64),
        ("n_gain_rounds", c_int64), ("align_s", c_double),
        ("channelize_s", c_double), ("correlate_s", c_double),
        ("postprocess_s", c_double), ("quicklook_s", c_double),
        ("gains_s", c_double), ("spot_s", c_double), ("copy_s", c_double),
        ("results_s", c_double)]


class fx8_session(Structure):
    pass


fx8_open = _function("fx8_open", c_int, POINTER(fx8_plan), fx8_dump_callback,
    c_void_p, POINTER(POINTER(fx8_session)), POINTER(fx8_error))
fx8_push = _function("fx8_push", c_int, POINTER(fx8_session),
    POINTER(fx8_block), POINTER(fx8_error))
fx8_pin = _function("fx8_pin", None, POINTER(fx8_session), c_void_p, c_size_t)
fx8_turn = _function("fx8_turn", None, POINTER(fx8_session),
    POINTER(fx8_block), POINTER(c_int8), c_size_t)
fx8_block_end = _function("fx8_block_end", c_int64, POINTER(fx8_session),
    c_int64, c_int64)
fx8_seek = _function("fx8_seek", c_int, POINTER(fx8_session), c_int64, c_int64,
    POINTER(c_int64), POINTER(fx8_error))
fx8_segment_spectra = _function("fx8_segment_spectra", c_int64,
    POINTER(fx8_plan))
fx8_seek_part = _function("fx8_seek_part", c_int, POINTER(fx8_session),
    c_int64, c_int64, c_int64, POINTER(c_int64), POINTER(fx8_error))
fx8_part_size = _function("fx8_part_size", c_size_t, POINTER(fx8_session))
fx8_take_part = _function("fx8_take_part", c_int, POINTER(fx8_session),
    c_void_p, POINTER(fx8_error))
fx8_add_part = _function("fx8_add_part", None, POINTER(fx8_session), c_void_p,
    c_void_p)
fx8_end_parts = _function("fx8_end_parts", c_int, POINTER(fx8_session),
    c_int64, c_void_p, POINTER(fx8_error))
fx8_finish = _function("fx8_finish", c_int, POINTER(fx8_session),
    POINTER(c_int64), POINTER(fx8_error))
fx8_flush = _function("fx8_flush", c_int, POINTER(fx8_session),
    POINTER(fx8_error))
fx8_look = _function("fx8_look", c_int, POINTER(fx8_session),
    POINTER(fx8_dump), POINTER(fx8_error))
fx8_take_dump = _function("fx8_take_dump", POINTER(fx8_dump),
    POINTER(fx8_session))
fx8_cancel = _function("fx8_cancel", None, POINTER(fx8_session))
fx8_close = _function("fx8_close", None, POINTER(POINTER(fx8_session)))
fx8_get_statistics = _function("fx8_get_statistics", None,
    POINTER(fx8_session), POINTER(fx8_statistics))


class fx8_session_info(Structure):
    _fields_ = [("backend", c_char_p), ("reason", c_char_p),
        ("is_spare", c_bool), ("device", c_char_p), ("kernel", c_char_p),
        ("fft_plan", c_char_p), ("memory", c_size_t), ("n_slices", c_size_t)]


fx8_info = _function("fx8_info", fx8_session_info, POINTER(fx8_session))


class fx8_input_gains(Structure):
    _fields_ = [("gain", POINTER(c_float)), ("is_zero", POINTER(c_uint8)),
        ("is_set", POINTER(c_uint8))]


fx8_gains = _function("fx8_gains", fx8_input_gains, POINTER(fx8_session))
fx8_set_gains = _function("fx8_set_gains", c_int, POINTER(fx8_session),
    POINTER(fx8_input_gains), POINTER(fx8_error))


class fx8_input_counts(Structure):
    _fields_ = [("clips", POINTER(c_int64)),
        ("valid_spectra", POINTER(c_int64))]


fx8_inputs = _function("fx8_inputs", fx8_input_counts, POINTER(fx8_session))
fx8_get_quicklook = _function("fx8_get_quicklook", None, POINTER(fx8_session),
    POINTER(fx8_quicklook_counts), POINTER(fx8_quicklook_differences))
fx8_get_coherences = _function("fx8_get_coherences", None,
    POINTER(fx8_session), POINTER(fx8_quicklook_average))


class fx8_axes(Structure):
    _fields_ = [("n_inputs", c_size_t), ("n_rows", c_size_t),
        ("n_kept", c_size_t), ("n_fine", c_size_t), ("n_channels", c_size_t),
        ("band_average", c_size_t), ("n_baselines", c_size_t),
        ("n_products", c_size_t), ("step", c_size_t), ("window", c_size_t),
        ("margin", c_size_t), ("zero_channel", c_size_t),
        ("has_quantiser", c_bool)]


fx8_plan_axes = _function("fx8_plan_axes", fx8_axes, POINTER(fx8_plan))
fx8_plan_weights = _function("fx8_plan_weights", None, POINTER(fx8_plan),
    POINTER(c_double))
fx8_plan_flag_channels = _function("fx8_plan_flag_channels", None,
    POINTER(fx8_plan), POINTER(c_uint8))
fx8_count_dumps = _function("fx8_count_dumps", c_int64, POINTER(fx8_plan),
    c_int64)
fx8_align_dumps = _function("fx8_align_dumps", c_int, POINTER(fx8_plan),
    fx8_time, c_int64, c_int64, POINTER(fx8_error))
fx8_dump_first = _function("fx8_dump_first", c_int64, POINTER(fx8_plan),
    c_int64)
fx8_dump_of = _function("fx8_dump_of", c_int64, POINTER(fx8_plan), c_int64)
fx8_dump_spectra = _function("fx8_dump_spectra", c_int64, POINTER(fx8_plan),
    c_int64)
fx8_plan_baseline = _function("fx8_plan_baseline", c_size_t, POINTER(fx8_plan),
    c_size_t)
fx8_baseline_antennas = _function("fx8_baseline_antennas", None, c_size_t,
    c_size_t, POINTER(c_size_t), POINTER(c_size_t))
fx8_frequencies = _function("fx8_frequencies", None, POINTER(fx8_plan),
    POINTER(c_double), POINTER(c_double))
fx8_dump_time = _function("fx8_dump_time", fx8_time, POINTER(fx8_plan),
    fx8_time, c_int64)
fx8_dumps_time = _function("fx8_dumps_time", fx8_time, POINTER(fx8_plan),
    fx8_time, c_int64, c_int64)
fx8_missing_reach = _function("fx8_missing_reach", c_int64,
    POINTER(fx8_marker), POINTER(fx8_blanking))


class fx8_scan_plan(Structure):
    _fields_ = [("n_rows", c_size_t), ("is_complex", c_bool),
        ("first_sample", c_int64), ("n_samples", c_int64),
        ("marker", fx8_marker), ("blanking", fx8_blanking),
        ("most_samples", c_size_t), ("n_threads", c_size_t)]


fx8_scan_callback = CFUNCTYPE(None, c_void_p, c_size_t, POINTER(c_int8),
    POINTER(c_uint64), c_size_t)


class fx8_scan(Structure):
    pass


fx8_scan_open = _function("fx8_scan_open", c_int, POINTER(fx8_scan_plan),
    fx8_scan_callback, c_void_p, POINTER(POINTER(fx8_scan)),
    POINTER(fx8_error))
fx8_scan_push = _function("fx8_scan_push", c_int, POINTER(fx8_scan),
    POINTER(fx8_block), POINTER(c_int64), POINTER(fx8_error))
fx8_scan_close = _function("fx8_scan_close", None, POINTER(POINTER(fx8_scan)))
fx8_version = _function("fx8_version", c_char_p)
