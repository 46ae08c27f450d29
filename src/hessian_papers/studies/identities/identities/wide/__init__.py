"""Networks with several inputs or outputs, and pairs of weight matrices."""
