/** What one MCP server answered when its tools were listed. */
export interface ServerListing {
  /** The name in the configuration. */
  name: string;
  /** The description in the configuration. */
  description?: string;
  implementation: { name: string; version: string };
  protocolVersion: string;
  /** The entries of `tools/list` as they came: each is parsed before it is used (parse-tool.ts). */
  tools: unknown[];
}

/** Something in a server's definitions that could not be used as it was. */
export interface Warning {
  server: string;
  tool?: string;
  message: string;
}
