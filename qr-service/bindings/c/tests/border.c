/* Tests the interface from C and C++; tests/border.rs builds this with both libraries and runs it
 * under valgrind. Every buffer is on the heap and has exactly the length it is passed with, so that
 * valgrind notices any access past its end. */
#include <pthread.h>
#include <qr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "border.c:%d: %s: %s\n", __LINE__, __func__, #condition);              \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

#define UNTOUCHED 0xa5

/* A picture, or the status of the failure. */
struct answer {
    int32_t status;
    size_t len;
    size_t capacity;
    uint8_t *png;
};

static uint8_t *allocate(size_t len)
{
    /* malloc(0) may return null. */
    void *bytes = malloc(len > 0 ? len : 1);
    if (bytes == NULL) {
        fprintf(stderr, "border.c: out of memory\n");
        exit(1);
    }
    return (uint8_t *)memset(bytes, UNTOUCHED, len);
}

static struct answer draw_bytes(const void *text, size_t text_len, const struct qr_options *options,
                                size_t capacity)
{
    struct answer answer;
    uint8_t *copy = allocate(text_len);
    if (text_len > 0)
        memcpy(copy, text, text_len);
    answer.capacity = capacity;
    answer.png = allocate(capacity);
    answer.len = SIZE_MAX;
    answer.status = qr_png(copy, text_len, options, answer.png, capacity, &answer.len);
    free(copy);
    return answer;
}

static struct answer draw(const char *text)
{
    return draw_bytes(text, strlen(text), NULL, QR_MAX_SERVICE_PNG);
}

static int is_untouched_from(const struct answer *answer, size_t start)
{
    for (size_t at = start; at < answer->capacity; at++)
        if (answer->png[at] != UNTOUCHED)
            return 0;
    return 1;
}

static int is_refused(struct answer answer, int32_t status)
{
    int refused = answer.status == status && answer.len == 0 && is_untouched_from(&answer, 0);
    free(answer.png);
    return refused;
}

static int is_same_picture(struct answer a, struct answer b)
{
    int same = a.status == QR_STATUS_OK && b.status == QR_STATUS_OK && a.len == b.len &&
               memcmp(a.png, b.png, a.len) == 0;
    free(a.png);
    free(b.png);
    return same;
}

static void a_picture_is_a_png_and_the_bytes_behind_it_are_unchanged(void)
{
    struct answer answer = draw("https://example.com/");
    CHECK(answer.status == QR_STATUS_OK);
    CHECK(answer.len > 100 && answer.len < QR_MAX_SERVICE_PNG);
    CHECK(memcmp(answer.png, "\x89PNG\r\n\x1a\n", 8) == 0);
    CHECK(memcmp(answer.png + answer.len - 8, "IEND\xae\x42\x60\x82", 8) == 0);
    CHECK(is_untouched_from(&answer, answer.len));
    free(answer.png);
}

static void null_is_refused_where_a_byte_would_be_read_or_written(void)
{
    uint8_t text = 'a', out = UNTOUCHED;
    size_t len = SIZE_MAX;
    CHECK(qr_png(NULL, 1, NULL, &out, 1, &len) == QR_STATUS_NULL_POINTER && len == 0);
    len = SIZE_MAX;
    CHECK(qr_png(&text, 1, NULL, NULL, 1, &len) == QR_STATUS_NULL_POINTER && len == 0);
    CHECK(qr_png(&text, 1, NULL, &out, 1, NULL) == QR_STATUS_NULL_POINTER);
    CHECK(qr_png(NULL, 1, NULL, NULL, 1, NULL) == QR_STATUS_NULL_POINTER);
    CHECK(out == UNTOUCHED);
}

static void null_stands_for_the_empty_text_and_for_a_buffer_of_0_bytes(void)
{
    struct answer empty = draw(""), null = draw("");
    null.status = qr_png(NULL, 0, NULL, null.png, null.capacity, &null.len);
    CHECK(is_same_picture(empty, null));

    size_t len = 0;
    CHECK(qr_png(NULL, 0, NULL, NULL, 0, &len) == QR_STATUS_BUFFER_TOO_SMALL && len > 100);
}

static void a_small_buffer_is_unchanged_and_the_capacity_needed_is_returned(void)
{
    const char *text = "any text";
    struct answer whole = draw(text);
    for (size_t capacity = 0; capacity < whole.len; capacity += 7) {
        struct answer small = draw_bytes(text, strlen(text), NULL, capacity);
        CHECK(small.status == QR_STATUS_BUFFER_TOO_SMALL);
        CHECK(small.len == whole.len);
        CHECK(is_untouched_from(&small, 0));
        free(small.png);
    }
    CHECK(is_refused(draw_bytes("\xff", 1, NULL, 0), QR_STATUS_NOT_UTF8));
    CHECK(is_same_picture(draw_bytes(text, strlen(text), NULL, whole.len), whole));
}

