// The interface of ../../rust/examples/bridge.rs. Texts are valid only during the call that gets them.
#include <stddef.h>
#include <stdint.h>

typedef struct {
	const uint8_t *start;
	size_t length;
} text;

// Serves until the process ends; returns 1 after it has printed an error.
int bridge_serve(const char *address);

// Gives the answer to the request that bridge_handle got `answer` for. Headers are lines, "name: value\n".
void bridge_answer(void *answer, uint16_t status, text headers, text body);
