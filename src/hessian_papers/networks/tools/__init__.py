"""Tools that trainings of several studies share: networks on images, and how results are kept."""
