"""The ledger knows: what GPU time was claimed, delivered and owed, to the millisecond."""
