#!/bin/bash
# A line, but nothing on it.
echo > /app/motto.txt
