"""Training of one network, with its trajectory kept, or of a whole ensemble at once."""
