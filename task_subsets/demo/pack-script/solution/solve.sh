#!/bin/bash
cat > /app/pack.sh <<'EOF'
#!/bin/bash
# Usage: pack.sh SOURCE TARGET
# Copies every .txt file of SOURCE to TARGET and prints how many there were.
set -eu
shopt -s nullglob

source_dir=$1
target_dir=$2
count=0

if [ ! -d "$source_dir" ]; then
    echo "no such folder: $source_dir" >&2
    exit 1
fi
mkdir -p "$target_dir"

for file in "$source_dir"/*.txt; do
    cp -- "$file" "$target_dir"
    count=$((count + 1))
done

echo "copied $count files"
EOF
