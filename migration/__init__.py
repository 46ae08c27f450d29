"""The way from the ledger of 991 claims to that of statements: nothing is lost unnoticed.

It leaves with the last old claim. ``ledger.json.xz`` is the frozen ledger, its values not rounded.
"""
