# Calls the C library through Fiddle, which comes with Ruby.
require 'fiddle/import'

module Qr
  extend Fiddle::Importer
  dlload 'libqr.so.0'
  extern 'int qr_png(const char *, size_t, void *, char *, size_t, size_t *)'
end

MAX_PNG = 8192

def draw(text)
  png = "\0".b * MAX_PNG
  length = "\0".b * Fiddle::SIZEOF_SIZE_T
  status = Qr.qr_png(text, text.bytesize, nil, png, MAX_PNG, length)
  status.zero? ? png[0, length.unpack1('J')] : raise("qr_png failed with #{status}")
end
