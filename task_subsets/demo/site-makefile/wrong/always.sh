#!/bin/bash
# A shell script in a Makefile's clothes: builds everything every time.
cat > /app/site/Makefile <<'EOF'
.RECIPEPREFIX = >
.PHONY: all clean
all:
> mkdir -p out
> for page in pages/*.txt; do name=$$(basename $$page .txt); sh render.sh $$page out/$$name.html; done
> rm -f out/index.html
> sh join.sh out/index.html out/*.html
clean:
> rm -rf out
EOF
