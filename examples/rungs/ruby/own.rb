# Draws in Ruby.
require 'rqrcode'

def draw(text)
  RQRCode::QRCode.new(text, level: :l).as_png(size: 200, border_modules: 4).to_s
end
