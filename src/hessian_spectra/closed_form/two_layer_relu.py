"""The two-layer ReLU network with scalar input: singh2026cracking, Theorem 3.4."""

from collections.abc import Sequence

import torch
from torch import Tensor

from hessian_spectra.closed_form._blocks import Block, spectrum_of_blocks
from hessian_spectra.closed_form._inputs import ArrayLike, read
from hessian_spectra.closed_form._losses import Loss, scaled
from hessian_spectra.spectrum import Spectrum


def two_layer_relu(
    w: ArrayLike, v: ArrayLike, x: ArrayLike, y: ArrayLike, *, loss: Loss | None = None
) -> Spectrum:
    """Hessian spectrum of ``f(x) = wᵀ relu(v x)`` under the loss ``1/n Σ l(f(x_i), y_i)``.

    The neurons ``J`` with ``v_j > 0`` see the samples ``x > 0`` alone (cell ``"+"``), those with
    ``v_j < 0`` the samples ``x < 0`` (cell ``"-"``), and each cell ``C`` is a two-layer linear
    network with ``S = (1/n) Σ_C l'' x²`` and ``G = (1/n) Σ_C l' x`` in the place of ``σ²`` and
    ``δx``: ``±G``, each ``|J| - 1`` times, and the outliers ``Λ_{1,2}(‖w_J‖², ‖v_J‖², ⟨w_J, v_J⟩,
    S, G)``. For the paper's loss, half the squared error, ``S`` is ``(n_±/n) σ_±²`` in its symbols
    and ``G`` is ``(n_±/n) δx_±``; this form holds for a cell without samples, too. A cell without
    neurons has no eigenvalues.

    A neuron with ``v_j = 0`` is where the loss is not differentiable. Its two eigenvalues are 0, as
    automatic differentiation has them (``relu'(0) = 0``).

    Args and errors are those of :func:`two_layer_linear`.

    Returns:
        The spectrum in the parameter order ``(v, w)``; kinds ``"outlier"`` and ``"bulk"`` in the
        cells ``"+"`` and ``"-"``, and ``"zero"`` for the neurons with ``v_j = 0``. The eigenvectors
        of a cell vanish outside of it.

    Source: singh2026cracking, Theorem 3.4; singh2024closed, Theorem 4 and Corollary 5; for
    another loss than the squared error this project. In the eigenvectors of singh2024closed eq.
    (64), (65) ``x δ_±`` must carry the factor ``n_±/n``.

    Example:
        >>> s = two_layer_relu(w=[1.0, 1.0], v=[1.0, -1.0], x=[1.0, -1.0], y=[1.0, -1.0])
        >>> s.eigenvalues
        tensor([-1.,  0.,  1.,  2.], dtype=torch.float64)
        >>> s.labels
        ['outlier -', 'outlier +', 'outlier +', 'outlier -']
    """
    shapes = {"w": "m", "v": "m", "x": "n", "y": "n"}
    w, v, x, y = read(shapes, w=w, v=v, x=x, y=y)
    # The signs are taken before the scaling, which may round the smallest weights to zero.
    neurons = {"+": v > 0, "-": v < 0}
    dead = (v == 0).nonzero().squeeze(-1)
    m = len(w)
    samples = {"+": x > 0, "-": x < 0}

    def outputs(layers: Sequence[Tensor], x: Tensor) -> Tensor:
        w, v = layers
        slopes = {cell: w[active] @ v[active] for cell, active in neurons.items()}
        return torch.where(samples["+"], slopes["+"], slopes["-"]) * x

    (w, v), x, first, second, power = scaled(loss, outputs, [w, v], x, y)
    blocks = []
    for cell, active in neurons.items():
        rows = active.nonzero().squeeze(-1)
        if len(rows) == 0:
            continue
        x_cell = torch.where(samples[cell], x, 0.0)
        blocks.append(
            Block(
                w=w[active],
                v=v[active],
                second_moment=(second * x_cell * x_cell).mean(),
                residual_covariance=(x_cell * first).mean(),
                rows=torch.cat([rows, rows + m]),
                cell=cell,
            )
        )
    return spectrum_of_blocks(
        blocks, power, "closed form, Theorem 3.4", dead=torch.cat([dead, dead + m])
    )
