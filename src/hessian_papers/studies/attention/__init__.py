"""Studies: self-attention."""
