#!/bin/bash
# Stops after the first line of the list.
chmod 600 /app/office/door.key
