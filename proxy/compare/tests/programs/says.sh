#!/bin/sh
# Says the first argument as its hello, and then nothing more. It never reads.
printf '%s\n' "$1"
exec sleep 1000
