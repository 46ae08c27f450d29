"""The whole spectrum of balanced deep linear networks, predicted from the labels alone."""
