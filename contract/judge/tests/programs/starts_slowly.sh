#!/bin/sh
# Says hello after two seconds; then every pair is a match.
sleep 2
exec sh "$(dirname "$0")/agrees.sh"
