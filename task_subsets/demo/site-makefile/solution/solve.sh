#!/bin/bash
cat > /app/site/Makefile <<'EOF'
.RECIPEPREFIX = >
pages := $(patsubst pages/%.txt,out/%.html,$(wildcard pages/*.txt))

.PHONY: all clean
all: out/index.html

out/index.html: $(pages) join.sh
> sh join.sh $@ $(pages)

out/%.html: pages/%.txt header.txt render.sh | out
> sh render.sh $< $@

out:
> mkdir -p $@

clean:
> rm -rf out
EOF
