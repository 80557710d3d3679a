// The functions of ../../rust/examples/bridge.rs.
#include <stddef.h>
#include <stdint.h>

// Bytes that are valid during the call that gets them.
typedef struct {
	const char *start;
	size_t length;
} text;

// Serves on an address. Only returns, with 1, after it has printed an error.
int bridge_serve(const char *address);

// For `answer` of bridge_handle, until that returns: adds a header, or sets the status and appends to the body.
void bridge_header(void *answer, text name, text value);
void bridge_write(void *answer, uint16_t status, text body);
