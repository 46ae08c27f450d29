"""Overlaps of the top eigenspaces of a layer in networks trained independently."""
