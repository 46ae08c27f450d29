"""Outputs at initialisation against the width, by parametrisation (cracking, appendix D.1.3)."""
