"""The budget review pack: what a subtree of accounts was owed, got and did with it over a period.

`gather` asks the store, `pack` turns the answers into sections, and `text`, `tables_csv`, `machine` and `picture`
show them. Only `gather` does I/O, and nothing here asks for the time: a statement's instants are arguments.
"""
