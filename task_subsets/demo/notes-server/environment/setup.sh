#!/bin/bash
# Nothing to prepare: /app starts empty.
