"""The leads of norms, factors and groups, which figure and statements take from correlations."""

from collections.abc import Callable, Mapping

import xarray as xr

from hessian_papers.studies.correlations.teachers import apart, interval, largest, leads


def _of_each(data: xr.Dataset) -> xr.DataArray:
    """Pearson's r with the target, of each teacher."""
    return data["each_correlation"]


def factor_lead(data: xr.Dataset) -> xr.DataArray:
    """The correlation less that of the group's best other factor."""
    return leads(_of_each(data), "layer")


def last_lead(data: xr.Dataset) -> xr.DataArray:
    """The lead of the first group's last layer."""
    return factor_lead(data.isel(group=[0])).isel(group=0).sel(layer=data["depth"])


def _best(data: xr.Dataset, group: int = 0) -> xr.DataArray:
    """The r of a group's best factor, by each norm."""
    return largest(_of_each(data).isel(group=group), "layer")


def _best_norm_lead(data: xr.Dataset) -> xr.DataArray:
    """The r of the best factor by a norm less the best by any other."""
    return leads(_best(data), "norm")


def _group_lead(data: xr.Dataset) -> xr.DataArray:
    """The r of the first group's best factor less that of the second's."""
    first, second = (largest(_best(data, group), "norm") for group in (0, 1))
    return apart(first - second)


def _growth(lead: xr.DataArray) -> xr.DataArray:
    """A lead less that at initialisation."""
    return lead - lead.sel(time="initialisation")


# By name a statistic of each teacher, and how far from 0 it may be. It is NaN where a quantity is
# compared with itself: at D = 1 all norms are one.
STATISTICS: Mapping[str, tuple[Callable[[xr.Dataset], xr.DataArray], float]] = {
    "correlation": (_of_each, 1.0),
    "factor_lead": (factor_lead, 2.0),
    "last_lead": (last_lead, 2.0),
    "best_correlation": (_best, 1.0),
    "best_norm_lead": (_best_norm_lead, 2.0),
    "group_lead": (_group_lead, 2.0),
    "best_norm_growth": (lambda data: _growth(_best_norm_lead(data)), 4.0),
    "last_growth": (lambda data: _growth(last_lead(data)), 4.0),
}


def with_statistics(data: xr.Dataset, *names: str) -> xr.Dataset:
    """A study with some statistics: of each teacher as ``each_<name>``, and with intervals.

    Args:
        data: the study.
        names: some of :data:`STATISTICS`.
    """
    each = {name: STATISTICS[name][0](data) for name in names}
    intervals = {
        name: interval(values, STATISTICS[name][1], float(data["confidence"]))
        for name, values in each.items()
    }
    return data.assign(intervals | {f"each_{name}": values for name, values in each.items()})
