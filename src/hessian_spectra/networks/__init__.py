"""The ensembles: many networks drawn, trained and measured at once, for the studies of them."""
