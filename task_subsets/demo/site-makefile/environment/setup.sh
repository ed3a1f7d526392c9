#!/bin/bash
chmod 644 site/render.sh site/join.sh
