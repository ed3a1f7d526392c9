#!/bin/bash
# The right idea, typed carelessly.
echo 'measure twice, cut once' > /app/motto.txt
