"""One network with its data, and the theorem that gives its spectrum."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from torch import Tensor, nn

from hessian_spectra.closed_form.instances.drawing import Draw
from hessian_spectra.models import HalfSquaredError
from hessian_spectra.spectrum import Spectrum


@dataclass(eq=False, kw_only=True)
class Instance:
    """One network with its data.

    A family of networks is a subclass: its fields are what is drawn. A subclass of a family has
    the same draws, as instances of its own.

    Args:
        x: inputs.
        y: targets.
    """

    # What the squared errors are averaged over, see `HalfSquaredError`.
    per: ClassVar[str] = "sample"
    # Whose stream the family draws from; of a family that is not drawn it is empty.
    stream: ClassVar[str] = ""
    # The theorem, the network, and its parameters' names in the order of both.
    closed_form: ClassVar[Callable[..., Spectrum]]
    network: ClassVar[Callable[..., nn.Module]]
    layers: ClassVar[tuple[str, ...]] = ()

    x: Tensor
    y: Tensor

    @classmethod
    def drawn(cls, draw: Draw) -> dict[str, Self]:
        """The edge cases by name, and as many random instances as are asked for."""
        return cls.taken(replace(draw, family=cls.stream))

    @classmethod
    def taken(cls, draw: Draw) -> dict[str, Self]:
        """All instances, from a stream that is open."""
        edges = cls.edges(draw)
        return edges | {f"random {k}": cls.random(draw, k) for k in range(cls.count(draw))}

    @classmethod
    def edges(cls, draw: Draw) -> dict[str, Self]:
        """The edge cases by name."""
        return {}

    @classmethod
    def random(cls, draw: Draw, number: int) -> Self:
        """A random instance; some families alternate in kind by its number."""
        raise NotImplementedError

    @classmethod
    def count(cls, draw: Draw) -> int:
        """The number of random instances."""
        return draw.instances

    def model(self) -> nn.Module:
        """The network."""
        return type(self).network(*(getattr(self, name) for name in self.layers))

    @property
    def smooth(self) -> bool:
        """True where the loss has a Hessian.

        Where it has none, at a kink, automatic differentiation takes one side, and finite
        differences would not agree with it.
        """
        return True

    @property
    def arguments(self) -> dict[str, Any]:
        """The closed form's arguments by name."""
        return {name: getattr(self, name) for name in (*self.layers, "x", "y")}

    @property
    def objective(self) -> nn.Module:
        """The loss of outputs and targets."""
        return HalfSquaredError(self.per)

    @property
    def options(self) -> dict[str, Any]:
        """The closed form's arguments that are no tensors, by name."""
        return {}

    @cached_property
    def spectrum(self) -> Spectrum:
        """The spectrum that the theorem states.

        Raises:
            AssumptionError: the instance breaks an assumption of the theorem.
        """
        return type(self).closed_form(**self.arguments, **self.options)
