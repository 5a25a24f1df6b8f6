"""The budget review pack: what a subtree of accounts was owed, got and did with it over a period.

`review` asks the store (`gather`, `measure`) and puts the answers together (`pack`, pure); `text`, `csv`, `machine` and
`picture` show the pack. Nothing here asks for the time: a statement's instants are arguments.
"""
