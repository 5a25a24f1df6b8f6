-- Dead letters by reason.
SELECT reason, count() AS letters, max(recorded_at) AS latest
FROM report_dead_letters
GROUP BY reason
ORDER BY letters DESC, reason
