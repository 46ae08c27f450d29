"""Tools that the kinds of data sets share: archives, subsets, whitening, reduction."""
