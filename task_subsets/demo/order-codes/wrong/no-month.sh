#!/bin/bash
# Overlooks the optional part.
echo '^[A-Z]{2,3}-[1-9]\d{3}$' > /app/pattern.txt
