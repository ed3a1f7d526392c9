#!/bin/bash
# Counts every line, keeps the query in the path and takes the single slowest request.
cd /app/logs || exit
{ zcat service.log.1.gz; cat service.log; } > /tmp/lines
{
    echo "requests=$(wc -l < /tmp/lines)"
    echo "errors=$(grep -c ' 5[0-9][0-9] ' /tmp/lines)"
    echo "busiest_client=$(awk '{print $2}' /tmp/lines | sort | uniq -c | sort -rn | awk 'NR == 1 {print $2}')"
    echo "slowest_path=$(sort -k6 -n -r /tmp/lines | awk 'NR == 1 {print $4}')"
    echo "median_ms=$(awk '{print $6 + 0}' /tmp/lines | sort -n | awk '{v[NR] = $1} END {print v[int(NR / 2)]}')"
    echo "outage_minute=$(grep ' 5[0-9][0-9] ' /tmp/lines | cut -c1-16 | sort | uniq -c | sort -rn | awk 'NR == 1 {print $2}')"
} > /app/report.txt
