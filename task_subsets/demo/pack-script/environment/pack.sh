#!/bin/bash
# Usage: pack.sh SOURCE TARGET
# Copies every .txt file of SOURCE to TARGET and prints how many there were.
set -u

source_dir=$1
target_dir=$2
count=0

mkdir -p "$target_dri"

ls "$source_dir"/*.txt | while read -r file; do
    cp $file "$target_dir"
    count=$((count + 1))
done

echo "copied $count files"
