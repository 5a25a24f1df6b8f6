-- A reader of Tenure's public views, for servers whose users are kept by SQL; users.d/tenure.xml says the same in a file.
--
--     clickhouse-client --multiquery --param_password="$TENURE_REPORT_PASSWORD" < report_user.sql
--
-- On a cluster, write ON CLUSTER 'name' behind each name that is created, and behind GRANT.

CREATE SETTINGS PROFILE IF NOT EXISTS tenure_report SETTINGS
    readonly = 1,
    max_execution_time = 60,
    timeout_overflow_mode = 'throw',
    max_memory_usage = 4294967296,
    max_memory_usage_for_user = 8589934592,
    max_result_rows = 1000000,
    max_result_bytes = 1073741824,
    result_overflow_mode = 'throw',
    max_threads = 4,
    max_concurrent_queries_for_user = 8,
    priority = 10,
    join_use_nulls = 0,
    do_not_merge_across_partitions_select_final = 1;

CREATE ROLE IF NOT EXISTS tenure_report SETTINGS PROFILE 'tenure_report';

GRANT SELECT ON tenure.report_* TO tenure_report;

CREATE QUOTA IF NOT EXISTS tenure_report FOR INTERVAL 1 hour MAX queries = 10000, execution_time = 7200
    TO tenure_report;

CREATE USER IF NOT EXISTS tenure_report IDENTIFIED WITH sha256_password BY {password:String}
    DEFAULT ROLE tenure_report SETTINGS PROFILE 'tenure_report';

GRANT tenure_report TO tenure_report;
