#!/bin/bash
chmod 644 stations.csv
