# Usage: sh join.sh INDEX.html PAGE.html...
index=$1
shift
for page in "$@"; do
    echo "<a href=\"${page##*/}\">${page##*/}</a>"
done > "$index"
