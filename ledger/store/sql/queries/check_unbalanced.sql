-- Transactions whose legs do not sum to zero: legs of one cause, book, pool and hour.
SELECT cluster, pool, hour, book, lower(hex(cause)) AS cause, sum(amount_gpu_ms) AS residue_gpu_ms
FROM postings FINAL
WHERE generation = {generation:String}
GROUP BY cluster, pool, hour, book, cause
HAVING residue_gpu_ms != 0
ORDER BY cluster, pool, hour, book, cause
