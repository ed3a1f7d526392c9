#!/bin/bash
echo '[A-Z]{2,3}-[1-9][0-9]{3}(/(0[1-9]|1[0-2]))?' > /app/pattern.txt
