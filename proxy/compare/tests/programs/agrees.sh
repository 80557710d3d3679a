#!/bin/sh
# A judge in a shell: every pair is a match.
echo '{"v":1,"kinds":[]}'
while read -r line; do
    id=${line#*\"id\":}
    echo "{\"id\":${id%%,*},\"verdict\":\"match\"}"
done
