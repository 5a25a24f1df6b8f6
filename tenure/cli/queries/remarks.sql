-- Remarks by name.
SELECT cluster, name, count() AS remarks FROM report_remarks GROUP BY cluster, name ORDER BY cluster, name
