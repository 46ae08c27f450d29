"""The statements of singh2026cracking about norms and sharpness of deep networks."""

import xarray as xr

from hessian_papers.ledger.bounds import (
    Estimate,
    equal_to,
    needs,
)
from hessian_papers.studies.correlations.ensembles import (
    estimates,
    require_finished,
)
from hessian_papers.studies.correlations.norm_correlation.reading import (
    NEGATIVE,
    POSITIVE,
    WELL,
    at_both_times,
    each_one,
    everywhere_defined,
    figures,
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
LITTLE = equal_to(
    0.0,
    "a tenth of the largest r; set when the leads were known to be near 0",
    tolerance=0.1,
    source="ours",
)


def _leading(data: xr.Dataset) -> list[str]:
    """The parametrisations of networks with one input; of those with more the text names μP."""
    one_input = data["size"].values.tolist() == [1]
    return [name for name in data["parametrisation"].values.tolist() if one_input or name == "mup"]


def _others(data: xr.Dataset) -> list[str]:
    """The parametrisations of which the text is silent."""
    return [name for name in data["parametrisation"].values.tolist() if name not in _leading(data)]


WHERE_ONE_LEADS = {"parametrisation": _leading, "time": None}
WHERE_THE_TEXT_IS_SILENT = {"parametrisation": _others, "time": None}


@figures(21).shown(
    SHOWN, POSITIVE, id="last-most-of-deep-relu", book="observations", over=WHERE_ONE_LEADS
)
@figures(17, 18).typically(
    DEEP,
    POSITIVE,
    otherwise=lambda case: MIRRORED if case["parametrisation"] == "ntp" else "",
    over=WHERE_ONE_LEADS,
)
def last_most(data: xr.Dataset) -> Estimate:
    """Of the products of all matrices but one, that without the last correlates most with the
    sharpness.

    Statistic: its r minus the largest other r, squared norms, mean over the depths; interval:
    Student's t over teachers.
    """
    return mean(of_depths(data, "products"), "last_lead", norm=data["highlighted"].item())


def _mirrored(data: xr.Dataset) -> list[str]:
    """The parametrisation under which a network read backwards is as likely."""
    return [name for name in data["parametrisation"].values.tolist() if name == "ntp"]


@figures(17, 18).beyond.typically(
    "section 4.2, beyond the paper",
    LITTLE,
    otherwise=MIRRORED,
    over={"parametrisation": _mirrored, "time": None},
)
def last_leads_little(data: xr.Dataset) -> Estimate:
    """Where a network read backwards is as likely, the product without the last matrix leads or
    trails the others by less than a tenth.

    Statistic: its r minus the largest other r, squared norms, mean over the depths; interval:
    Student's t over teachers.
    """
    return last_most(data)


@figures(18).typically(
    "section 4.2, with larger inputs the effect persists under μP",
    NEGATIVE,
    book="readings",
    over=WHERE_THE_TEXT_IS_SILENT,
)
def last_most_no_more(data: xr.Dataset) -> float | Estimate:
    """With larger inputs the effect persists under μP only: under the others the product without
    the last matrix does not correlate most.

    Statistic: its r minus the largest other r, squared norms, mean over the depths; interval:
    Student's t over teachers.

    Remark: The text names only μP; that the effect persists under no other is our reading.
    """
    return last_most(data)


@figures(17, 18).typically("section 4.2", POSITIVE, over=each_one, otherwise=SEVERAL_TERMS)
def last_most_near_convergence(data: xr.Dataset) -> Estimate:
    """The product without the last matrix leads the others most near convergence.

    Statistic: increase of its lead during training, squared norms, mean over the depths; interval:
    Student's t over teachers.
    """
    norm = data["highlighted"].item()
    return mean(of_depths(data, "products"), "last_growth", time="trained", norm=norm)


def _smallest_of_last(data: xr.Dataset, **labels: str) -> Estimate:
    """The r of the product without the last matrix after training, where it is smallest."""
    products = of_depths(data, "products")
    labels |= {"norm": "spectral", "time": "trained"}
    return min(everywhere_defined(products, "correlation", layer=products["depth"], **labels))


@figures(17).everywhere("{artifact}", WELL, otherwise=SEVERAL_TERMS, over=each_one)
def last_well(data: xr.Dataset) -> Estimate:
    """After training the product without the last matrix correlates well with the sharpness at
    every depth and under every parametrisation.

    Statistic: r by its squared norm at the depth where it is smallest.
    """
    return _smallest_of_last(data)


@figures(18).everywhere(DEEP, WELL, otherwise=SEVERAL_TERMS)
def last_well_under_mup(data: xr.Dataset, printed: bool = False) -> Estimate:
    """With larger inputs, after training, the product without the last matrix correlates well with
    the sharpness at every depth under μP. It does not under all parametrisations.

    Statistic: r by its squared norm at the depth where it is smallest; for the print, at the depth
    and parametrisation where it is smallest.

    In print: The caption: they correlate well across model parametrisations; the text has the
    effect partially persist at larger sizes under μP
    """
    return _smallest_of_last(data, **({} if printed else {"parametrisation": "mup"}))


@figures(17).everywhere("{artifact}", POSITIVE, otherwise=MIRRORED)
def last_most_everywhere(data: xr.Dataset) -> Estimate:
    """After training the product without the last matrix correlates most at every depth and under
    every parametrisation.

    Statistic: its r minus the largest other r, where this is smallest; interval: Student's t over
    teachers.
    """
    of = {"time": "trained", "norm": "spectral"}
    return min(everywhere_defined(of_depths(data, "products"), "last_lead", **of))


@figures(22).shown(SHOWN, NEGATIVE, id="products-more-of-deep-relu", over=WHERE_ONE_LEADS)
@figures(20).shown(
    SHOWN, NEGATIVE, id="products-more-of-larger-inputs", over=WHERE_THE_TEXT_IS_SILENT
)
@figures(19, 20).typically(
    DEEP,
    NEGATIVE,
    otherwise=lambda case: "" if case["parametrisation"] == "mup" else COMMON_FACTOR,
    over=WHERE_ONE_LEADS,
)
def products_more(data: xr.Dataset) -> Estimate:
    """The sharpness correlates less with single matrices than with products of all but one.

    Statistic: best r of a single matrix minus best r of a product, squared norms, mean over the
    depths beyond 2; interval: Student's t over teachers.
    """
    return mean(of_depths(data, "matrices", "products"), "group_lead")


@statements.about("singh2026cracking", "Section 4.2").typically(
    "section 4.2", POSITIVE, over=at_both_times
)
def most_in_low_dimension(data: xr.Dataset) -> Estimate:
    """Of the products of all matrices but one, that without the last correlates most with the
    sharpness especially in low dimension.

    Statistic: its r minus the largest other r, squared spectral norms, mean over the depths, at the
    smaller D minus at the larger; interval: Student's t over teachers.

    Remark: The sentence sets low dimension against larger sizes under all parametrisations at once.
    Under NTP no product leads at either size, since the network read backwards has the same
    distribution.
    """
    require_finished(data)
    difference = estimates(data["mean_difference"])
    needs(difference, "this configuration has a depth without correlations")
    return difference[0]
