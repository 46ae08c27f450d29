"""The two-layer ReLU classifier of growing width at initialisation (wu2022dissecting, 4)."""
