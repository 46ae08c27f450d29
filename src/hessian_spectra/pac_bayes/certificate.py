"""The certificate: its bound, every term of it, and what other theorems make of them."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from hessian_spectra import closed_form as cf
from hessian_spectra.pac_bayes.posterior import GaussianPosterior, Moments
from hessian_spectra.texts import aligned
from hessian_spectra.validation import require

# Prior variances λ = c exp(−j/b), j = 1 to so many, among which Maurer's bound chooses.
GRID = 1000

UNION, FINITE = "any j ≥ 1 (B_RE, paper)", f"j ≤ {GRID} (Maurer)"


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A PAC-Bayes bound on the error of a network whose weights are drawn anew for each sample.

    It is one on this stochastic network, which ``posterior`` draws, and says nothing of the network
    with the posterior's mean as weights. With probability :attr:`confidence` over the samples and
    the draws, the stochastic network errs on at most the share :attr:`bound` of new samples.

    Attributes:
        prior_saw: what the prior was trained on, in words.
        given: the samples that were given.
        samples: those of them that the prior has not seen, ``n``.
        classes: how many there are.
        moments: what the divergence is computed from.
        trained_variance: the prior's ``λ`` as it was trained; the bound takes the best of the
            family instead, for whose choice ``2 ln j`` pays.
        precision: ``b`` of the family ``λ = c exp(−j/b)``.
        largest_variance: ``c``.
        draws: pairs of a sample and a network drawn from the posterior.
        mean_error: the share of these pairs that is classified wrongly.
        delta: the probability over samples with which the bound may fail.
        delta_monte_carlo: that over the draws.
        seed: of all random numbers: the order of samples, the perturbations, the draws.
        basis: in which the posterior's covariance is diagonal.
        epochs: of the posterior's training.
        posterior: the stochastic network.

    Source: wu2022dissecting, section 6 and appendix H.
    """

    prior_saw: str
    given: int
    samples: int
    classes: int
    moments: Moments
    trained_variance: float
    precision: float
    largest_variance: float
    draws: int
    mean_error: float
    delta: float
    delta_monte_carlo: float
    seed: int
    basis: str
    epochs: int
    posterior: GaussianPosterior = field(repr=False, compare=False)

    @property
    def confidence(self) -> float:
        """``1 − δ − δ'``."""
        return 1 - self.delta - self.delta_monte_carlo

    @property
    def prior(self) -> cf.Prior:
        """The prior of the family, of all ``j ≥ 1``, that gives the smallest ``B_RE``."""
        # KL falls in j up to the variance that fits best, and 2 ln j only rises.
        variance = self.moments.variance_sum + self.moments.squared_distance
        fitting = cf.prior_index(
            variance / self.moments.parameters, self.largest_variance, self.precision
        )
        count = max(1, math.ceil(float(fitting)))
        return self._best(
            count, lambda kls, indices: cf.complexity(kls, self.samples, indices, self.delta)
        )

    @property
    def error(self) -> float:
        """The stochastic network's error on the samples, at most, with probability ``1 − δ'``."""
        return float(cf.monte_carlo_error(self.mean_error, self.draws, self.delta_monte_carlo))

    @property
    def complexity(self) -> float:
        """``B_RE``, which the divergence of the two errors does not exceed."""
        prior = self.prior
        return float(cf.complexity(prior.kl, self.samples, prior.index, self.delta))

    @property
    def bound(self) -> float:
        """The paper's, which is the certificate whatever the alternatives say."""
        return float(cf.kl_inverse(self.error, self.complexity))

    def of_grid(self) -> cf.Prior:
        """The prior with the smallest divergence among the first ``GRID`` of the family."""
        return self._best(GRID, lambda kls, indices: kls)

    def _best(self, count: int, term: Callable[[Tensor, Tensor], Tensor]) -> cf.Prior:
        """The prior with the smallest term of divergence and index, of the family's first few."""
        indices = torch.arange(1, count + 1, dtype=torch.float64)
        variances = cf.prior_variance(indices, self.largest_variance, self.precision)
        kls = cf.gaussian_kl(**vars(self.moments), prior_variance=variances)
        best = int(term(kls, indices).argmin())
        return cf.Prior(best + 1, float(variances[best]), float(kls[best]))

    def __str__(self) -> str:
        """The terms and the alternatives, as a table."""
        return table(self)


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """One bound of a certificate.

    Attributes:
        prior_saw: what the prior was trained on, in words.
        union: over which prior variances it holds.
        prior: the one of them that was chosen.
        samples: ``n``.
        complexity: what stands beside the error, at the certificate's ``δ``.
        alone: the bound at the certificate's confidence, if it was chosen before the samples.
        at_once: the bound that holds, with the same confidence, together with all others.
    """

    prior_saw: str
    union: str
    prior: cf.Prior
    samples: int
    complexity: float
    alone: float
    at_once: float


