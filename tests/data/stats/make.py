#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden values of src/stats for tests/unit/test_stats_golden.c, from other implementations.

Needs Debian's python3-scipy (1.10.1), python3-statsmodels (0.13.5) and python3-mpmath (1.2.1), which no
test needs: golden.txt is what it wrote. To write it again, and see what differs:

    tests/data/stats/make.py > tests/data/stats/golden.txt && git diff tests/data/stats

What scipy or statsmodels have is theirs (adfuller, kpss, spearmanr, theilslopes, kstest, acf, HAC
covariance, binom, multipletests). What they lack is written out here by its definition, slowly and without looking
at the C: Mann-Kendall over all pairs, Shao-Zhang by its double sum, MSER over all cuts, mpmath for the special
functions (scipy's own are only good to 1e-6 in places).

A line is a series, `y VALUE...`, or a check of the last one: `NAME [ARGUMENT...] = RESULT...`, a result being
numbers or the name of the error that is to be returned.
"""
import itertools
import math
import os
import sys
import warnings

import mpmath as mp
import numpy as np
import scipy.stats as st
from scipy.optimize import fsolve
import statsmodels.api as sm
from statsmodels.stats.diagnostic import anderson_statistic
from statsmodels.stats.multitest import multipletests
from statsmodels.tsa.stattools import acf, adfuller, kpss

mp.mp.dps = 30
RNG = np.random.default_rng(20190710)


def show(name, arguments, results):
    if not isinstance(results, str):
        results = ' '.join(f'{float(r):.11g}' for r in results)
    print(' '.join([name] + [repr(float(a)).removesuffix('.0') for a in arguments]), '=', results)


def refused(y, least):
    """The error for a series that is too short or constant."""
    if len(y) < least:
        return 'ENODATA'
    return 'EDOM' if np.ptp(y) == 0 else None


def check(name, y, least, function, *arguments):
    show(name, arguments, refused(y, least) or function(y, *arguments))


def first(values, rounding=0.0):
    """Index of the smallest; of those that differ by rounding the first."""
    best = min(values)
    return next(i for i, v in enumerate(values) if v <= best + 1e-9 * abs(best) + rounding)


# Tests of series

def regression_is_perfect(y):
    """Whether adfuller's largest regression lacks rank or leaves nothing: it then divides rounding errors."""
    n = len(y)
    lags = min(n // 2 - 2, math.ceil(12 * (n / 100) ** 0.25))
    step = np.diff(y)
    rows = range(lags, n - 1)
    x = np.array([[1, y[i] - y.mean()] + [step[i - k] for k in range(1, lags + 1)] for i in rows])
    x = x / np.maximum(np.abs(x).max(axis=0), 1e-300)
    target = step[lags:]
    rest = target - x @ np.linalg.lstsq(x, target, rcond=None)[0]
    return np.linalg.matrix_rank(x) < x.shape[1] or np.linalg.norm(rest) <= 1e-9 * np.linalg.norm(target)


def adf(y):
    if regression_is_perfect(y):
        return 'EDOM'
    t, p, lags, used = adfuller(y, regression='c', autolag='AIC')[:4]
    return t, p, lags, used


def kpss_of(y, legacy):
    t, p, lags, _ = kpss(y, regression='c', nlags='legacy' if legacy else 'auto')
    return t, p, lags


def spearman(y, lag):
    a, b = y[:len(y) - int(lag)], y[int(lag):]
    return refused(a, 3) or refused(b, 3) or st.spearmanr(a, b)


def pairs(y):
    return itertools.combinations(range(len(y)), 2)


def mann_kendall(y):
    n = len(y)
    s = sum(np.sign(y[j] - y[i]) for i, j in pairs(y))
    groups = np.unique(y, return_counts=True)[1]
    variance = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in groups)) / 18
    z = (s - np.sign(s)) / math.sqrt(variance)
    return s, 2 * s / (n * (n - 1)), variance, z, 2 * st.norm.sf(abs(z))


