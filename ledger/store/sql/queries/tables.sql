-- Tables and views of this database.
SELECT name FROM system.tables WHERE database = currentDatabase()
