import type { LearnedType } from "./learned/learned-types.ts";
import type { JsonObject } from "./model/schema-references.ts";

/**
 * A tool at work in this process: what programs call, what search finds, and what calls are judged by. How it is kept on
 * disk is in `store/`, what a server lists in `parse-tool.ts`, and what printers make of its schemas in `tool-model.ts`.
 */
export interface Tool {
  /** `mcp__<server_module>__<tool>`: unique in a catalog. */
  readonly namespacedName: string;
  /** Configured name of its server. */
  readonly server: string;
  /** Module of its server in generated code. */
  readonly module: string;
  /** Protocol name, exactly as the server listed it. */
  readonly name: string;
  /** Name of its function in the generated module. */
  readonly identifier: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** Any JSON: nobody has checked that it is a schema. */
  readonly inputSchema: unknown;
  /** `undefined` where the server declared none. */
  readonly outputSchema?: unknown;
  /**
   * Whether programs are given the `result` of its structured content, which is all that there is in it (wrapped-result.ts). It
   * stands in the catalog, and not in the schema alone, so that modules of an earlier ptc keep what they say until they are written anew.
   */
  readonly unwraps?: true | undefined;
  /** What its results looked like so far, where the server declares nothing of them. */
  readonly learned?: LearnedType | undefined;
  /** What the server says of the tool, as it said it. Hints, which nothing enforces. */
  readonly annotations?: JsonObject | undefined;
  /** Where it is no tool: the method of the protocol that it stands for. */
  readonly method?: string | undefined;
  /** Digest of the definition that the generated types were made from. */
  readonly definitionDigest: string;
}

/** A server, and those of its tools that are in a catalog or in a view of one. */
export interface ServerTools {
  /** Configured name. */
  readonly name: string;
  readonly module: string;
  /** From the configuration. */
  readonly description: string | undefined;
  /** What the server said it is when it was listed. */
  readonly implementation: { readonly name: string; readonly version: string };
  /** By protocol name. */
  readonly tools: readonly Tool[];
}
