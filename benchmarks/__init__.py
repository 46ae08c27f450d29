"""Measurements of speed, apart from the tests: nothing here decides whether a result is right."""
