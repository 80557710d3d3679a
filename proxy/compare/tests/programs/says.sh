#!/bin/sh
# Prints its first argument as its hello and then nothing more. Never reads.
printf '%s\n' "$1"
exec sleep 1000
