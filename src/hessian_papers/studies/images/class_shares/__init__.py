"""The sharpness of a solution and the share of the largest class."""
