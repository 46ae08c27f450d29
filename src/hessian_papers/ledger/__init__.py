"""The ledger of claims: what a paper says, what we measured, and the verdict."""
