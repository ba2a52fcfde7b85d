/** A tool that programs may know of, as `ptc generate` recorded it. */
export interface KnownTool {
  /** `mcp__<server_module>__<tool>` */
  readonly namespacedName: string;
  /** Configured name of its server. */
  readonly server: string;
  /** Protocol name, exactly as the server listed it. */
  readonly name: string;
  /** Digest of the definition that the generated types were made from. */
  readonly definitionDigest: string;
  readonly inputSchema: unknown;
  readonly outputSchema: unknown;
  /** `annotations.destructiveHint` is true. */
  readonly destructive: boolean;
}

export type ToolTable = ReadonlyMap<string, KnownTool>;
