"""Progressive sharpening and the edge of stability in self-attention (cracking, Figure 27)."""
