"""Random maps of conf/, and independent draws of them."""

import torch
from reference import FEATURE_MAPS

from longdoc.feature_maps import Favor, Oprf, Trigonometric
from longdoc.feature_maps.random import RandomFeatures

D = 8


def made(factory, dim=D, heads=1, a=-0.15, **options):
    """A map in float64; OPRF with an A of its own, without which it would be FAVOR+."""
    phi = factory(dim, heads, **options).double()
    if isinstance(phi, Oprf):
        phi.a.fill_(a)
    return phi


RANDOM = [(name, factory) for name, factory in FEATURE_MAPS if isinstance(factory(D, 1), RandomFeatures)]
SOFTMAX = [(name, factory) for name, factory in RANDOM if isinstance(factory(D, 1), Favor | Trigonometric)]
"""Those whose phi(q)·phi(k) estimates exp(q·k / sqrt(D))."""


def plain(phi, q, k):
    """Features of ``SOFTMAX`` from their formulas, no stabiliser in them."""
    if isinstance(phi, Favor):
        return phi.log_query(q).exp(), phi.log_features(k).exp()
    half, scale = q.square().sum(-1, keepdim=True) / 2, q.shape[-1] ** -0.5
    return phi.query(q) * torch.exp(half * scale), phi.key(k)


def estimates(factory, rows, x, y, **options):
    """(BLOCKS,): exp(x·y) from each of the projections ``rows`` (BLOCKS, m, D) alone."""
    phi = made(factory, features=rows.shape[1] * factory(D, 1).per_row, **options)
    phi.projection = rows  # BLOCKS heads, all of the same query and key
    q, k = plain(phi, *(z[None, None, None] * D**0.25 for z in (x, y)))
    return (q * k).sum(-1)[0, :, 0]


def pair(a=0.3):
    """x and y with |x| = |y| = 0.5 and |x + y|² = ``a``, small enough for variances to be measured."""
    x, y = torch.zeros(2, D, dtype=torch.float64)
    cosine = a / 2 / 0.25 - 1
    x[0], y[0], y[3] = 0.5, 0.5 * cosine, 0.5 * (1 - cosine**2) ** 0.5
    # Off the axes, where a wrong sign of QR would not show.
    turn = torch.linalg.qr(torch.randn(D, D, dtype=torch.float64, generator=torch.Generator().manual_seed(1)))[0]
    return turn @ x, turn @ y


def within(samples, expected, errors=4.0):
    """The mean over axis 0 lies within so many standard errors of what is expected."""
    error = samples.std(0) / len(samples) ** 0.5
    return ((samples.mean(0) - expected).abs() < errors * error).all()