def alternatives(*certificates: Certificate) -> list[Alternative]:
    """The bounds that the theorems give, for one certificate or several of one confidence.

    Each ``alone`` holds with the confidence ``1 − δ − δ'``, but the smallest of k such bounds does
    not: each may fail in its own way. With ``δ/k`` for each of the k, and ``δ'`` shared among the
    certificates, all hold ``at_once``, the smallest included.

    Args:
        *certificates: such as one for the prior before training and one for a prior that was
            trained on a part of the samples.

    Returns:
        For each certificate the paper's with ``B_RE``, for all ``j ≥ 1``, and Maurer's for a finite
        grid.

    Raises:
        ValueError: no certificate, or such as spend different ``δ`` or ``δ'``.

    Source: wu2022dissecting, eq. (277); Maurer (2004), Theorem 5.
    """
    spent = sorted({(item.delta, item.delta_monte_carlo) for item in certificates})
    expected = "some with the same delta and delta_monte_carlo"
    require(len(spent) == 1, "certificates", expected, spent)
    return [item for each in certificates for item in _of(each, len(certificates))]


def _of(certificate: Certificate, together: int) -> Iterator[Alternative]:
    """Both bounds of one of so many certificates."""
    n, delta = certificate.samples, certificate.delta
    draws, delta_draws = certificate.draws, certificate.delta_monte_carlo
    shared = cf.monte_carlo_error(certificate.mean_error, draws, delta_draws / together)
    for union in (UNION, FINITE):
        prior = certificate.prior if union == UNION else certificate.of_grid()
        terms = [
            cf.complexity(prior.kl, n, prior.index, share)
            if union == UNION
            else cf.maurer_complexity(prior.kl, n, GRID, share)
            for share in (delta, delta / (2 * together))
        ]
        yield Alternative(
            prior_saw=certificate.prior_saw,
            union=union,
            prior=prior,
            samples=n,
            complexity=float(terms[0]),
            alone=float(cf.kl_inverse(certificate.error, terms[0])),
            at_once=float(cf.kl_inverse(shared, terms[1])),
        )


def table(*certificates: Certificate) -> str:
    """Certificates as text: the bound and its terms of each, then all alternatives in one table.

    Args and errors are those of :func:`alternatives`.
    """
    candidates = alternatives(*certificates)
    lines = [line for certificate in certificates for line in [*_terms(certificate), ""]]
    rows = [("prior saw", "union over prior variances", "n", "j", "KL", "alone", "all at once")]
    for each in candidates:
        prior = str(each.prior.index), f"{each.prior.kl:.1f}"
        bounds = f"{each.alone:.4f}", f"{each.at_once:.4f}"
        rows.append((each.prior_saw, each.union, str(each.samples), *prior, *bounds))
    confidence = certificates[0].confidence
    return "\n".join(
        [
            *lines,
            f"Bounds with confidence {confidence:.4g}. Each holds alone, if it was chosen before",
            "the samples; who takes the smallest, or quotes several, takes the last column.",
            "The best of k seeds spends δ' k times: give each δ'/k, or name the seed before.",
            "",
            *aligned(rows),
        ]
    )


def _terms(of: Certificate) -> list[str]:
    """The lines of one certificate: what it says, and each term with what belongs to it."""
    prior = of.prior
    heading = (
        f"With probability {of.confidence:.4g} the stochastic network errs on at most "
        f"{of.bound:.2%} of new samples."
    )
    family = f"λ = c exp(−j/b), c = {of.largest_variance:g}, b = {of.precision:g}"
    spent = f"δ = {of.delta:g} over samples, δ' = {of.delta_monte_carlo:g} over draws"
    rows = [
        ("prior saw", of.prior_saw, ""),
        ("samples n", f"{of.samples}", f"of {of.given}, in {of.classes} classes"),
        ("error of the draws", f"{of.mean_error:.5f}", f"{of.draws} pairs of network and sample"),
        ("error at most", f"{of.error:.5f}", f"at δ' = {of.delta_monte_carlo:g}"),
        ("KL(Q, P)", f"{prior.kl:.2f}", f"P = {of.moments.parameters} parameters"),
        ("prior variance λ", f"{prior.variance:.4g}", f"trained to {of.trained_variance:.4g}"),
        ("its index j", f"{prior.index}", family),
        ("B_RE", f"{of.complexity:.5f}", f"at δ = {of.delta:g}"),
        ("bound", f"{of.bound:.5f}", "largest p with kl(error, p) ≤ B_RE"),
        ("confidence", f"{of.confidence:.4g}", spent),
        ("posterior", of.basis, f"basis; {of.epochs} epochs, seed {of.seed}"),
    ]
    return [heading, "", *aligned(rows)]
