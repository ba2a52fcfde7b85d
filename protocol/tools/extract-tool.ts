/** The server whose one tool asks a model, where one is configured, and its module in code. */
export const EXTRACT_SERVER = "ptc";

/** The tool that `extract` of programs calls. */
export const EXTRACT_TOOL = "extract";

/** What programs call it by. */
export const EXTRACT_NAME = `mcp__${EXTRACT_SERVER}__${EXTRACT_TOOL}`;
