"""Which norm of which weight matrix goes with the sharpness, over the networks of an ensemble."""
