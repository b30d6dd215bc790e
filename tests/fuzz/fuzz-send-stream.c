// SPDX-License-Identifier: GPL-2.0-only
/* An input is a send stream. */
#include "config.h"

#include "cleanup.h"
#include "fuzz.h"
#include "send-stream.h"

struct outcome {
	uint64_t count;
	uint64_t sizes;
	enum send_fault fault;
	uint64_t fault_position;
};

static void check_command(const struct send_command *command, uint64_t end)
{
	INVARIANT(send_command_name(command->type));
	INVARIANT(command->size <= end && command->position == end - command->size);
	INVARIANT(strlen(command->path) < PATH_MAX);
	INVARIANT(strlen(command->path_to) < PATH_MAX);
	INVARIANT(command->data_bytes < command->size);
}

/* In pieces of STEP bytes. */
static struct outcome read_stream(const uint8_t *data, size_t size, size_t step)
{
	CLEANUP_FREE struct send_stream *stream = fuzz_allocate(sizeof(*stream));
	struct outcome outcome = { 0 };
	int ret = 0;

	for (size_t start = 0; start < size && ret >= 0; start += step) {
		size_t left = size - start < step ? size - start : step;
		CLEANUP_FREE void *copy = fuzz_copy(data + start, left);
		const void *bytes = copy;
		struct send_command command;

		while ((ret = send_stream_next(stream, &bytes, &left, &command)) > 0) {
			check_command(&command, stream->position);
			outcome.count++;
			outcome.sizes += command.size;
		}
		INVARIANT(ret < 0 || left == 0);
	}
	if (ret >= 0)
		ret = send_stream_end(stream);
	INVARIANT(stream->position <= size);
	INVARIANT((ret < 0) == (stream->fault != SEND_FAULT_NONE));
	INVARIANT(ret == 0 || stream->fault_position <= stream->position);
	outcome.fault = stream->fault;
	outcome.fault_position = stream->fault_position;
	return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole = read_stream(data, size, size ? size : 1);
	struct outcome pieces = read_stream(data, size, 7);

	INVARIANT(whole.count == pieces.count && whole.sizes == pieces.sizes);
	INVARIANT(whole.fault == pieces.fault);
	INVARIANT(whole.fault_position == pieces.fault_position);
	return 0;
}
