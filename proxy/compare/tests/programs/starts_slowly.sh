#!/bin/sh
# Says hello after four seconds; then every pair is a match.
sleep 4
exec sh "$(dirname "$0")/agrees.sh"
