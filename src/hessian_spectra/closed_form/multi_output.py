"""Separate heads for several outputs: singh2026cracking, Corollaries B.2 and B.3."""

from collections.abc import Sequence

from torch import Tensor

from hessian_spectra.closed_form._blocks import blocks_of_rows, spectrum_of_coupled_blocks
from hessian_spectra.closed_form._inputs import ArrayLike, read
from hessian_spectra.closed_form._losses import Loss, output_derivatives, scaled
from hessian_spectra.spectrum import Spectrum


def multi_output(
    w: ArrayLike, v: ArrayLike, x: ArrayLike, y: ArrayLike, *, loss: Loss | None = None
) -> Spectrum:
    """Hessian spectrum of ``f_k(x) = ⟨w_k, v_k⟩ x`` under ``1/(2n) Σ_i Σ_k (f_k(x_i) - y_ik)²``.

    The Hessian is the direct sum over the heads ``k`` of two-layer linear blocks with the common
    ``σ² = mean(x²)`` and with ``δx_k = mean(x (f_k(x) - y_k))``: the bulk ``±δx_k``, each ``m - 1``
    times, and the outliers ``Λ_{1,2}(‖w_k‖², ‖v_k‖², ⟨w_k, v_k⟩, σ², δx_k)``.

    For another loss of each output ``δx_k = mean(l_k' x)`` and ``σ_k² = mean(l_k'' x²)``, of each
    head its own. A loss that couples outputs, such as the softmax cross-entropy, leaves the bulk
    ``±δx_k`` as it is, with ``δx_k = mean(x ∂l/∂f_k)``, and couples the outliers. With ``M_jk =
    mean(x² ∂²l/∂f_j∂f_k)`` these ``2K`` are the eigenvalues of

        ``diag(δx_k, -δx_k) + [M_jk u_j u_kᵀ]``,  ``u_k = (‖w_k + v_k‖, ‖w_k - v_k‖)/√2``.

    Args:
        w: ``(K, m)`` second layers, one row for each head.
        v: ``(K, m)`` first layers.
        x: ``(n,)`` inputs.
        y: ``(n, K)`` targets; of the cross-entropy the probabilities of classes, one-hot or not.
        loss: a module of torch, whose ``reduction`` does not matter, or a function of outputs and
            targets with a number for each output, ``(n, K)``, which are added up over the outputs,
            or for each sample, ``(n,)``; by default half the squared error.

    Returns:
        The spectrum in the parameter order ``(v_1, w_1, v_2, w_2, ...)``; kinds ``"outlier"`` and
        ``"bulk"``, the cell is the head's index ``"0"``, ``"1"``, ...; outliers of heads that the
        loss couples belong to all of them, and their cell is ``""``.

    Raises:
        ValueError: bad shape or type, empty or not finite data, a Hessian beyond float64, or a loss
            that is not twice differentiable at an output.

    Source: singh2026cracking, Corollaries B.2 (eq. 117, 118) and B.3 (eq. 119); other losses are
    this project's.

    Example:
        >>> s = multi_output(w=[[1.0], [2.0]], v=[[1.0], [0.0]], x=[1.0], y=[[1.0, 0.0]])
        >>> s.eigenvalues
        tensor([0., 0., 2., 4.], dtype=torch.float64)
        >>> s.select("outlier", cell="1")
        tensor([0., 4.], dtype=torch.float64)
        >>> from torch.nn import CrossEntropyLoss
        >>> even = {"w": [[1.0], [1.0]], "v": [[0.0], [0.0]], "x": [1.0], "y": [[0.5, 0.5]]}
        >>> s = multi_output(**even, loss=CrossEntropyLoss())  # diag(p) - p pᵀ of p = (1/2, 1/2)
        >>> [round(value, 12) + 0.0 for value in s.eigenvalues.tolist()]
        [0.0, 0.0, 0.0, 0.5]
    """
    shapes = {"w": "Km", "v": "Km", "x": "n", "y": "nK"}
    w, v, x, y = read(shapes, w=w, v=v, x=x, y=y)
    (w, v), x, slopes, curvatures, power = scaled(loss, _outputs, [w, v], x, y, output_derivatives)
    weighted = (x * x)[:, None, None] * curvatures  # (n, K, K)
    coupling = weighted.mean(0)
    blocks = blocks_of_rows(w, v, coupling.diagonal(), x @ slopes / len(x))
    sizes, method = weighted.abs().mean(0).diagonal().sqrt(), "closed form, Corollary B.2"
    methods = method, f"{method} with coupled outliers"
    return spectrum_of_coupled_blocks(blocks, coupling, sizes, power, methods)


def _outputs(layers: Sequence[Tensor], x: Tensor) -> Tensor:
    return x[:, None] * (layers[0] * layers[1]).sum(-1)  # (n, K)
