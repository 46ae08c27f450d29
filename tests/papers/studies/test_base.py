"""All studies' settings refuse data that the study cannot take, in one line."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from study_configs import HEAD

from hessian_papers.data.base import IMAGES, ONE_FEATURE, SEVERAL_FEATURES, Form
from hessian_papers.studies.base import DataStudyConfig, EnsembleStudyConfig

FIELDS = HEAD | {"seed": 0}


@dataclass(frozen=True, kw_only=True)
class OfImages(DataStudyConfig):
    takes = IMAGES


def test_a_study_refuses_samples_that_it_cannot_take():
    config = OfImages(**FIELDS, data="wedge")
    config.require_data(Form(IMAGES, (8, 28, 28)))
    with pytest.raises(ValueError, match=r"^data: expected a data set with images, got 'wedge'$"):
        config.require_data(Form(ONE_FEATURE, (8,)))


def test_a_study_of_one_target_refuses_several_and_sees_the_shape_where_there_is_one():
    shapes = []

    class OfTables(DataStudyConfig):
        def require_shape(self, *shape):
            shapes.append(shape)

    config = OfTables(**FIELDS, data="houses")
    config.require_data(Form(SEVERAL_FEATURES))  # of a file that is not read yet
    config.require_data(Form(SEVERAL_FEATURES, (8, 3)))
    assert shapes == [(8, 3)]
    with pytest.raises(ValueError, match=r"^data: expected a data set with one target per sample"):
        config.require_data(Form(SEVERAL_FEATURES, (8, 3), targets=2))


@pytest.mark.parametrize("samples", [IMAGES, ONE_FEATURE])
def test_a_study_that_says_nothing_takes_all_samples(samples):
    DataStudyConfig(**FIELDS, data="any").require_data(Form(samples))


def test_settings_are_named_and_stay_as_they_are():
    config = EnsembleStudyConfig(**FIELDS, ensemble="classifiers")
    config.require_networks(SimpleNamespace(widths=()))
    with pytest.raises(AttributeError):
        config.seed = 1
    with pytest.raises(TypeError, match="ensemble"):
        EnsembleStudyConfig(**FIELDS)
