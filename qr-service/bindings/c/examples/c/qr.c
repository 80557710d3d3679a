/* Writes a text's QR code to a file: qr TEXT [FILE] */
#include <qr.h>
#include <stdio.h>
#include <string.h>

static int write_file(const char *path, const uint8_t *bytes, size_t len)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return 0;
    size_t written = fwrite(bytes, 1, len, file);
    return fclose(file) == 0 && written == len;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: qr TEXT [FILE]\n");
        return 2;
    }
    const char *text = argv[1];
    const char *path = argc > 2 ? argv[2] : "code.png";

    uint8_t png[QR_MAX_SERVICE_PNG];
    size_t len;
    int32_t status = qr_png((const uint8_t *)text, strlen(text), NULL, png, sizeof png, &len);
    if (status != QR_STATUS_OK) {
        fprintf(stderr, "qr: %s\n", qr_error_message(status));
        return 1;
    }
    if (!write_file(path, png, len)) {
        fprintf(stderr, "qr: ");
        perror(path);
        return 1;
    }
    return 0;
}
