#!/bin/bash
# Repairs what the error message names, and nothing else.
sed -i 's/target_dri/target_dir/' /app/pack.sh
