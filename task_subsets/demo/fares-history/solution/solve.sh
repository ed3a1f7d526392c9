#!/bin/bash
cd /app/fares
git bisect start main "$(git rev-list --max-parents=0 main)" > /dev/null
git bisect run sh check.sh > /dev/null
git rev-parse refs/bisect/bad > /app/first_bad.txt
git bisect reset > /dev/null 2>&1
git log -1 --format=%an "$(cat /app/first_bad.txt)" > /app/author.txt
git revert --no-edit "$(cat /app/first_bad.txt)"
deletion=$(git log --diff-filter=D --format=%H -- tariff-2021.txt)
git checkout "$deletion^" -- tariff-2021.txt
git commit -m 'Bring the old tariff back'
