"""A certificate's terms add up to its bound, and its table says what holds together."""

import math
from dataclasses import replace

import pytest
from torch import nn

from hessian_spectra import closed_form as cf
from hessian_spectra import pac_bayes
from hessian_spectra.pac_bayes.certificate import GRID, Certificate
from hessian_spectra.pac_bayes.posterior import GaussianPosterior, Moments


@pytest.fixture(scope="module")
def certificate():
    """The certificate of a made-up posterior."""
    model = nn.Sequential(nn.Linear(2, 2))
    return Certificate(
        prior_saw="nothing",
        given=2000,
        samples=2000,
        classes=2,
        moments=Moments(
            squared_distance=9.0,
            variance_sum=20.0,
            log_variance_sum=2000 * math.log(0.01) - 300.0,
            parameters=2000,
        ),
        trained_variance=0.015,
        precision=100.0,
        largest_variance=0.1,
        draws=10_000,
        mean_error=0.1,
        delta=0.025,
        delta_monte_carlo=0.01,
        seed=3,
        basis="kronecker",
        epochs=5,
        posterior=GaussianPosterior(model, model.state_dict()),
    )


def sums(certificate):
    return tuple(vars(certificate.moments).values())


def complexities(certificate):
    """The bound minus the error, for each prior of the grid."""
    kls = [cf.gaussian_kl(*sums(certificate), 0.1 * math.exp(-j / 100)) for j in range(1, 500)]
    return [float(cf.complexity(kl, 2000, j)) for j, kl in enumerate(kls, start=1)]


def test_the_bound_is_made_of_its_terms(certificate):
    assert certificate.confidence == pytest.approx(0.965)
    prior = certificate.prior
    terms = complexities(certificate)
    assert certificate.complexity == min(terms) == terms[prior.index - 1]
    assert prior.kl == pytest.approx(float(cf.gaussian_kl(*sums(certificate), prior.variance)))
    error = cf.monte_carlo_error(0.1, 10_000, 0.01)
    assert certificate.error == float(error) > 0.1
    expected = cf.pac_bayes_bound(error, prior.kl, 2000, prior.index, 0.025)
    assert certificate.bound == float(expected)


@pytest.mark.parametrize(("fitting", "best"), [(200.1, 200), (200.9, 201), (0.3, 1), (-40.0, 1)])
def test_the_prior_is_the_best_of_all_at_either_side_of_the_variance_that_fits(
    certificate, fitting, best
):
    """With so many parameters KL decides: the best index is next to ``b ln(c/λ)`` of that λ."""
    number = 10**6
    moments = Moments(
        squared_distance=1.0,
        variance_sum=number * 0.1 * math.exp(-fitting / 100) - 1,
        log_variance_sum=number * math.log(0.01),
        parameters=number,
    )
    wide = replace(certificate, moments=moments)
    terms = complexities(wide)
    assert terms.index(min(terms)) + 1 == best
    assert wide.prior.index == best
    assert wide.complexity == min(terms)


def test_alone_each_has_all_of_delta_and_together_its_share(certificate):
    paper, finite = pac_bayes.alternatives(certificate)
    assert paper.alone == certificate.bound
    terms = (paper.prior.kl, 2000, paper.prior.index, 0.025 / 2)
    assert paper.at_once == float(cf.pac_bayes_bound(certificate.error, *terms))
    halved = cf.maurer_complexity(finite.prior.kl, 2000, GRID, 0.025 / 2)
    assert finite.at_once == float(cf.kl_inverse(certificate.error, halved))
    assert paper.at_once > paper.alone > finite.alone


def test_each_alternative_has_the_best_prior_of_its_own(certificate):
    """With few parameters ``2 ln j`` makes the paper's index smaller than that of the least KL."""
    moments = Moments(
        squared_distance=0.09,
        variance_sum=0.2,
        log_variance_sum=20 * math.log(0.01),
        parameters=20,
    )
    narrow = replace(certificate, moments=moments)
    paper, finite = pac_bayes.alternatives(narrow)
    assert paper.prior == narrow.prior
    assert finite.prior == narrow.of_grid()
    kls = [float(cf.gaussian_kl(*sums(narrow), 0.1 * math.exp(-j / 100))) for j in range(1, GRID)]
    assert finite.prior.kl == min(kls) == kls[finite.prior.index - 1]
    assert paper.prior.index < finite.prior.index
    assert paper.prior.kl > finite.prior.kl


def test_the_draws_of_several_share_their_delta_too(certificate):
    other = replace(certificate, prior_saw="1000 of the 2000 samples", samples=1000)
    actual = pac_bayes.alternatives(certificate, other)
    assert [item.samples for item in actual] == [2000, 2000, 1000, 1000]
    error = cf.monte_carlo_error(0.1, 10_000, 0.01 / 2)
    prior = other.prior
    quarter = cf.pac_bayes_bound(error, prior.kl, 1000, prior.index, 0.025 / 4)
    assert actual[2].at_once == float(quarter)
    single = pac_bayes.alternatives(certificate)
    assert actual[0].alone == single[0].alone
    assert actual[0].at_once > single[0].at_once


def test_what_is_spent_differently_is_not_compared(certificate):
    with pytest.raises(ValueError, match=r"^certificates: expected some with the same delta"):
        pac_bayes.alternatives(certificate, replace(certificate, delta=0.05))
    with pytest.raises(ValueError, match=r"^certificates: expected some"):
        pac_bayes.alternatives()


def test_every_term_is_in_the_table(certificate):
    text = str(certificate)
    assert f"errs on at most {certificate.bound:.2%} of new samples" in text
    numbers = certificate.error, certificate.complexity, certificate.mean_error, certificate.bound
    said = (
        "of 2000, in 2 classes",
        "δ = 0.025 over samples, δ' = 0.01 over draws",
        "5 epochs, seed 3",
    )
    for value in (f"{certificate.prior.kl:.2f}", *(f"{number:.5f}" for number in numbers), *said):
        assert value in text
    for alternative in pac_bayes.alternatives(certificate):
        (line,) = (line for line in text.splitlines() if alternative.union in line)
        assert f"{alternative.alone:.4f}" in line
        assert f"{alternative.at_once:.4f}" in line
    assert max(map(len, text.splitlines())) <= 110
    assert "\nThe best of k seeds spends δ' k times" in text
