/* Text to PNG by libqrencode and libpng: 200 x 200, 1 bit, level L, whole pixels per module. */

#include <png.h>
#include <qrencode.h>
#include <setjmp.h>
#include <string.h>

struct sink {
    unsigned char *bytes;
    size_t length;
    size_t capacity;
};

static void write_bytes(png_structp png, png_bytep bytes, size_t length) {
    struct sink *sink = png_get_io_ptr(png);
    if (length > sink->capacity - sink->length)
        png_error(png, "the buffer is too small");
    memcpy(sink->bytes + sink->length, bytes, length);
    sink->length += length;
}

static void flush_bytes(png_structp png) { (void)png; }

static void draw(const QRcode *code, unsigned char pixels[200][25]) {
    int scale = 200 / (code->width + 8);
    int offset = (200 - code->width * scale) / 2;
    memset(pixels, 0xff, 200 * 25);
    for (int y = 0; y < code->width; y++) {
        int top = offset + y * scale;
        for (int x = 0; x < code->width; x++) {
            if (!(code->data[y * code->width + x] & 1))
                continue;
            for (int at = offset + x * scale; at < offset + (x + 1) * scale; at++)
                pixels[top][at / 8] &= (unsigned char)~(0x80 >> at % 8);
        }
        for (int copy = 1; copy < scale; copy++)
            memcpy(pixels[top + copy], pixels[top], 25);
    }
}

/* Returns the width of the symbol of at least this version, or 0 on failure. */
int libqrencode_width(const unsigned char *text, int length, int version) {
    char string[256] = {0};
    if (length >= (int)sizeof string)
        return 0;
    memcpy(string, text, (size_t)length);
    QRcode *code = QRcode_encodeString(string, version, QR_ECLEVEL_L, QR_MODE_8, 1);
    int width = code ? code->width : 0;
    QRcode_free(code);
    return width;
}

/* Returns the length of the PNG, or 0 on failure. */
size_t libqrencode_png(const unsigned char *text, int length, unsigned char *out, size_t capacity) {
    unsigned char pixels[200][25];
    struct sink sink = {out, 0, capacity};
    QRcode *code = QRcode_encodeData(length, text, 0, QR_ECLEVEL_L);
    if (!code)
        return 0;
    draw(code, pixels);
    QRcode_free(code);

    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info || setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        return 0;
    }
    png_set_write_fn(png, &sink, write_bytes, flush_bytes);
    png_set_IHDR(png, info, 200, 200, 1, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_filter(png, 0, PNG_FILTER_NONE);
    png_write_info(png, info);
    for (int y = 0; y < 200; y++)
        png_write_row(png, pixels[y]);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return sink.length;
}
