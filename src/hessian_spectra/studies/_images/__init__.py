"""Networks trained on images: what the studies of anon2026data have in common."""
