/** Globals of Node.js that are not part of JavaScript, for the sandbox's version. Listing newer ones is harmless. */
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
 * Modules of Node.js that can be imported without `node:`. Node.js adds none: newer ones need the prefix. The list is
 * written out, so that the same text is printed whichever Node.js ptc runs on.
 */
const NODE_MODULES = `
assert assert/strict async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns
dns/promises domain events fs fs/promises http http2 https inspector inspector/promises module net os path path/posix
path/win32 perf_hooks process punycode querystring readline readline/promises repl stream stream/consumers stream/promises
stream/web string_decoder sys timers timers/promises tls trace_events tty url util util/types v8 vm wasi worker_threads
zlib`;

/**
 * The file of the declarations. Its name begins with a dot, so that a project around the output folder, which takes in all
 * files, does not take in this one: there it would contradict the real declarations.
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

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
