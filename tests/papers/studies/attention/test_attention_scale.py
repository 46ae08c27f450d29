"""Self-attention against norms and sinks: closed form and numbers along four sweeps."""

import numpy as np
import pytest
import torch
from attention_arrays import scalar_tokens, scale_config, scale_sides
from claims_contract import planted_data

from hessian_papers.labelled import arrays_of
from hessian_papers.studies.attention.attention_scale import study
from hessian_papers.studies.spectra import group
from hessian_papers.studies.training import numeric_spectrum
from hessian_spectra.closed_form import self_attention
from hessian_spectra.seeding import generator

DATA = scalar_tokens()


def swept(name, data=DATA, purpose="weights", **changes):
    config = scale_config(**changes)
    varied = study.varied_in(config, name, config.points)
    return list(study.sweep(config, name, arrays_of(data), varied, purpose))


@pytest.fixture(scope="module")
def data():
    return planted_data(scale_sides(), study.VARIABLES)


def test_each_sweep_varies_one_thing():
    networks = {name: swept(name) for name in study.SWEEPS}
    norms = np.geomspace(0.1, 3.0, 9)
    for name, varied in networks.items():
        value, query, key, bias = np.array(
            [[n.w_value.abs(), n.w_query.norm(), n.w_key.norm(), n.sink_bias] for n in varied]
        ).T
        single = np.ones(9)
        np.testing.assert_allclose(value, norms if name == "value" else single)
        np.testing.assert_allclose(query, norms if name == "query_key" else single)
        np.testing.assert_allclose(key, norms if name == "query_key" else single)
        sink = np.linspace(0, 6, 9) if name.endswith("sink") else 0 * single
        np.testing.assert_allclose(bias, sink)
    first, tokens = networks["massive_sink"][0].x, DATA["x"].values
    np.testing.assert_allclose(first[:, 0], 10 * tokens[:, 0])
    np.testing.assert_array_equal(first[:, 1:], tokens[:, 1:])


def test_distinct_eigenvalues_keep_their_kinds_and_multiplicities(data):
    network = swept("value")[4]
    arguments = network.w_value, network.w_query, network.w_key, network.x, network.y
    spectrum = self_attention(*arguments)
    point = data.sel(sweep="value", point=4)
    whole = np.repeat(point["exact"].values, point["multiplicity"].values)
    np.testing.assert_array_equal(whole, spectrum.eigenvalues)
    np.testing.assert_array_equal(group(point, "outlier"), spectrum.select("outlier"))
    assert group(point, "bulk").max() == spectrum.select("bulk").max()


def test_under_a_massive_activation_the_bulk_first_grows():
    data = study.closed_form(scale_config(key_dimension=1000), DATA).sel(sweep="massive_sink")
    bulk = group(data, "bulk").max("rank")
    assert bulk.max() > 3 * bulk.sel(point=0)
    assert 0.4 < data["attention"].sel(point=bulk.idxmax("point")) < 0.8


@pytest.mark.parametrize("name", study.SWEEPS)
def test_what_is_kept_of_a_draw_is_of_its_dense_hessian(name):
    data = study.closed_form(scale_config(draws=3), DATA).sel(sweep=name)
    for number, draw in data.groupby("draw"):
        numbers = generator(0, f"sequences of draw {number}")
        tokens = torch.randn(2, 10, 10, generator=numbers, dtype=torch.float64).numpy()
        purpose = f"weights of draw {number}"
        points = draw.squeeze("draw").dropna("draw_point")
        other, varied = dict(zip("xy", tokens, strict=True)), points["draw_varied"].values
        networks = study.sweep(scale_config(), name, other, varied, purpose)
        for (_, point), network in zip(points.groupby("draw_point"), networks, strict=True):
            values = numeric_spectrum(network.layer(), network.x, network.y, "element")
            assert point["draw_largest"].item() == pytest.approx(values.max(), rel=1e-10)
            sizes = np.abs(values)
            number = sizes.max() / sizes.min()
            actual = point["draw_condition_number"].item()
            assert actual == pytest.approx(number, rel=1e-13 * number + 1e-10)
            assert point["draw_condition_bound"] <= number * (1 + 1e-8)
            # The bulk occurs d_K − 1 times on either side.
            at_bulk = np.abs(sizes - point["draw_bulk"].item()) < 1e-10 * sizes.max()
            assert np.count_nonzero(at_bulk) >= 2 * 11


def test_draws_differ_and_norms_have_the_end_of_the_smaller_range():
    data = study.closed_form(scale_config(draws=6), DATA)
    sink, value = (data.sel(sweep=name).dropna("draw_point") for name in ("sink", "value"))
    assert sink["draw_bulk"].shape == (6, 5)
    assert len(np.unique(sink["draw_bulk"].sel(draw_point=0))) == 6
    assert 1.0 in value["draw_varied"]
    assert value.sizes["draw_point"] == 6
