#!/bin/bash
# Good rules, but nobody told make about header.txt; and clean leaves the folder.
cat > /app/site/Makefile <<'EOF'
.RECIPEPREFIX = >
pages := $(patsubst pages/%.txt,out/%.html,$(wildcard pages/*.txt))
all: out/index.html
out/index.html: $(pages)
> sh join.sh $@ $^
out/%.html: pages/%.txt
> mkdir -p out
> sh render.sh $< $@
clean:
> rm -f out/*.html
EOF
