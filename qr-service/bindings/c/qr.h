// Draws QR codes. Every function may be called from any thread at any time and keeps no state
// between calls. The caller frees nothing.
//
// cbindgen generates this file from src/c/mod.rs and src/picture.rs; README.md tells how.

#ifndef QR_H
#define QR_H

#include <stddef.h>
#include <stdint.h>

// A buffer of this many bytes holds every picture of 200 px whose text has up to 512 bytes, at any
// level and margin.
#define QR_MAX_SERVICE_PNG 8192

// The result of qr_png and qr_draw.
enum qr_status {
  // The picture is in the buffer.
  QR_STATUS_OK = 0,
  // A required pointer is null.
  QR_STATUS_NULL_POINTER = 1,
  // The text is not UTF-8.
  QR_STATUS_NOT_UTF8 = 2,
  // The text does not fit a QR code at this level.
  QR_STATUS_TEXT_TOO_LONG = 3,
  // Modules would be smaller than a pixel: use a larger size_px or a smaller margin.
  QR_STATUS_SIZE_TOO_SMALL = 4,
  // size_px is above 16384.
  QR_STATUS_SIZE_TOO_LARGE = 5,
  // The level is not in enum qr_level.
  QR_STATUS_UNKNOWN_LEVEL = 6,
  // The picture does not fit the buffer; *out_len is the number of bytes it needs.
  QR_STATUS_BUFFER_TOO_SMALL = 7,
  // The library panicked, which is a bug. The program may continue.
  QR_STATUS_PANIC = 8,
  // The options are wrong, or the picture cannot be made. The buffer has the faults.
  QR_STATUS_FAULTS = 9,
  // The library does not know these options: struct_size is wrong, or a field that was added later is not 0.
  QR_STATUS_UNKNOWN_OPTIONS = 10,
};

// Error correction level: the share of the symbol's codewords that can be restored.
enum qr_level {
  // About 7 %.
  QR_LEVEL_L = 0,
  // About 15 %.
  QR_LEVEL_M = 1,
  // About 25 %.
  QR_LEVEL_Q = 2,
  // About 30 %.
  QR_LEVEL_H = 3,
};

// The options of a picture. No field of this version has a default: set all of them, or pass null for the options.
// Later versions may have more fields, whose default is 0; `struct_size` tells the library which fields there are.
struct qr_options {
  // sizeof(struct qr_options).
  uint32_t struct_size;
  // Width and height in pixels, up to 16384. Spare pixels widen the margin.
  uint32_t size_px;
  // Least width of the quiet zone in modules; the standard requires 4.
  uint32_t margin_modules;
  // A value of enum qr_level.
  int32_t level;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Writes the PNG of a text's QR code to `out` and its length to `*out_len`.
//
// `text` is `text_len` bytes of UTF-8. It needs no terminator and may contain NUL. An empty text
// has a picture too; its pointer may be null.
// `options` may be null, for 200 px, margin 4 and level L.
// `out` is a buffer of `out_capacity` bytes. It may be null if `out_capacity` is 0.
// `out_len` must not be null.
//
// Returns a value of enum qr_status. With QR_STATUS_BUFFER_TOO_SMALL, `*out_len` is the capacity
// needed; with every other error it is 0. An error leaves `out` unchanged. The bytes of `out` after
// the picture are never changed.
//
// # Safety
// Every pointer that is not null must be valid for the number of bytes given above, `options` for its `struct_size`.
int32_t qr_png(const uint8_t *text,
               size_t text_len,
               const struct qr_options *options,
               uint8_t *out,
               size_t out_capacity,
               size_t *out_len);

// Writes the picture that a query describes to `out`, its length to `*out_len`, and its media type to
// `*media_type`.
//
// `query` is `query_len` bytes of UTF-8: the options of qr-service's `/v1/qr`, percent-encoded as in a URL,
// for example `text=hello&format=svg&dark=036`. The picture has the same bytes as the service's.
// `out`, `out_capacity` and `out_len` are as in qr_png.
// `media_type` may be null. Otherwise it gets a string that stays valid for ever and must not be
// freed, such as "image/svg+xml".
//
// Returns a value of enum qr_status. With QR_STATUS_FAULTS, `out` has the faults as a JSON array of
// objects with "parameter", "code" and "detail", and if known "minimum", "maximum", "allowed" and
// "suggestion". With QR_STATUS_BUFFER_TOO_SMALL, `*out_len` is the capacity needed, for the picture or the
// faults. With every other error it is 0 and `out` is unchanged.
//
// # Safety
// Every pointer that is not null must be valid for the number of bytes given above.
int32_t qr_draw(const uint8_t *query,
                size_t query_len,
                uint8_t *out,
                size_t out_capacity,
                size_t *out_len,
                const char **media_type);

// Describes a status in English. The string is never null, stays valid for ever and must not be
// freed.
const char *qr_error_message(int32_t status);

// Returns the library's version, such as "0.1.0". The string is never null, stays valid for ever
// and must not be freed.
const char *qr_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* QR_H */
