# GET /qrcode with Rack on Puma. RUNG names the file with draw.
require 'digest'
require 'securerandom'
require 'uri'
require_relative ENV.fetch('RUNG')

# Decodes a part of a query; nil if an escape is broken.
def decoded(raw)
  raw.match?(/%(?!\h{2})/) ? nil : raw.tr('+', ' ').gsub(/%(..)/) { $1.hex.chr }
end

def read_text(query)
  pairs = query.b.split('&').map { |pair| pair.partition('=') }
  values = pairs.filter_map { |name, _, value| value if decoded(name) == 'text' }
  raise ArgumentError, 'missing "text" query param' if values.join.empty?
  raise ArgumentError, 'text must be given once' if values.size > 1

  text = decoded(values.first)&.force_encoding('UTF-8')
  raise ArgumentError, 'text must be valid UTF-8' unless text&.valid_encoding?
  raise ArgumentError, 'text must be <= 512 bytes' if text.bytesize > 512

  text
end

def answer(request)
  return [405, { 'Allow' => 'GET, HEAD' }, 'method not allowed'] unless request.get? || request.head?

  text = read_text(request.query_string)
  tag = %("#{Digest::SHA256.hexdigest(text)[0, 32]}")
  headers = { 'Cache-Control' => 'public, max-age=86400', 'ETag' => tag }
  asked = request.get_header('HTTP_IF_NONE_MATCH').to_s
  return [304, headers, nil] if asked == '*' || asked.include?(tag)

  [200, headers.merge('Content-Type' => 'image/png'), draw(text)]
rescue ArgumentError => e
  [400, {}, e.message]
rescue StandardError => e
  warn e.full_message
  [500, {}, 'failed generating QR code']
end

run(lambda do |env|
  status, headers, body = answer(Rack::Request.new(env))
  id = env['HTTP_X_REQUEST_ID'].to_s
  headers['X-Request-Id'] = id.b.match?(/\A[!-~]{1,128}\z/n) ? id : SecureRandom.hex(16)
  headers['X-Content-Type-Options'] = 'nosniff'
  if status >= 400
    headers.merge!('Content-Type' => 'text/plain; charset=utf-8', 'Cache-Control' => 'no-store')
  end
  headers['Content-Length'] = body.bytesize.to_s if body
  [status, headers, env['REQUEST_METHOD'] == 'HEAD' ? [] : [body].compact]
end)
