-- The directory as it stands, every account once.
SELECT account, title, leads, webhooks, labels, closed, toUnixTimestamp64Micro(occurred_at) AS occurred_us
FROM accounts FINAL
ORDER BY account
