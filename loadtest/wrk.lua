-- For wrk: requests the URLs in the file TARGETS in turn, and prints a line of JSON at the end. Without
-- TARGETS, wrk requests its one URL and runs nothing for a request.

local targets = os.getenv("TARGETS")
local requests = {}
local next_request = 0

if targets then
    function init()
        for line in io.lines(targets) do
            requests[#requests + 1] = wrk.format("GET", (line:gsub("^http://[^/]*", "")))
        end
    end

    function request()
        next_request = next_request % #requests + 1
        return requests[next_request]
    end
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format('{"requests":%d,"seconds":%.6f,"errors":%d,"p50_us":%d,"p99_us":%d}\n',
        summary.requests, summary.duration / 1e6,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout,
        latency:percentile(50), latency:percentile(99)))
end
