import type { LearnedType } from "./learned/learned-types.ts";
import type { JsonObject } from "./model/schema-references.ts";

/**
 * A tool in use in this process. Programs call it, search finds it, and policy judges its calls. `store/` defines its form on
 * disk, `parse-tool.ts` its form in a server's listing, and `tool-model.ts` its form for printers.
 */
export interface Tool {
  /** `mcp__<server_module>__<tool>`: unique in a catalog. */
  readonly namespacedName: string;
  /** The configured name of its server. */
  readonly server: string;
  /** The module of its server in generated code. */
  readonly module: string;
  /** The protocol name, exactly as the server listed it. */
  readonly name: string;
  /** The name of its function in the generated module. */
  readonly identifier: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** Any JSON. It may not be a valid schema. */
  readonly inputSchema: unknown;
  /** `undefined` if the server declared none. */
  readonly outputSchema?: unknown;
  /**
   * Whether programs get the `result` of its structured content, which is its only member (wrapped-result.ts). The catalog records
   * this, and does not derive it from the schema, so that modules of an earlier ptc stay correct until they are rewritten.
   */
  readonly unwraps?: true | undefined;
  /** The type of its results so far, if the server does not declare one. */
  readonly learned?: LearnedType | undefined;
  /** The server's annotations, unchanged. They are hints that nothing enforces. */
  readonly annotations?: JsonObject | undefined;
  /** How a client shows it, as the server listed it. */
  readonly icons?: readonly JsonObject[] | undefined;
  /** What the server says to clients, as it listed it. */
  readonly _meta?: JsonObject | undefined;
  /** Set if it is not a tool: the method of the protocol that it represents. */
  readonly method?: string | undefined;
  /** The digest of the definition from which the generated types were made. */
  readonly definitionDigest: string;
}

/** A server with its tools in a catalog or in a view. */
export interface ServerTools {
  /** The configured name. */
  readonly name: string;
  readonly module: string;
  /** From the configuration. */
  readonly description: string | undefined;
  /** The name and version that the server reported when it was listed. */
  readonly implementation: { readonly name: string; readonly version: string };
  /** By protocol name. */
  readonly tools: readonly Tool[];
}
