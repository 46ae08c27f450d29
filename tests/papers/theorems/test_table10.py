"""Table 10 of the paper follows from its own columns, but for the rows in which j is 0."""

from collections import Counter

from hessian_papers.table10 import table10


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
