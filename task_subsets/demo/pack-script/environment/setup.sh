#!/bin/bash
set -eu
mkdir -p letters
echo 'Dear Sir,' > letters/first.txt
echo 'Dear Madam,' > 'letters/second letter.txt'
echo 'not a letter' > letters/stamp.png
chmod 755 pack.sh
