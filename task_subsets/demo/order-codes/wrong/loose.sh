#!/bin/bash
# The shape is right, the ranges of the numbers are not looked at.
echo '[A-Z]{2,3}-\d{4}(/\d{2})?' > /app/pattern.txt
