-- For wrk: links of 53 bytes, 8192 different ones made ahead, and a line of JSON at the end.

local requests = {}
local next_request = 0

function init()
    math.randomseed(os.time())
    local letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    for i = 1, 8192 do
        local path = {}
        for j = 1, 24 do
            local at = math.random(#letters)
            path[j] = letters:sub(at, at)
        end
        local text = "https://example.com/articles/" .. table.concat(path)
        requests[i] = wrk.format("GET", "/qrcode?text=" .. text)
    end
end

function request()
    next_request = next_request % #requests + 1
    return requests[next_request]
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        '{"requests":%d,"seconds":%.6f,"bytes":%d,"errors":%d,"p50_us":%d,"p99_us":%d}\n',
        summary.requests, summary.duration / 1e6, summary.bytes,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout,
        latency:percentile(50), latency:percentile(99)))
end
