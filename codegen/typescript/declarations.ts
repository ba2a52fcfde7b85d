/** `runtime.d.ts`: the names that every program finds. The text does not depend on the servers. */
export const RUNTIME_DECLARATIONS = `/** What a program run by ptc finds around it. Written by \`ptc generate\`: edits are lost. */

type Arguments<In> = {} extends In ? [args?: In] : [args: In];

/** A tool of an MCP server. */
export interface ToolFunction<In, Out> {
  /**
   * Calls the tool. Throws \`ToolError\` when it fails. Without an output schema it gives the text of the answer, parsed if it is
   * JSON, else the content blocks. Where a server sends a list as one text for each item, \`[await fn(args)].flat()\` is the list.
   */
  (...args: Arguments<In>): Promise<Out>;
  /** Calls the tool. Never throws; \`raw\` is the MCP result. */
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

  /** Calls a tool by its namespaced name, \`mcp__<server_module>__<tool>\`. */
  function callTool(name: string, args?: object): Promise<any>;

  /** Calls functions at once, at most \`limit\` of them at a time. Results come in order. */
  function parallel<const Fns extends readonly (() => Promise<any>)[]>(
    fns: Fns,
    options?: { limit?: number },
  ): Promise<{ -readonly [K in keyof Fns]: Awaited<ReturnType<Fns[K]>> }>;

  /**
   * The result of a tool that answers with one page of a list, and then the pages that follow, a call each:
   * \`for await (const page of pages(listOrders, { status: "open" }))\`. Throws \`ToolError\` when a call fails.
   */
  function pages<In, Out>(fn: ToolFunction<In, Out>, ...args: Arguments<In>): AsyncGenerator<Out, void, undefined>;

  /** What a tool returns beside text and data, as MCP has it. \`data\` and \`blob\` are base64; \`bytesOf\` decodes them. */
  type ContentBlock =
    | { type: "text"; text: string }
    | { type: "image" | "audio"; data: string; mimeType: string }
    | { type: "resource"; resource: ResourceContents }
    | { type: "resource_link"; uri: string; name: string; title?: string; description?: string; mimeType?: string };

  /** A resource of a server: its text, or its bytes in base64. */
  type ResourceContents = { uri: string; mimeType?: string; text?: string; blob?: string };

  /**
   * Hands an image, a sound, a file or a text to the client beside the output: a text, bytes with their type, or content blocks
   * as tools return them. With a \`name\`, texts and bytes are files.
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
`;

/** The function that asks a model, if one is configured. The text does not depend on the model. */
export const EXTRACT_DECLARATIONS = `/** A type in words: "string", "number", "integer", "boolean", "null", "date", "datetime", "any", "'a' | 'b'", "string[]". */
type ExtractWords<T> = T extends \`\${infer A}|\${infer B}\` ? ExtractWords<A> | ExtractWords<B>
  : T extends \` \${infer A}\` | \`\${infer A} \` ? ExtractWords<A>
  : T extends \`\${infer A}[]\` ? ExtractWords<A>[]
  : T extends "string" | "date" | "datetime" ? string
  : T extends "number" | "integer" ? number
  : T extends "boolean" ? boolean
  : T extends "null" ? null
  : T extends \`'\${infer A}'\` | \`"\${infer A}"\` ? A
  : any;

/** What a JSON Schema describes that is written as a literal: at most twelve levels of it, and any where it cannot be told. */
type ExtractSchema<S, Defs, Levels extends 0[] = []> = Levels["length"] extends 12 ? any
  : S extends { readonly $ref: infer Ref } ?
      Ref extends \`#/$defs/\${infer Name}\` ? Name extends keyof Defs ? ExtractSchema<Defs[Name], Defs, [...Levels, 0]> : any : any
  : S extends { readonly const: infer A } ? A
  : S extends { readonly enum: readonly (infer A)[] } ? A
  : S extends { readonly anyOf: readonly (infer A)[] } ? ExtractSchema<A, Defs, [...Levels, 0]>
  : S extends { readonly oneOf: readonly (infer A)[] } ? ExtractSchema<A, Defs, [...Levels, 0]>
  : S extends { readonly allOf: any } ? any
  : S extends { readonly type: readonly (infer Kind)[] } ? ExtractKind<Kind, S, Defs, Levels>
  : S extends { readonly type: infer Kind } ? ExtractKind<Kind, S, Defs, Levels>
  : any;
type ExtractKind<Kind, S, Defs, Levels extends 0[]> = Kind extends "string" ? string
  : Kind extends "number" | "integer" ? number
  : Kind extends "boolean" ? boolean
  : Kind extends "null" ? null
  : Kind extends "array" ? S extends { readonly prefixItems: any } ? any[]
    : S extends { readonly items: infer Item } ? ExtractSchema<Item, Defs, [...Levels, 0]>[] : any[]
  : Kind extends "object" ? ExtractMembers<S, Defs, [...Levels, 0]>
  : any;
type ExtractMembers<S, Defs, Levels extends 0[]> =
  S extends { readonly properties: infer P } ? [keyof P] extends [never] ? { [name: string]: any }
    : { -readonly [K in keyof P as K extends ExtractRequired<S> ? K : never]: ExtractSchema<P[K], Defs, Levels> }
      & { -readonly [K in keyof P as K extends ExtractRequired<S> ? never : K]?: ExtractSchema<P[K], Defs, Levels> }
      & (S extends { readonly additionalProperties: infer More } ? More extends false ? {} : { [name: string]: any } : {})
  : S extends { readonly additionalProperties: infer More } ? More extends boolean ? { [name: string]: any }
    : { [name: string]: ExtractSchema<More, Defs, Levels> }
  : { [name: string]: any };
type ExtractRequired<S> = S extends { readonly required: readonly (infer Name)[] } ? Name : never;

/** What \`extract\` gives for a type. */
type Extracted<T> = T extends string ? ExtractWords<T>
  : T extends readonly [infer Item] ? Extracted<Item>[]
  : T extends { readonly type: "object" | "array" } ? ExtractSchema<T, T extends { readonly $defs: infer Defs } ? Defs : {}>
  : T extends { readonly type: infer Kind } ? string extends Kind ? any : ExtractedMembers<T>
  : ExtractedMembers<T>;
type ExtractedMembers<T> =
  { -readonly [K in keyof T as K extends \`\${string}?\` ? never : K]: Extracted<T[K]> }
    & { -readonly [K in keyof T as K extends \`\${infer Name}?\` ? Name : never]?: Extracted<T[K]> };

/**
 * Coerces a text, or other data, to a type through a model. What it gives fits the type; whether it is true nobody has checked.
 * A type is a word ("string", "number | null", "'open' | 'closed'"), a list with the type of its items (["string"]), an object
 * with the types of its members ({ name: "string", "phone?": "string" }), or a JSON Schema of an object or an array.
 */
declare function extract<const T extends string | readonly unknown[] | object>(value: unknown, type: T): Promise<Extracted<T>>;
`;

