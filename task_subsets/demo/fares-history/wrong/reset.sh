#!/bin/bash
# Finds the commit, then goes back before it and loses what came after.
cd /app/fares || exit
bad=$(git log --format=%H --grep='Tidy up')
echo "$bad" > /app/first_bad.txt
git log -1 --format=%cn "$bad" > /app/author.txt
git reset -q --hard "$bad^"
