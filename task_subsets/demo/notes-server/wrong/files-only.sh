#!/bin/bash
# Serves a folder: good for one of the requests.
mkdir -p /app/www
echo ok > /app/www/health
setsid nohup python3 -m http.server 8765 --bind 127.0.0.1 --directory /app/www > /dev/null 2>&1 < /dev/null &
