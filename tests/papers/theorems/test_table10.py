"""Table 10 of the paper follows from its own columns, but for the rows in which j is 0."""

import math
from collections import Counter

import pytest

from hessian_papers.table10 import table10
from hessian_papers.theorems.certificates import Rows
from hessian_spectra import closed_form as cf
from hessian_spectra.closed_form.instances import Draw


def test_the_table_has_the_rows_of_the_paper():
    rows = table10()
    assert len(rows) == 41
    assert len({row.network for row in rows}) == 8
    assert Counter(row.method for row in rows) == {
        "PREV": 5, "BASE": 8, "APPR": 8, "ITER": 7, "ITER(D)": 6, "ITER.M": 7,
    }  # fmt: skip
    for row in rows:
        assert row.classes == (10 if row.network.endswith("_10") else 2)
        assert row.labels == {"T": "true", "R": "random"}[row.network[0]]


def test_each_row_follows_from_its_own_columns():
    without_index = 0
    for name, net in Rows.drawn(Draw()).items():
        row, samples = net.row, 55_000 if net.row.method == "PREV" else 60_000
        if not math.isnan(row.half_log_variance):
            variance = cf.prior_variance(-2 * row.half_log_variance, 1.0, 1.0)
            # The column has four decimals: j = −2b (ϱ − ½ ln c) is known to 0.01.
            index = float(cf.prior_index(variance, 0.1, 100))
            assert row.prior_index == pytest.approx(index, abs=0.011), name
        arguments = row.error, row.divergence, samples
        actual = float(cf.pac_bayes_bound(*arguments, max(1, row.prior_index)))
        assert actual == pytest.approx(float(net.bound), abs=1e-12)
        if row.prior_index == 0:
            without_index += 1
            with pytest.raises(ValueError, match=r"^j: expected an integer"):
                cf.pac_bayes_bound(*arguments, row.prior_index)
            assert 2e-4 < actual - row.bound < 4.5e-4
        elif row.method != "PREV":
            assert abs(actual - row.bound) < 6e-5
    assert without_index == 7
