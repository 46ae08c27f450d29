"""Linear networks on raw images: what their product says of the sharpness."""
