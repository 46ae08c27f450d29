"""Studies: deep networks trained on images."""
