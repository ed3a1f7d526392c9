#!/bin/bash
# The quotes went into the file.
echo '"Measure twice, cut once."' > /app/motto.txt
