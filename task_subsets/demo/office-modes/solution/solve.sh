#!/bin/bash
find /app/office -type d -exec chmod 755 {} +
find /app/office -type f -name '*.sh' -exec chmod 755 {} +
find /app/office -type f -name '*.txt' -exec chmod 644 {} +
chmod 600 /app/office/door.key
