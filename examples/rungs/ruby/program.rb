# Starts the program qr-draw for each picture.
require 'open3'

def draw(text)
  command = [ENV.fetch('QR_PROGRAM'), '--format', 'png', '--keep-newline', '-']
  png, status = Open3.capture2(*command, stdin_data: text, binmode: true)
  status.success? ? png : raise("qr-draw ended with #{status.exitstatus}")
end
