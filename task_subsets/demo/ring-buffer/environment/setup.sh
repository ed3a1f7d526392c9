#!/bin/bash
chmod 644 ring.c ring.h
