"""What the wall between host and sandbox enforces. protocol/limits.ts says what each is for; a test compares the two."""

PROTOCOL_VERSION = 3
MAX_CALL_FRAME_BYTES = 16 * 1024 * 1024
MAX_REPLY_FRAME_BYTES = 64 * 1024 * 1024
MAX_NESTING_DEPTH = 128
MAX_VALUES = 250_000
MAX_ERROR_MESSAGE_CHARS = 4_000
ENVELOPE_OVERHEAD_BYTES = 1_024
MAX_TRACE_SERIES_CHARS = 256 * 1024
MAX_TOOL_NAME_CHARS = 512
MAX_EMITTED_BLOCKS = 64
MAX_EMITTED_BYTES = 8 * 1024 * 1024
TRUNCATION_MARK = "... (truncated)"
SOCKET_PATH = "/run/ptc/broker.sock"
WORKSPACE = "/workspace"
