/** What a program run by ptc finds around it. Written by `ptc generate`: edits are lost. */

type Arguments<In> = {} extends In ? [args?: In] : [args: In];

/** A tool of an MCP server. */
export interface ToolFunction<In, Out> {
  /**
   * Calls the tool. Throws `ToolError` when it fails. Without an output schema it gives the text of the answer, parsed if it is
   * JSON, else the content blocks. Where a server sends a list as one text for each item, `[await fn(args)].flat()` is the list.
   */
  (...args: Arguments<In>): Promise<Out>;
  /** Calls the tool. Never throws; `raw` is the MCP result. */
  result(...args: Arguments<In>): Promise<ToolResult<Out>>;
}

export type ToolResult<Out> =
  | { ok: true; data: Out; error?: undefined; raw: any }
  | { ok: false; data?: unknown; error: ToolError; raw?: any };

/** The function that calls a tool by its namespaced name. */
export declare function tool<In, Out>(name: string): ToolFunction<In, Out>;

declare global {
  /** The data given along with the program. */
  var data: any;

  /** Set this to the value that the program returns. */
  var result: any;

  /** Calls a tool by its namespaced name, `mcp__<server_module>__<tool>`. */
  function callTool(name: string, args?: object): Promise<any>;

  /** Calls functions at once, at most `limit` of them at a time. Results come in order. */
  function parallel<const Fns extends readonly (() => Promise<any>)[]>(
    fns: Fns,
    options?: { limit?: number },
  ): Promise<{ -readonly [K in keyof Fns]: Awaited<ReturnType<Fns[K]>> }>;

  /**
   * The result of a tool that answers with one page of a list, and then the pages that follow, a call each:
   * `for await (const page of pages(listOrders, { status: "open" }))`. Throws `ToolError` when a call fails.
   */
  function pages<In, Out>(fn: ToolFunction<In, Out>, ...args: Arguments<In>): AsyncGenerator<Out, void, undefined>;

  /** What a tool returns beside text and data, as MCP has it. `data` and `blob` are base64; `bytesOf` decodes them. */
  type ContentBlock =
    | { type: "text"; text: string }
    | { type: "image" | "audio"; data: string; mimeType: string }
    | { type: "resource"; resource: ResourceContents }
    | { type: "resource_link"; uri: string; name: string; title?: string; description?: string; mimeType?: string };

  /** A resource of a server: its text, or its bytes in base64. */
  type ResourceContents = { uri: string; mimeType?: string; text?: string; blob?: string };

  /**
   * Hands an image, a sound, a file or a text to the client beside the output: a text, bytes with their type, or content blocks
   * as tools return them. With a `name`, texts and bytes are files.
   */
  function emit(value: string | ContentBlock | readonly ContentBlock[]): void;
  function emit(value: string | Uint8Array | ArrayBuffer, options: { mimeType: string; name?: string }): void;

  /** The bytes of an image, a sound or a resource that a tool returned. */
  function bytesOf(block: ContentBlock | ResourceContents | readonly ContentBlock[]): Uint8Array;

  /** A tool call that failed. */
  class ToolError extends Error {
    name: string;
    /** The server's module name. */
    readonly server: string;
    /** The tool's protocol name. */
    readonly tool: string;
    /** Whether the same call may succeed later. */
    readonly retryable: boolean;
    /** What a tool says of its failure as structured content, or its answer if that contradicts what the tool promises. */
    readonly data?: any;
  }
}