static void a_text_that_is_not_utf8_is_refused(void)
{
    CHECK(is_refused(draw("caf\xe9"), QR_STATUS_NOT_UTF8));
    CHECK(is_refused(draw("\xc3"), QR_STATUS_NOT_UTF8));
    CHECK(is_refused(draw("\xc0\x80"), QR_STATUS_NOT_UTF8));
    CHECK(is_refused(draw("\xed\xa0\x80"), QR_STATUS_NOT_UTF8));
}

static void nul_is_a_character_like_any_other(void)
{
    struct answer nul = draw_bytes("a\0b", 3, NULL, QR_MAX_SERVICE_PNG);
    struct answer cut = draw("a");
    CHECK(nul.status == QR_STATUS_OK);
    CHECK(nul.len != cut.len || memcmp(nul.png, cut.png, nul.len) != 0);
    free(nul.png);
    free(cut.png);
}

static void an_impossible_length_is_refused_without_reading(void)
{
    uint8_t text = 'a', out = UNTOUCHED;
    const size_t lengths[] = {7090, SIZE_MAX / 2, SIZE_MAX / 2 + 1, SIZE_MAX};
    for (size_t at = 0; at < sizeof lengths / sizeof *lengths; at++) {
        size_t len = SIZE_MAX;
        CHECK(qr_png(&text, lengths[at], NULL, &out, 1, &len) == QR_STATUS_TEXT_TOO_LONG);
        CHECK(len == 0 && out == UNTOUCHED);
    }
}

static int32_t status_with(uint32_t size_px, uint32_t margin_modules, int32_t level)
{
    struct qr_options options = {sizeof options, size_px, margin_modules, level};
    struct answer answer = draw_bytes("a", 1, &options, 300000);
    CHECK(answer.status == QR_STATUS_OK || answer.len == 0);
    free(answer.png);
    return answer.status;
}

static void options_out_of_range_are_refused(void)
{
    CHECK(status_with(21, 0, QR_LEVEL_L) == QR_STATUS_OK);
    CHECK(status_with(20, 0, QR_LEVEL_L) == QR_STATUS_SIZE_TOO_SMALL);
    CHECK(status_with(0, 0, QR_LEVEL_L) == QR_STATUS_SIZE_TOO_SMALL);
    CHECK(status_with(200, UINT32_MAX, QR_LEVEL_L) == QR_STATUS_SIZE_TOO_SMALL);
    CHECK(status_with(16384, 4, QR_LEVEL_L) == QR_STATUS_OK);
    CHECK(status_with(16385, 4, QR_LEVEL_L) == QR_STATUS_SIZE_TOO_LARGE);
    CHECK(status_with(UINT32_MAX, 4, QR_LEVEL_L) == QR_STATUS_SIZE_TOO_LARGE);
    CHECK(status_with(200, 4, QR_LEVEL_H) == QR_STATUS_OK);
    CHECK(status_with(200, 4, QR_LEVEL_H + 1) == QR_STATUS_UNKNOWN_LEVEL);
    CHECK(status_with(200, 4, -1) == QR_STATUS_UNKNOWN_LEVEL);
    CHECK(status_with(200, 4, INT32_MIN) == QR_STATUS_UNKNOWN_LEVEL);
}

static void a_later_struct_of_options_is_taken_if_its_new_fields_have_their_defaults(void)
{
    struct {
        struct qr_options known;
        uint32_t unknown;
    } later = {{sizeof later, 200, 4, QR_LEVEL_L}, 0};
    CHECK(is_same_picture(draw("a"), draw_bytes("a", 1, &later.known, QR_MAX_SERVICE_PNG)));
    later.unknown = 1;
    CHECK(is_refused(draw_bytes("a", 1, &later.known, QR_MAX_SERVICE_PNG),
                     QR_STATUS_UNKNOWN_OPTIONS));
    later.unknown = 0;
    const uint32_t wrong[] = {0, sizeof later.known - 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        later.known.struct_size = wrong[i];
        CHECK(is_refused(draw_bytes("a", 1, &later.known, QR_MAX_SERVICE_PNG),
                         QR_STATUS_UNKNOWN_OPTIONS));
    }
}

