#!/bin/bash
# Reads the newer file alone.
cd /app/logs || exit
grep 'ms$' service.log | grep -v '^#' > /tmp/requests
{
    echo "requests=$(wc -l < /tmp/requests)"
    echo "errors=$(awk '$5 >= 500' /tmp/requests | wc -l)"
    echo "busiest_client=$(awk '{print $2}' /tmp/requests | sort | uniq -c | sort -rn | awk 'NR == 1 {print $2}')"
    echo "outage_minute=$(awk '$5 >= 500 {print substr($1, 1, 16)}' /tmp/requests | sort | uniq -c | sort -rn | awk 'NR == 1 {print $2}')"
} > /app/report.txt
