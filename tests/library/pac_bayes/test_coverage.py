"""Certificates on labels that are coins, of which everyone gets half wrong: when they fail.

The inputs are words, one unit vector each, and the network is linear: a posterior learns the labels
by heart with as little divergence as it takes. There the bound is tight, and a wrong formula fails.
"""

import math
from functools import cache

import pytest
import torch
from scipy.stats import binomtest
from torch import nn

from hessian_spectra import closed_form as cf
from hessian_spectra import pac_bayes
from hessian_spectra.pac_bayes import GaussianPosterior
from hessian_spectra.pac_bayes.posterior import Basis
from hessian_spectra.seeding import generator

SETS, WORDS, DELTA = 200, 600, 0.2
# Mean over deviation of what is learned of a word.
LEARNED = 1.4
# Of the family's variances λ = exp(−j/100) the first; and the basis of difference and sum.
VARIANCE = math.exp(-0.01)
TURNED = torch.tensor([[-1.0, 1.0], [1.0, 1.0]]) / 2**0.5


def samples(number, count):
    """Words as unit vectors, and coins as labels."""
    draws = generator(number, "coins")
    words = torch.randint(WORDS, (count,), generator=draws)
    return nn.functional.one_hot(words, WORDS).float(), torch.randint(2, (count,), generator=draws)


def learned(x, y):
    """The label ±1 of each word, or 0 where there are as many of either."""
    return (x.T @ (2.0 * y - 1)).sign()


def certified(data, mean, deviation, prior):
    """The certificate of a posterior in the difference of the two scores; else it is the prior."""
    model = nn.Linear(WORDS, 2, bias=False)
    zeros = torch.zeros(WORDS)
    with torch.no_grad():
        model.weight.copy_(TURNED @ torch.stack([mean, zeros]))
    posterior = GaussianPosterior(model, {"weight": TURNED @ torch.stack([prior, zeros])})
    posterior.bases = {"": Basis(outputs=TURNED)}
    scales = torch.stack([deviation, zeros + VARIANCE**0.5]).log()
    posterior.log_deviation.data.copy_(scales.flatten())
    return pac_bayes.certify(
        posterior, data, prior_saw="nothing", largest_variance=1.0, draws=5000, delta=DELTA
    )


def by_heart(number, lies=False):
    """A certificate of labels that were learned; it lies if the prior learned them, too."""
    x, y = samples(number, 120)
    moved = LEARNED * learned(x, y)
    deviation = (VARIANCE / (1 + moved.square())).sqrt()
    if lies:
        deviation = torch.full_like(moved, VARIANCE**0.5)
    mean = moved * deviation
    return certified((x, y), mean, deviation, prior=mean if lies else torch.zeros(WORDS))


def unmoved(number):
    """A certificate of a prior that was sure of everything before it saw anything."""
    sure = 40 * (2.0 * torch.randint(2, (WORDS,), generator=generator(number, "sure")) - 1)
    return certified(samples(number, 15), sure, torch.full_like(sure, VARIANCE**0.5), sure)


MADE = {"by heart": by_heart, "unmoved": unmoved, "lie": lambda number: by_heart(number, True)}


@cache
def certificates(kind):
    return [MADE[kind](number) for number in range(SETS)]


def fails_too_often(kind):
    """Of all sets, on how many the bound is below the error; and whether that is no accident."""
    failing = sum(certificate.bound < 0.5 for certificate in certificates(kind))
    promised = 1 - certificates(kind)[0].confidence
    return failing, binomtest(failing, SETS, promised, alternative="greater").pvalue < 1e-4


@cache
def known(kind):
    """The failures by the formulas that are right."""
    return fails_too_often(kind)


COMPLEXITY = cf.complexity


def without_divergence(kl, n, j, delta):
    return COMPLEXITY(0.0, n, j, delta)


def without_logarithm(kl, n, j, delta):
    return kl / (n - 1)


def of_twice_the_samples(kl, n, j, delta):
    return COMPLEXITY(kl, 2 * n, j, delta)


@pytest.mark.parametrize("kind", ["by heart", "unmoved"])
def test_certificates_fail_no_more_often_than_promised(kind):
    failing, too_often = known(kind)
    assert not too_often
    assert failing <= 4


@pytest.mark.parametrize(
    ("kind", "name", "mistake", "least"),
    [
        ("by heart", "complexity", without_divergence, SETS),
        ("by heart", "complexity", of_twice_the_samples, 170),
        ("by heart", "kl_inverse", lambda error, budget: error + budget / 2, SETS),
        ("unmoved", "complexity", without_logarithm, 80),
    ],
)
def test_a_formula_with_a_mistake_fails_too_often(monkeypatch, kind, name, mistake, least):
    expected, _ = known(kind)
    monkeypatch.setattr(cf, name, mistake)
    failing, too_often = fails_too_often(kind)
    assert too_often
    assert failing >= least > expected


def test_a_prior_that_learned_the_labels_fails_always():
    assert fails_too_often("lie") == (SETS, True)
