"""Labels, inputs, weight decay and a high rate in the course of training (anon2026data)."""
