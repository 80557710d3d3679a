#!/bin/sh
# A judge with a child that ignores hangups and keeps the pipes. Its details name both processes.
sh -c 'trap "" HUP TERM; sleep 1000; sleep 1000' &
child=$!
echo '{"v":1,"kinds":["process"]}'
while read -r line; do
    id=${line#*\"id\":}
    echo "{\"id\":${id%%,*},\"verdict\":\"mismatch\",\"kind\":\"process\",\"detail\":\"$$ $child\"}"
done
