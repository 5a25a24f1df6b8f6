"""The streams carry: events from schedulers into the ledger, in order, once."""