def shift(y):
    n = len(y)
    s = np.concatenate([[0], np.cumsum(y - y.mean())])
    trim, values = max(2, n // 20), {}
    for k in range(trim, n - trim + 1):
        v = sum((s[t] - t / k * s[k]) ** 2 for t in range(1, k + 1))
        v += sum((s[n] - s[t - 1] - (n - t + 1) / (n - k) * (s[n] - s[k])) ** 2 for t in range(k + 1, n + 1))
        if v <= 1e-9 * (s ** 2).sum():
            return None
        values[k] = s[k] ** 2 * n / v
    at = list(values)[first([-v for v in values.values()])]
    return values[at], at, y[:at].mean(), y[at:].mean()


def periodic(y):
    d = y - y.mean()
    r = (d[1:] * d[:-1]).sum() / (d ** 2).sum()
    w = d[1:] - r * d[:-1]
    n = len(w)
    power = np.abs(np.fft.fft(w - w.mean())[:(n - 1) // 2 + 1]) ** 2
    power[0] = 0
    share, m = power / power.sum(), (n - 1) // 2
    found = []
    for h in (1, 2, 4, 8, 16):
        for i in range(h, m + 1) if h < m else ():
            total = sum(share[math.floor(k * i / h + 0.5)] for k in range(1, h + 1))
            found.append((st.beta.sf(total, h, m - h), len(found), n * h / i, h, total))
    best = found[first([f[0] for f in found])]
    return min(1, best[0] * len(found)), best[2], best[3], best[4]


def mser(y, batch):
    means = y[:len(y) // int(batch) * int(batch)].reshape(-1, int(batch)).mean(axis=1)
    b = len(means)
    if b < 4:
        return 'ENODATA'
    if np.ptp(y) == 0:
        return [0]
    worth = [means[d:].var() / (b - d) for d in range(b // 2 + 1)]
    cut = first(worth, 1e-15 * max(worth))
    return [cut * int(batch)] if cut < b // 2 else 'EDOM'


# Dependence

def lags_of(y, pilot, most):
    c = [((y[k:] - y.mean()) * (y[:len(y) - k] - y.mean())).mean() * (len(y) - k) / len(y) for k in range(pilot + 1)]
    s0, s1 = c[0] + 2 * sum(c[1:]), 2 * sum(k * c[k] for k in range(1, pilot + 1))
    return min(most, int(1.1447 * ((s1 / s0) ** 2 * len(y)) ** (1 / 3)))


def hac(y, lags):
    fit = sm.OLS(y, np.ones(len(y))).fit(cov_type='HAC', cov_kwds={'maxlags': lags, 'use_correction': False})
    return fit.cov_params()[0, 0] * len(y)


def newey_west(y):
    return lags_of(y, min(int(4 * (len(y) / 100) ** (2 / 9)), len(y) - 1), len(y) // 2)


def bartlett(y, width):
    lags = int(width) - 1 if width else newey_west(y)
    return hac(y, lags), min(1.5 * len(y) / (lags + 1), len(y) - 1), lags + 1


def integrated(y):
    r = acf(y, nlags=len(y) - 1, fft=False)
    total, before, k = 0, math.inf, 0
    while k + 1 < len(y) and r[k] + r[k + 1] > 1e-12:
        before = min(before, r[k] + r[k + 1])
        total, k = total + before, k + 2
    return max(2 * total - 1, 1 / len(y)), k


def series_checks(y):
    check('adf', y, 6, adf)
    check('kpss', y, 4, kpss_of, 0)
    check('kpss', y, 4, kpss_of, 1)
    check('spearman_lag', y, 4, spearman, 1)
    check('spearman_lag', y, 8, spearman, 5)
    check('mann_kendall', y, 4, mann_kendall)
    show('theil_sen', [0.95], 'ENODATA' if len(y) < 2 else st.theilslopes(y, alpha=0.95))
    if len(y) < 20 or np.ptp(y) == 0 or shift(y):
        check('cusum', y, 20, shift)
    check('periodic', y, 16, periodic)
    show('mser', [5], 'ENODATA' if len(y) < 1 else mser(y, 5))
    check('iat', y, 4, integrated)
    check('bartlett', y, 4, bartlett, 0)
    check('bartlett', y, 4, bartlett, 3)
    for lag in (1, 2, 7):
        if len(y) > lag:
            check('acf', y, 2, lambda y, lag: [acf(y, nlags=lag, fft=False)[lag]], lag)


def one_series(kind, n):
    e = RNG.normal(size=n)
    if kind == 'walk':
        y = np.cumsum(e) * 100
    elif kind == 'ar':
        y = e * 100
        for i in range(1, n):
            y[i] += 0.8 * y[i - 1]
    elif kind == 'offset':
        y = 1e7 + e * 1000
    elif kind == 'ties':
        y = e * 1.5
    elif kind == 'few':
        y = (e > 1) * 7.0
    elif kind == 'trend':
        y = np.arange(n) * 3 + e * 40
    elif kind == 'step':
        y = (np.arange(n) >= n // 3) * 150 + e * 100
    elif kind == 'stalls':
        y = (np.arange(n) % 10 == 3) * 900 + e * 100
    elif kind == 'warm':
        y = 900 * np.exp(-np.arange(n) / (1 + n / 12)) + e * 60
    elif kind == 'tail':
        y = 50 / (1 - RNG.random(n)) ** 0.8
    elif kind == 'constant':
        y = np.full(n, 42.0)
    else:
        y = e * 100
    return np.round(y) + 0.0


def all_series():
    sizes = [4, 5, 6, 7, 8, 9, 10, 13, 16, 20, 21, 25, 32, 40, 50, 64, 81, 100, 128]
    for kind in ('noise', 'walk', 'ar', 'offset', 'ties', 'few', 'trend', 'step', 'stalls', 'warm', 'tail'):
        for n in sizes:
            yield one_series(kind, n)
    for n in (0, 1, 2, 3, 4, 5, 8, 20, 50):
        yield one_series('constant', n)
    for n in (1, 2, 3):
        yield one_series('noise', n)
    for kind in ('ar', 'ties', 'stalls', 'warm'):
        yield one_series(kind, 400)


# Samples, counts, p-values

def limit_of_anderson(z):
    def term(j):
        t = (4 * j + 1) ** 2 * mp.pi ** 2 / (8 * mp.mpf(z))
        inner = mp.quad(lambda w: mp.exp(z / (8 * (w * w + 1)) - t * w * w), [0, 1, 4, 16, mp.inf])
        return mp.binomial(mp.mpf(-1) / 2, j) * (4 * j + 1) * mp.exp(-t) * inner
    return mp.sqrt(2 * mp.pi) / z * sum(term(j) for j in range(12))


def uniform_checks():
    for n in (1, 2, 3, 5, 9, 10, 20, 50, 100, 139, 141, 200, 400):
        for power in (1, 1, 1.3):
            u = np.round(RNG.random(n) ** power, 4) * 0.9998 + 0.0001
            print('y', ' '.join(f'{v:.8g}' for v in u))
            exact, limit = (st.kstest(u, 'uniform', method=m) for m in ('exact', 'asymp'))
            show('uniform', [], [anderson_statistic(u, dist=st.uniform, fit=False), exact[0], exact[1], limit[1]])
    for z in (0.1, 0.3, 0.5, 1, 1.5, 2.492, 3.857, 5, 8, 15):
        # 10^15 values are as good as infinitely many.
        show('anderson_sf', [z, 1e15], [1 - limit_of_anderson(z)])
    for z in (0.4, 1, 2, 5):  # A^2 of one value u is -1 - ln(u (1 - u))
        show('anderson_sf', [z, 1], [1 - mp.sqrt(1 - 4 * mp.exp(-1 - mp.mpf(z)))])
    # Draws that no check uses any more: without them all later series would be others.
    for n in (2, 3, 10, 100):
        RNG.exponential(1000, n)
    for n, mean in ((2, 3), (5, 0.5), (20, 100), (300, 7)):
        RNG.poisson(mean, n)
    for p in ([0.01], [0.04, 0.03, 0.02, 0.01], [0.5, 0.5, 0.001, 0.001, 1, 0], list(np.round(RNG.random(15) ** 3, 3))):
        print('y', ' '.join(map(str, p)))
        show('holm', [], multipletests(p, method='holm')[1])
    for n in (2, 3, 7, 12):
        d = np.round(RNG.normal(1, 2, n), 1) + 0.05
        print('y', ' '.join(f'{v:.8g}' for v in d))
        means = [abs(np.dot(s, d)) for s in itertools.product((1, -1), repeat=n)]
        show('permute_pairs', [], [d.mean(), np.mean(np.array(means) >= abs(d.sum()) - 1e-9)])


def order_checks():
    for n in (1, 2, 10, 59, 100, 458, 459, 1000, 3000):
        for q in (0.01, 0.5, 0.9, 0.99):
            if n * min(q, 1 - q) >= 50:  # ORDER_STAT_EXACT_BELOW
                continue
            for level in (0.95, 0.99):
                for side in (0, 1, 2):  # both, lower, upper
                    # the smaller of two equal values
                    miss = (1 - level) / (2 if side == 0 else 1) * (1 + 1e-9)
                    cdf = st.binom.cdf(np.arange(n + 1), n, q)
                    sf = st.binom.sf(np.arange(-1, n + 1), n, q)  # [k]: P(B >= k)
                    lo = max([r for r in range(1, n + 1) if cdf[r - 1] <= miss], default=0)
                    hi = min([r for r in range(1, n + 1) if sf[r] <= miss], default=n + 1)
                    show('order_exact', [n, q, level, side], [0 if side == 2 else lo, n + 1 if side == 1 else hi])


def tail_checks():
    for shape, n in ((0.3, 50), (0.9, 200), (-0.2, 100), (0.0, 300), (2.0, 500)):
        x = np.round(st.genpareto.rvs(shape, scale=1000, size=n, random_state=RNG)) + 10
        print('y', ' '.join(f'{v:.8g}' for v in x))
        excess = x[x > 20] - 20

        def score(v):
            xi, scale = v[0], math.exp(v[1])
            z = 1 + xi * excess / scale
            return [(np.log(z) / xi ** 2 - (1 / xi + 1) * excess / scale / z).mean(),
                    (1 - (1 + xi) * excess / scale / z).mean()]
        start = st.genpareto.fit(excess, floc=0)
        xi, scale = fsolve(score, [start[0], math.log(start[2])], xtol=1e-13)
        show('gpd', [20], [xi, (1 + xi) / math.sqrt(len(excess)), math.exp(scale), len(excess)])


# Special functions

def beta_cdf(x, a, b):
    """mpmath's series gives up on large parameters, an integral is bad at the poles of small ones."""
    if min(a, b) < 10:
        return mp.betainc(a, b, 0, x, regularized=True)
    a, b, x = mp.mpf(a), mp.mpf(b), mp.mpf(x)
    log_b = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
    mean, sd = a / (a + b), mp.sqrt(a * b / (a + b + 1)) / (a + b)
    cuts = [c for c in (mean + k * sd for k in (-24, -12, -6, -3, -1, 0, 1, 3, 6, 12, 24)) if 0 < c < x]
    return mp.quad(lambda t: mp.exp((a - 1) * mp.log(t) + (b - 1) * mp.log(1 - t) - log_b), [0, *cuts, x])


def special_checks():
    for p in (1e-300, 1e-20, 1e-5, 0.025, 0.2, 0.5, 0.7, 0.975, 1 - 1e-9):
        show('normal_quantile', [p], [mp.sqrt(2) * mp.erfinv(2 * mp.mpf(p) - 1) if p > 1e-19 else st.norm.ppf(p)])
    for z in (-20, -3, -0.5, 0, 1, 5):
        show('normal_cdf', [z], [mp.ncdf(z)])
    for a, b in ((0.02, 3), (0.5, 0.5), (1, 7), (30, 0.5), (2.5, 600), (300, 4000), (5000, 5000.5)):
        for x in (a / (a + b) * s for s in (1e-3, 0.5, 0.9, 1, 1.05, (1 + (a + b) / a) / 2)):
            if 0 < x < 1:
                show('beta_sf', [x, a, b], [beta_cdf(1 - mp.mpf(x), b, a)])
    for a in (0.02, 0.5, 1, 7.5, 60, 900):
        for x in (a * s for s in (1e-3, 0.5, 0.9, 1, 1.2, 3)):
            show('gamma_p', [a, x], [mp.gammainc(a, 0, mp.mpf(x), regularized=True)])
            show('gamma_q', [a, x], [mp.gammainc(a, mp.mpf(x), mp.inf, regularized=True)])
    for df in (0.3, 1, 2, 5.5, 30, 1000):
        for t in (0.001, 0.5, 2, 10, 1e6):
            two = beta_cdf(mp.mpf(df) / (mp.mpf(df) + mp.mpf(t) ** 2), mp.mpf(df) / 2, 0.5)
            show('student_two_sided', [-t, df], [two])
            if two > 1e-10:
                show('student_quantile', [float(two / 2), df], [-t])
    for x in (0.05, 0.3, 0.7, 0.99, 1.01, 1.36, 2.5, 5):
        show('kolmogorov_sf', [x], [st.kstwobign.sf(x)])
    for n in (1, 2, 7, 50, 140, 141, 1000, 8000, 99999, 100001, 300000):
        # From 1.48 on scipy leaves out that both sides may be exceeded: 2 exp(-8 z^2).
        for z in (0.3, 0.6, 0.9, 1.3, 1.47, 1.6, 2.2):
            if z / math.sqrt(n) < 1:
                show('kolmogorov_exact_sf', [z / math.sqrt(n), n], [st.kstwo.sf(z / math.sqrt(n), n)])


def main():
    warnings.simplefilter('ignore')
    sys.stderr = open(os.devnull, 'w') if '-q' in sys.argv else sys.stderr
    special_checks()
    order_checks()
    uniform_checks()
    tail_checks()
    for y in all_series():
        print('y', ' '.join(f'{v:.0f}' for v in y))
        series_checks(y)


if __name__ == '__main__':
    main()
