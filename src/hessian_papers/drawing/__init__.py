"""The common part of the figures: sizes, colours, files, and parts that several of them draw."""
