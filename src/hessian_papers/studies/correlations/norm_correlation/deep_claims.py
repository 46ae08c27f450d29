"""The statements of singh2026cracking about norms and sharpness of deep networks."""

import xarray as xr

from hessian_papers.ledger.bounds import needs
from hessian_papers.studies.correlations.norm_correlation.reading import (
    NEGATIVE,
    POSITIVE,
    WELL,
    at_both_times,
    at_the_end,
    everywhere_defined,
    figures,
    lowest,
    mean,
    of_depths,
    statements,
)
from hessian_papers.studies.correlations.norm_correlation.texts import (
    COMMON_FACTOR,
    MIRRORED,
    SEVERAL_TERMS,
)

DEEP = "section 4.2; {artifact}"
SHOWN = "{artifact}"


def _leading(data: xr.Dataset) -> list[str]:
    """The parametrisations of networks with one input; of those with more the text names μP."""
    one_input = data["size"].values.tolist() == [1]
    return [name for name in data["parametrisation"].values.tolist() if one_input or name == "mup"]


WHERE_ONE_LEADS = {"parametrisation": _leading, "time": None}
_panels = {"over": at_both_times, "book": "observations"}
_of_larger_inputs = _panels | {
    "id": "effect-at-larger-sizes",
    "sentence": "With larger inputs and outputs the lead of the product without the last matrix, "
    "and that of products over single matrices, persist partially, under μP.",
}
_of_deep_relu = _panels | {
    "id": "effect-in-deep-relu",
    "sentence": "Figures 21 and 22 show, for deep ReLU networks, how much the product without the "
    "last matrix leads the others, and products single matrices.",
}


@figures(21).shown(SHOWN, POSITIVE, **_of_deep_relu)
@figures(18).shown(DEEP, POSITIVE, name="last-{parametrisation}-{time}", **_of_larger_inputs)
@figures(17, 18).typically(
    DEEP,
    POSITIVE,
    otherwise=lambda case: MIRRORED if case["parametrisation"] == "ntp" else "",
    over=WHERE_ONE_LEADS,
)
def last_most(data: xr.Dataset) -> xr.DataArray:
    """Of the products of all matrices but one, that without the last correlates most with the
    sharpness.

    Statistic: its r minus the largest other r, squared norms, mean over the depths; interval:
    Student's t over teachers.
    """
    return mean(of_depths(data, "products"), "last_lead", norm=data["highlighted"].item())


@figures(17, 18).typically("section 4.2", POSITIVE, otherwise=SEVERAL_TERMS, **at_the_end)
def last_most_near_convergence(data: xr.Dataset) -> xr.DataArray:
    """The product without the last matrix leads the others most near convergence.

    Statistic: increase of its lead during training, squared norms, mean over the depths; interval:
    Student's t over teachers.
    """
    norm = data["highlighted"].item()
    return mean(of_depths(data, "products"), "last_growth", time="trained", norm=norm)


@figures(17, 18).everywhere("{artifact}, caption", WELL, otherwise=SEVERAL_TERMS, **at_the_end)
def last_well(data: xr.Dataset) -> xr.DataArray:
    """The products of all matrices but the last correlate well with the sharpness, at all depths
    and under all parametrisations.

    Statistic: r by the squared norm after training, at the depth where it is smallest; interval:
    Student's t over teachers.
    """
    products = of_depths(data, "products")
    of = {"norm": "spectral", "time": "trained"}
    return lowest(everywhere_defined(products, "correlation", layer=products["depth"], **of))


@figures(22).shown(SHOWN, NEGATIVE, **_of_deep_relu)
@figures(20).shown(DEEP, NEGATIVE, name="single-{parametrisation}-{time}", **_of_larger_inputs)
@figures(19, 20).typically(
    DEEP,
    NEGATIVE,
    otherwise=lambda case: "" if case["parametrisation"] == "mup" else COMMON_FACTOR,
    over=WHERE_ONE_LEADS,
)
def products_more(data: xr.Dataset) -> xr.DataArray:
    """The sharpness correlates less with single matrices than with products of all but one.

    Statistic: best r of a single matrix minus best r of a product, squared norms, mean over the
    depths beyond 2; interval: Student's t over teachers.
    """
    return mean(of_depths(data, "matrices", "products"), "group_lead")


@statements.about("singh2026cracking", "Section 4.2").typically(
    "section 4.2", POSITIVE, over=at_both_times
)
def most_in_low_dimension(data: xr.Dataset) -> xr.DataArray:
    """Of the products of all matrices but one, that without the last correlates most with the
    sharpness especially in low dimension.

    Statistic: its r minus the largest other r, squared spectral norms, mean over the depths, at the
    smaller D minus at the larger; interval: Student's t over teachers.

    Remark: The sentence sets low dimension against larger sizes under all parametrisations at once.
    Under NTP no product leads at either size, since the network read backwards has the same
    distribution.
    """
    known = data["each_difference"].dropna("teacher")
    needs(known.size, "this configuration has a depth without correlations")
    return known
