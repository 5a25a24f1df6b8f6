-- Where the log is first written; nothing where nobody has written yet.
SELECT home FROM log_homes FINAL ORDER BY home
