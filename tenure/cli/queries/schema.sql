-- What was applied to this database.
SELECT name FROM schema_migrations FINAL ORDER BY name
