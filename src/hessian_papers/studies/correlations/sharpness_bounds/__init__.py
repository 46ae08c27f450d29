"""The sharpness of linear networks beside two formulas that neglect what the layers share."""
