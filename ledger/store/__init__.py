"""Where the book is kept: the only I/O of the ledger."""
