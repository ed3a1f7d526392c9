#!/bin/bash
# Names the three pages that are there, and no other.
cat > /app/site/Makefile <<'EOF'
.RECIPEPREFIX = >
all: out/about.html out/boats.html out/how-to-find-us.html out/index.html
out/index.html: out/about.html out/boats.html out/how-to-find-us.html
> sh join.sh $@ $^
out/%.html: pages/%.txt header.txt
> mkdir -p out
> sh render.sh $< $@
clean:
> rm -rf out
EOF
