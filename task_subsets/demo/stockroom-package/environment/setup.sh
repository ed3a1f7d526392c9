#!/bin/bash
set -eu
cat > example.csv <<'EOF'
name,quantity,price
lamp,3,12.50
bulb,40,0.29
chair,1,1080.00
EOF
