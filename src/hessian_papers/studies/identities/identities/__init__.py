"""The identities behind every theorem claim: closed forms and brute force on the same instances."""
