"""The four terms of the sharpness of eq. (2), each raised alone."""
