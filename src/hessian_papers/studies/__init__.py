"""The studies: one module per kind, from a configuration to a labelled data set."""
