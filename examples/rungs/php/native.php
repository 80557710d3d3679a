<?php
// Calls the C library through FFI, which needs ffi.enable=true.

declare(strict_types=1);

const MAX_PNG = 8192;

function draw(string $text): string
{
    $qr = FFI::cdef('int32_t qr_png(const char *text, size_t text_len, const void *options,
        uint8_t *out, size_t out_capacity, size_t *out_len);', 'libqr.so.0');
    $png = $qr->new('uint8_t[' . MAX_PNG . ']');
    $length = $qr->new('size_t');
    $status = $qr->qr_png($text, strlen($text), null, $png, MAX_PNG, FFI::addr($length));
    return $status === 0 ? FFI::string($png, $length->cdata) : throw new RuntimeException("qr_png failed with $status");
}
