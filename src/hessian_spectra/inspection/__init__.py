"""The command ``inspect``: the curvature of a user's network in one table, figure and file."""
