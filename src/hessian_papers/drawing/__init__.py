"""What the figures have in common: sizes, colours, files, and parts that several of them draw."""
