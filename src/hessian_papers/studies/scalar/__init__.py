"""Studies: the networks of scalar inputs and outputs, linear and ReLU."""
