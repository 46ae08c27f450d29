"""What labels, inputs, weight decay and a high rate do in the course of training."""
