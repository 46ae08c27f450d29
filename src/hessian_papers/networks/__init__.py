"""Networks that several studies share: a configuration in, a data set in a folder out."""
