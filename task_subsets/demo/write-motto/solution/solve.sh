#!/bin/bash
echo 'Measure twice, cut once.' > /app/motto.txt
