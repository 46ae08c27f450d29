"""The spectrum of the scalar ReLU network, cell by cell."""
