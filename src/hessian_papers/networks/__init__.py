"""What is trained once and studied by several: a configuration in, arrays and a folder out."""
