-- Where two generations' postings differ, summed by account, class and kind. Each side up to its own last row.
SELECT
    cluster,
    pool,
    book,
    account,
    class,
    kind,
    sumIf(amount_gpu_ms, generation = {a:String}) AS a_gpu_ms,
    sumIf(amount_gpu_ms, generation = {b:String}) AS b_gpu_ms,
    b_gpu_ms - a_gpu_ms AS difference_gpu_ms
FROM postings FINAL
WHERE generation IN ({a:String}, {b:String})
GROUP BY cluster, pool, book, account, class, kind
HAVING difference_gpu_ms != 0
ORDER BY abs(difference_gpu_ms) DESC, cluster, pool, book, account, class, kind
