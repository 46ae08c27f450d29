"""What is trained once and studied by several: a configuration in, a data set in a folder out."""