/** Globals of the sandbox's Node.js that are not part of JavaScript. Listing newer ones is harmless. */
const NODE_GLOBALS = `
AbortController AbortSignal Blob BroadcastChannel Buffer ByteLengthQueuingStrategy CloseEvent CompressionStream
CountQueuingStrategy Crypto CryptoKey CustomEvent DOMException DecompressionStream Event EventSource EventTarget File
FormData Headers MessageChannel MessageEvent MessagePort Navigator Performance PerformanceEntry PerformanceMark
PerformanceMeasure PerformanceObserver PerformanceObserverEntryList PerformanceResourceTiming QuotaExceededError
ReadableByteStreamController ReadableStream ReadableStreamBYOBReader ReadableStreamBYOBRequest
ReadableStreamDefaultController ReadableStreamDefaultReader Request Response Storage SubtleCrypto TextDecoder
TextDecoderStream TextEncoder TextEncoderStream TransformStream TransformStreamDefaultController URL URLPattern
URLSearchParams WebAssembly WebSocket WritableStream WritableStreamDefaultController WritableStreamDefaultWriter atob btoa
clearImmediate clearInterval clearTimeout console crypto fetch gc global localStorage navigator performance process
queueMicrotask require sessionStorage setImmediate setInterval setTimeout structuredClone`;

/**
 * Modules of Node.js that can be imported without `node:`. Newer modules need the prefix, so the list is final. It is written
 * out so that the printed text does not depend on the Node.js that ptc runs on.
 */
const NODE_MODULES = `
assert assert/strict async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns
dns/promises domain events fs fs/promises http http2 https inspector inspector/promises module net os path path/posix
path/win32 perf_hooks process punycode querystring readline readline/promises repl stream stream/consumers stream/promises
stream/web string_decoder sys timers timers/promises tls trace_events tty url util util/types v8 vm wasi worker_threads
zlib`;

/**
 * The file of the declarations. Its name begins with a dot, so that a project around the output folder does not include it,
 * where it would contradict the real declarations.
 */
export const NODE_FILE = ".node.d.ts";

/**
 * Declares the globals and modules of Node.js. Their type is `any`, because the check is about tools, and strict typings
 * would reject programs that work.
 */
export const NODE_DECLARATIONS = [
  "/** Node.js, as programs see it: of any type. Written by `ptc generate`: edits are lost. */",
  ...words(NODE_GLOBALS).flatMap((name) => [
    `declare var ${name}: any;`,
    ...(/^[A-Z]/.test(name) ? [`type ${name}<A = any, B = any> = any;`] : []),
  ]),
  "declare namespace NodeJS {",
  "  type Timeout = any;",
  "  type Immediate = any;",
  "  type ErrnoException = any;",
  "}",
  "interface ImportMeta { [name: string]: any }",
  'declare module "node:*";',
  ...words(NODE_MODULES).map((name) => `declare module ${JSON.stringify(name)};`),
  "",
].join("\n");

/** The declarations of the names that every program finds, for the type check and for editors. */
export const PROGRAM_DECLARATIONS = {
  runtime: RUNTIME_DECLARATIONS,
  node: NODE_DECLARATIONS,
  extract: EXTRACT_DECLARATIONS,
};

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
