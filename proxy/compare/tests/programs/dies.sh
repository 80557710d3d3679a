#!/bin/sh
# Dies before its hello.
echo 'cannot open prices.db' >&2
exit 3
