// QR codes as PNG. Every function may be called from any thread at any time, keeps nothing between
// calls, and allocates nothing that the caller would have to free.
//
// Made by cbindgen from src/lib.rs: to change it, see README.md.

#ifndef QR_H
#define QR_H

#include <stddef.h>
#include <stdint.h>

// Bytes enough for every picture of 200 px a side whose text has up to 512 bytes, at any level and
// margin: a buffer of this size never meets QR_STATUS_BUFFER_TOO_SMALL there.
#define QR_MAX_SERVICE_PNG 8192

// What qr_png returns.
enum qr_status {
  // The picture is in the buffer.
  QR_STATUS_OK = 0,
  // A pointer is null that must not be.
  QR_STATUS_NULL_POINTER = 1,
  // The text is not UTF-8.
  QR_STATUS_NOT_UTF8 = 2,
  // The text does not fit a QR code at this level.
  QR_STATUS_TEXT_TOO_LONG = 3,
  // Modules would be smaller than a pixel: a larger size_px is needed, or a smaller margin.
  QR_STATUS_SIZE_TOO_SMALL = 4,
  // size_px is above 16384.
  QR_STATUS_SIZE_TOO_LARGE = 5,
  // The level is none of enum qr_level.
  QR_STATUS_UNKNOWN_LEVEL = 6,
  // The picture does not fit the buffer; *out_len says how many bytes it has.
  QR_STATUS_BUFFER_TOO_SMALL = 7,
  // A mistake of this library; it was stopped from going further.
  QR_STATUS_PANIC = 8,
};

// Error correction: the share of the symbol that can be restored.
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

// How the picture looks. There are no defaults for single fields: set all, or give no options.
struct qr_options {
  // Pixels a side, up to 16384. Spare pixels widen the margin.
  uint32_t size_px;
  // Least width of the light margin in modules; the standard asks for 4.
  uint32_t margin_modules;
  // One of enum qr_level.
  int32_t level;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Writes the PNG of a text's QR code to `out`, and its length to `*out_len`.
//
// `text` is `text_len` bytes of UTF-8, which may have NUL among them; no terminator is needed. The
// empty text has a picture too, and its pointer may be null.
// `options` may be null: 200 px, margin 4, level L.
// `out` is `out_capacity` bytes of the caller's, and may be null where that is 0.
// `out_len` must not be null.
//
// Returns QR_STATUS_OK or another value of enum qr_status. With QR_STATUS_BUFFER_TOO_SMALL,
// `*out_len` is the capacity needed; with others it is 0. `out` is written to with QR_STATUS_OK
// alone, and only as far as the picture goes.
//
// # Safety
// Pointers that are not null must be valid for as many bytes as said above.
int32_t qr_png(const uint8_t *text,
               size_t text_len,
               const struct qr_options *options,
               uint8_t *out,
               size_t out_capacity,
               size_t *out_len);

// What a return value means, in English: never null, valid for ever, not to be freed.
const char *qr_error_message(int32_t status);

// This library's version, such as "0.1.0": never null, valid for ever, not to be freed.
const char *qr_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* QR_H */
