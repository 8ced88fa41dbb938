# SPDX-License-Identifier: BSD-3-Clause
"""The exact scatter of measured visibilities about their expectations.

A visibility is the mean over M spectra of conj(x_i) x_j. Take normal noise of
covariance N_ij = <conj(x_i) x_j> and in it a steady tone of products T_ij. The
scatter z_ij about the expectation has (Isserlis; a = (i, j), b = (k, l))

    <conj(z_a) z_b> = S_ab N_ki N_jl + R_ab (T_ki N_jl + N_ki T_jl)
    <z_a z_b>       = S_ab N_il N_kj + R_ab (T_il N_kj + N_il T_kj)

    S_ab = sum over t, t' of m_a(t) m_b(t') r(t - t')^2           / (M_a M_b)
    R_ab = sum over t, t' of m_a(t) m_b(t') r(t - t') cos(p(t-t')) / (M_a M_b)

m_a(t) is 1 where spectrum t is valid on both inputs; r(d) = sum of w_n w_(n +
dN) is the overlap of windows d spectra apart; p is the phase by which the tone
advances from spectrum to spectrum. With a rectangular window and no losses S =
1 / M, and a product has the variances (P_i P_j +- Re V_ij^2) / 2M in its real
and imaginary part.
"""
import numpy as np


def overlaps(weights, length):
    """r(d), d = 0 ... P - 1."""
    return np.array([weights[:len(weights) - at] @ weights[at:]
                     for at in range(0, len(weights), length)])


def neighbours(weights, length, n_channels):
    """c(k): the correlation of the scatters of channels k apart, k = 0 ...
    n_channels - 1; for white noise, 1 at k = 0."""
    total = 0.0
    for at in range(0, len(weights), length):
        product = weights[:len(weights) - at] * weights[at:]
        n = np.arange(len(product))
        turn = np.exp(2j * np.pi * np.multiply.outer(
            np.arange(n_channels), n) / length)
        total = total + np.abs(turn @ product)**2 * (1 if at == 0 else 2)
    return total / total[0]


class Scatter:
    """Covariances of all products of inputs in all cells.

    Given: valid  bool [dump][input][spectrum]
           noise  [channel][input][input]: N
           tone   the same: T
           turn   p, radian
    """

    def __init__(self, weights, length, valid, noise, tone, turn):
        self.n_inputs = valid.shape[1]
        self.first, self.second = np.triu_indices(self.n_inputs)
        self.is_cross = self.first != self.second
        self.counts = np.array([
            (dump[self.first] & dump[self.second]).sum(axis=1)
            for dump in valid])
        r = overlaps(weights, length)
        self.covariance = np.array([
            self._cells(*self._shares(dump, counts, r, turn), noise, tone)
            for dump, counts in zip(valid, self.counts)])
        self.n_cells = self.covariance.shape[0] * self.covariance.shape[1]
        self.n_parts = self.covariance.shape[2]
        self.roots = np.linalg.cholesky(self.covariance)
        shared = neighbours(weights, length, noise.shape[0])
        apart = np.arange(len(shared))
        self.overlap = 1 + 2 * np.sum(
            (shared**2 * (1 - apart / len(shared)))[1:])

    def _shares(self, valid, counts, r, turn):
        """S and R of one dump: [product][product]."""
        used = (valid[self.first] & valid[self.second]).astype(float)
        shares = [0.0, 0.0]
        for d, value in enumerate(r):
            both = used[:, :used.shape[1] - d] @ used[:, d:].T
            both = both + both.T if d else both
            shares[0] = shares[0] + value**2 * both
            shares[1] = shares[1] + value * np.cos(turn * d) * both
        norm = np.multiply.outer(counts, counts)
        return [share / norm for share in shares]

    def _cells(self, plain, steady, noise, tone):
        """Covariance of the real parts of all products, then of the imaginary
        parts of those that have one: [channel][part][part]."""
        i, j = self.first[:, None], self.second[:, None]
        k, l = self.first[None, :], self.second[None, :]

        def moment(one, other):
            """one, other: index pairs of the two factors"""
            n, m = noise[:, *one], noise[:, *other]
            return (plain * n * m
                    + steady * (tone[:, *one] * m + n * tone[:, *other]))

        turned = moment((k, i), (j, l))
        straight = moment((i, l), (k, j))
        cross = self.is_cross
        real = (turned + straight).real / 2
        mixed = (turned + straight).imag[:, :, cross] / 2
        imaginary = (turned - straight).real[:, cross][:, :, cross] / 2
        return np.block([[real, mixed],
                         [mixed.swapaxes(1, 2), imaginary]])

    def parts(self, products):
        """[dump][channel][product] -> [dump][channel][part], real numbers."""
        return np.concatenate(
            [products.real, products.imag[..., self.is_cross]], axis=-1)

    def deviations(self, products):
        """Each part in units of its sigma."""
        return self.parts(products) / np.sqrt(
            np.diagonal(self.covariance, axis1=2, axis2=3))

    def chi_square(self, products):
        """Sum of squares of all whitened parts: products that share an input are
        not independent, but their whitened parts are."""
        white = np.linalg.solve(self.roots, self.parts(products)[..., None])
        return float(np.sum(white**2))

    def amplitude(self, products, expected):
        """The excess of the overall amplitude, in sigma: the projection on the
        expectation."""
        line = self.parts(expected)[..., None]
        best = np.linalg.solve(self.covariance, line)
        return (np.sum(best * self.parts(products)[..., None])
                / np.sqrt(np.sum(best * line)))

    def band(self, offset=0.0):
        """Expectation and sigma of chi_square(). `offset` is the chi_square() of
        the known errors of the means.

        p parts of one cell have the variance 2 p (1 - 1/M) + Var(q) / M, where
        q is the chi-square of a single spectrum: q = S^2 - 2 S + n with S = sum
        of |x|^2 over n white inputs, gamma distributed.  Cells of neighbouring
        channels are correlated as neighbours() gives.
        """
        n, p = self.n_inputs, self.n_parts
        m = self.counts.mean()
        # moments of S: n (n + 1) ... (n + k - 1)
        moments = np.cumprod(np.arange(n, n + 4, dtype=float))
        square = (moments[3] - 4 * moments[2] + (4 + 2 * n) * moments[1]
                  - 4 * n * moments[0] + n * n)
        cell = 2 * p * (1 - 1 / m) + (square - n**4) / m
        return (self.n_cells * p + offset,
                np.sqrt(self.n_cells * self.overlap * cell + 4 * offset))

    def prefers(self, measured, right, wrong, chosen):
        """By how many sigma some products are nearer to one expectation than to
        another, and the expected number.

        Given:    chosen   positions on the axis of products
        Returned: the projection of measured - (right + wrong) / 2 on the line
                  from wrong to right that separates best, in its own sigma,
                  and half the distance of the two: the first value scatters
                  about the second with sigma 1
        """
        place = np.cumsum(self.is_cross) - 1
        parts = np.concatenate([chosen, [
            len(self.is_cross) + place[product] for product in chosen
            if self.is_cross[product]]])
        covariance = self.covariance[..., parts, :][..., parts]
        line = self.parts(right - wrong)[..., parts]
        best = np.linalg.solve(covariance, line[..., None])[..., 0]
        middle = self.parts(measured - (right + wrong) / 2)[..., parts]
        distance = np.sqrt(np.sum(best * line))
        return np.sum(best * middle) / distance, distance / 2