/* Draws into a buffer of exactly the length that the picture has. */
static struct answer draw_query(const char *query, const char **media_type)
{
    struct answer answer = {QR_STATUS_PANIC, 0, 0, NULL};
    size_t query_len = strlen(query);
    uint8_t *copy = allocate(query_len);
    memcpy(copy, query, query_len);
    if (qr_draw(copy, query_len, NULL, 0, &answer.capacity, NULL) == QR_STATUS_BUFFER_TOO_SMALL) {
        answer.png = allocate(answer.capacity);
        answer.status =
            qr_draw(copy, query_len, answer.png, answer.capacity, &answer.len, media_type);
    }
    free(copy);
    return answer;
}

static void a_query_gives_a_picture_or_its_faults(void)
{
    const char *media_type = NULL;
    struct answer svg = draw_query("text=hello%21&format=svg&dark=036", &media_type);
    CHECK(svg.status == QR_STATUS_OK && svg.len == svg.capacity);
    CHECK(strcmp(media_type, "image/svg+xml") == 0);
    CHECK(memcmp(svg.png, "<svg", 4) == 0);
    free(svg.png);

    /* Not rMQR: its optimised code reads the height before it checks that there is one. That is
     * harmless, but valgrind reports it. */
    struct answer pdf = draw_query("text=hello&format=pdf", NULL);
    CHECK(pdf.status == QR_STATUS_OK && memcmp(pdf.png, "%PDF", 4) == 0);
    free(pdf.png);

    struct answer faults = draw_query("text=hello&size=0", &media_type);
    CHECK(faults.status == QR_STATUS_FAULTS && faults.png[0] == '[');
    CHECK(strcmp(media_type, "application/json") == 0);
    free(faults.png);
}

static void the_version_is_that_of_pkg_config(void)
{
    CHECK(strcmp(qr_version(), VERSION) == 0);
}

#define THREADS 4
/* The stack that README.md says suffices. */
#define STACK_BYTES (96 * 1024)

/* The largest symbol. */
static struct answer draw_longest(void)
{
    const struct qr_options options = {sizeof options, 1000, 4, QR_LEVEL_L};
    char *text = (char *)allocate(2953);
    for (int at = 0; at < 2953; at++)
        text[at] = (char)('!' + at * at % 94);
    struct answer answer = draw_bytes(text, 2953, &options, 20000);
    free(text);
    return answer;
}

static void *draw_in_a_thread(void *expected)
{
    const struct answer *answer = (const struct answer *)expected;
    /* Not CHECK, whose counter is not safe to change from several threads. */
    for (int round = 0; round < 5; round++) {
        struct answer mine = draw_longest();
        int same = mine.status == QR_STATUS_OK && mine.len == answer->len &&
                   memcmp(mine.png, answer->png, mine.len) == 0;
        free(mine.png);
        if (!same || strcmp(qr_error_message(mine.status), "no error") != 0)
            return NULL;
    }
    return expected;
}

static void threads_with_small_stacks_get_the_same_picture(void)
{
    struct answer expected = draw_longest();
    pthread_attr_t small;
    pthread_t threads[THREADS];
    int started = 0;
    CHECK(pthread_attr_init(&small) == 0);
    CHECK(pthread_attr_setstacksize(&small, STACK_BYTES) == 0);
    while (started < THREADS &&
           pthread_create(&threads[started], &small, draw_in_a_thread, &expected) == 0)
        started++;
    CHECK(started == THREADS);
    while (started-- > 0) {
        void *result = NULL;
        CHECK(pthread_join(threads[started], &result) == 0);
        CHECK(result == &expected);
    }
    CHECK(pthread_attr_destroy(&small) == 0);
    free(expected.png);
}

/* Tests qr_draw only with an argument: it keeps the definition of the options from its first call on. */
int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        a_query_gives_a_picture_or_its_faults();
    a_picture_is_a_png_and_the_bytes_behind_it_are_unchanged();
    null_is_refused_where_a_byte_would_be_read_or_written();
    null_stands_for_the_empty_text_and_for_a_buffer_of_0_bytes();
    a_small_buffer_is_unchanged_and_the_capacity_needed_is_returned();
    a_text_that_is_not_utf8_is_refused();
    nul_is_a_character_like_any_other();
    an_impossible_length_is_refused_without_reading();
    options_out_of_range_are_refused();
    a_later_struct_of_options_is_taken_if_its_new_fields_have_their_defaults();
    the_version_is_that_of_pkg_config();
    threads_with_small_stacks_get_the_same_picture();
    if (failures > 0) {
        fprintf(stderr, "border.c: %d checks failed\n", failures);
        return 1;
    }
    printf("all checks passed\n");
    return 0;
}
