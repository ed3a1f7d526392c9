#!/bin/bash
# One mode for everything.
chmod -R 755 /app/office
