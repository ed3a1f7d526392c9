# Usage: sh render.sh PAGE.txt PAGE.html
{
    cat header.txt
    sed 's/.*/<p>&<\/p>/' "$1"
} > "$2"
