"""Table 10 of wu2022dissecting as printed, for statements and theorems."""

import csv
import math
from pathlib import Path
from typing import NamedTuple

# Of the prior's variances λ = c exp(−j/b), b and c.
PRECISION, LARGEST = 100.0, 0.1


class Row(NamedTuple):
    """A row of Table 10, such as T-600 with APPR; ``half_log_variance`` is NaN in quoted rows."""

    network: str
    classes: int
    labels: str
    method: str
    bound: float
    divergence: float
    error: float
    half_log_variance: float
    test_error: float

    @property
    def architecture(self) -> str:
        """The name of its network here: T-600 and R-600 are F-600.

        Example:
            >>> table10()[0].architecture, table10()[-1].architecture
            ('F-600', 'F-600^2')
        """
        return "F-" + self.network.partition("-")[2].partition("_")[0]

    @property
    def prior_index(self) -> int:
        """``j`` of the prior's variance; 1 where it is not printed.

        Example:
            >>> table10()[1].prior_index
            36
        """
        if math.isnan(self.half_log_variance):
            return 1
        return round(PRECISION * (math.log(LARGEST) - 2 * self.half_log_variance))


def table10() -> list[Row]:
    """The rows of Table 10 as printed, 41 with those that it quotes.

    Source: wu2022dissecting, Table 10.

    Example:
        >>> table10()[1][:5]
        ('T-600', 2, 'true', 'BASE', 0.154)
    """
    lines = Path(__file__).with_suffix(".csv").read_text("utf-8").splitlines()
    rows = csv.reader([line for line in lines if not line.startswith("#")][1:])
    return [
        Row(network, int(classes), labels, method, *(float(text or "nan") for text in numbers))
        for network, classes, labels, method, *numbers in rows
    ]
